"""FindCoordinator (key 10), versions 0 to 6: the coordinator of a group or transactional id.

v1 transactional ids · v3 flexible · v4 several keys · v6 share groups
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I8, I16, I32, STRING, Array, f, struct


@struct
class FindCoordinatorRequest:
    key: str = f(STRING, until=3, default="")
    key_type: int = f(I8, since=1, default=0)
    coordinator_keys: Sequence[str] = f(Array(STRING), since=4, default=())


@struct
class Coordinator:
    key: str = f(STRING)
    node_id: int = f(I32)
    host: str = f(STRING)
    port: int = f(I32)
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)


@struct
class FindCoordinatorResponse:
    throttle_time_ms: int = f(I32, since=1, default=0)
    error_code: int = f(I16, until=3, default=0)
    error_message: str | None = f(STRING, since=1, until=3, nullable=1, default="")
    node_id: int = f(I32, until=3, default=0)
    host: str = f(STRING, until=3, default="")
    port: int = f(I32, until=3, default=0)
    coordinators: Sequence[Coordinator] = f(Array(Coordinator), since=4, default=())
