"""DeleteGroups (key 42), versions 0 to 2. v2 flexible"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, I32, STRING, Array, f, struct


@struct
class DeleteGroupsRequest:
    groups_names: Sequence[str] = f(Array(STRING))


@struct
class DeletableGroupResult:
    group_id: str = f(STRING)
    error_code: int = f(I16)


@struct
class DeleteGroupsResponse:
    throttle_time_ms: int = f(I32, default=0)
    results: Sequence[DeletableGroupResult] = f(Array(DeletableGroupResult), default=())
