"""DeleteAcls (key 31), versions 0 to 3.

v1 pattern types (v0 means LITERAL) · v2 flexible · v3 the USER resource type.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I8, I16, I32, STRING, Array, f, struct
from kconf.protocol.messages.describe_acls import LITERAL


@struct
class DeleteAclsFilter:
    resource_type_filter: int = f(I8)
    resource_name_filter: str | None = f(STRING, nullable=0)
    pattern_type_filter: int = f(I8, since=1, default=LITERAL)
    principal_filter: str | None = f(STRING, nullable=0, default=None)
    host_filter: str | None = f(STRING, nullable=0, default=None)
    operation: int = f(I8, default=1)
    permission_type: int = f(I8, default=1)


@struct
class DeleteAclsRequest:
    filters: Sequence[DeleteAclsFilter] = f(Array(DeleteAclsFilter))
    reason: str | None = f(STRING, since=2, nullable=2, tag=40002, default=None)  # kconf: for the journal


@struct
class DeleteAclsMatchingAcl:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)
    resource_type: int = f(I8)
    resource_name: str = f(STRING)
    pattern_type: int = f(I8, since=1, default=LITERAL)
    principal: str = f(STRING, default="")
    host: str = f(STRING, default="")
    operation: int = f(I8, default=0)
    permission_type: int = f(I8, default=0)


@struct
class DeleteAclsFilterResult:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)
    matching_acls: Sequence[DeleteAclsMatchingAcl] = f(Array(DeleteAclsMatchingAcl), default=())


@struct
class DeleteAclsResponse:
    throttle_time_ms: int = f(I32, default=0)
    filter_results: Sequence[DeleteAclsFilterResult] = f(Array(DeleteAclsFilterResult), default=())
