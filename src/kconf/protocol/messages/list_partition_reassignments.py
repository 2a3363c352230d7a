"""ListPartitionReassignments (key 46), version 0, flexible."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, I32, STRING, Array, f, struct


@struct
class ListPartitionReassignmentsTopics:
    name: str = f(STRING)
    partition_indexes: Sequence[int] = f(Array(I32))


@struct
class ListPartitionReassignmentsRequest:
    timeout_ms: int = f(I32, default=60000)
    topics: Sequence[ListPartitionReassignmentsTopics] | None = f(
        Array(ListPartitionReassignmentsTopics), nullable=0, default=None
    )


@struct
class OngoingPartitionReassignment:
    partition_index: int = f(I32)
    replicas: Sequence[int] = f(Array(I32))
    adding_replicas: Sequence[int] = f(Array(I32))
    removing_replicas: Sequence[int] = f(Array(I32))


@struct
class OngoingTopicReassignment:
    name: str = f(STRING)
    partitions: Sequence[OngoingPartitionReassignment] = f(Array(OngoingPartitionReassignment))


@struct
class ListPartitionReassignmentsResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default="")
    topics: Sequence[OngoingTopicReassignment] = f(Array(OngoingTopicReassignment), default=())
