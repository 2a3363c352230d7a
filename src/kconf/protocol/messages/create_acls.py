"""CreateAcls (key 30), versions 0 to 3.

v1 pattern types (v0 means LITERAL) · v2 flexible · v3 the USER resource type.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I8, I16, I32, STRING, Array, f, struct
from kconf.protocol.messages.describe_acls import LITERAL


@struct
class AclCreation:
    resource_type: int = f(I8)
    resource_name: str = f(STRING)
    resource_pattern_type: int = f(I8, since=1, default=LITERAL)
    principal: str = f(STRING, default="")
    host: str = f(STRING, default="")
    operation: int = f(I8, default=0)
    permission_type: int = f(I8, default=0)


@struct
class CreateAclsRequest:
    creations: Sequence[AclCreation] = f(Array(AclCreation))
    reason: str | None = f(STRING, since=2, nullable=2, tag=40002, default=None)  # kconf: for the journal


@struct
class AclCreationResult:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)


@struct
class CreateAclsResponse:
    throttle_time_ms: int = f(I32, default=0)
    results: Sequence[AclCreationResult] = f(Array(AclCreationResult), default=())
