"""DescribeAcls (key 29), versions 0 to 3.

v1 pattern types (v0 means LITERAL) · v2 flexible · v3 the USER resource type.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I8, I16, I32, STRING, Array, f, struct

LITERAL = 3


@struct
class DescribeAclsRequest:
    resource_type_filter: int = f(I8)
    resource_name_filter: str | None = f(STRING, nullable=0)
    pattern_type_filter: int = f(I8, since=1, default=LITERAL)
    principal_filter: str | None = f(STRING, nullable=0, default=None)
    host_filter: str | None = f(STRING, nullable=0, default=None)
    operation: int = f(I8, default=1)
    permission_type: int = f(I8, default=1)


@struct
class AclDescription:
    principal: str = f(STRING)
    host: str = f(STRING)
    operation: int = f(I8)
    permission_type: int = f(I8)


@struct
class DescribeAclsResource:
    resource_type: int = f(I8)
    resource_name: str = f(STRING)
    pattern_type: int = f(I8, since=1, default=LITERAL)
    acls: Sequence[AclDescription] = f(Array(AclDescription), default=())


@struct
class DescribeAclsResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)
    resources: Sequence[DescribeAclsResource] = f(Array(DescribeAclsResource), default=())
