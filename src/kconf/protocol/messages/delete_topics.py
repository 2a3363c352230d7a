"""DeleteTopics (key 20), versions 0 to 6.

v1 throttle time · v4 flexible · v5 a message · v6 by name or by id.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, I32, STRING, UUID16, Array, f, struct


@struct
class DeleteTopicState:
    name: str | None = f(STRING, since=6, nullable=6, default=None)
    topic_id: bytes = f(UUID16, since=6, default=bytes(16))


@struct
class DeleteTopicsRequest:
    topics: Sequence[DeleteTopicState] = f(Array(DeleteTopicState), since=6, default=())
    topic_names: Sequence[str] = f(Array(STRING), until=5, default=())
    timeout_ms: int = f(I32, default=60000)
    reason: str | None = f(STRING, since=4, nullable=4, tag=40002, default=None)  # kconf: for the journal


@struct
class DeletableTopicResult:
    name: str | None = f(STRING, nullable=6)
    topic_id: bytes = f(UUID16, since=6, default=bytes(16))
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, since=5, nullable=5, default=None)


@struct
class DeleteTopicsResponse:
    throttle_time_ms: int = f(I32, since=1, default=0)
    responses: Sequence[DeletableTopicResult] = f(Array(DeletableTopicResult), default=())
