"""CreatePartitions (key 37), versions 0 to 3. v2 flexible · v3 strict mutation quota."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I16, I32, STRING, Array, f, struct


@struct
class CreatePartitionsAssignment:
    broker_ids: Sequence[int] = f(Array(I32))


@struct
class CreatePartitionsTopic:
    name: str = f(STRING)
    count: int = f(I32)
    assignments: Sequence[CreatePartitionsAssignment] | None = f(
        Array(CreatePartitionsAssignment), nullable=0, default=None
    )


@struct
class CreatePartitionsRequest:
    topics: Sequence[CreatePartitionsTopic] = f(Array(CreatePartitionsTopic))
    timeout_ms: int = f(I32, default=60000)
    validate_only: bool = f(BOOL, default=False)
    reason: str | None = f(STRING, since=2, nullable=2, tag=40002, default=None)  # kconf: for the journal


@struct
class CreatePartitionsTopicResult:
    name: str = f(STRING)
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0, default=None)


@struct
class CreatePartitionsResponse:
    throttle_time_ms: int = f(I32, default=0)
    results: Sequence[CreatePartitionsTopicResult] = f(Array(CreatePartitionsTopicResult), default=())
