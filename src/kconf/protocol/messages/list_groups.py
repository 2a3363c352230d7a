"""ListGroups (key 16), versions 0 to 5. kafka-configs sends it to describe groups.

v1 throttle time · v3 flexible · v4 states · v5 types.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, I32, STRING, Array, f, struct


@struct
class ListGroupsRequest:
    states_filter: Sequence[str] = f(Array(STRING), since=4, default=())
    types_filter: Sequence[str] = f(Array(STRING), since=5, default=())


@struct
class ListedGroup:
    group_id: str = f(STRING)
    protocol_type: str = f(STRING)
    group_state: str = f(STRING, since=4, default="")
    group_type: str = f(STRING, since=5, default="")


@struct
class ListGroupsResponse:
    throttle_time_ms: int = f(I32, since=1, default=0)
    error_code: int = f(I16, default=0)
    groups: Sequence[ListedGroup] = f(Array(ListedGroup), default=())
