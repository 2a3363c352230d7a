"""AlterPartitionReassignments (key 45), versions 0 and 1, flexible. v1 may forbid another replication factor"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I16, I32, STRING, Array, f, struct


@struct
class ReassignablePartition:
    partition_index: int = f(I32)
    replicas: Sequence[int] | None = f(Array(I32), nullable=0, default=None)


@struct
class ReassignableTopic:
    name: str = f(STRING)
    partitions: Sequence[ReassignablePartition] = f(Array(ReassignablePartition))


@struct
class AlterPartitionReassignmentsRequest:
    timeout_ms: int = f(I32, default=60000)
    allow_replication_factor_change: bool = f(BOOL, since=1, default=True)
    topics: Sequence[ReassignableTopic] = f(Array(ReassignableTopic), default=())


@struct
class ReassignablePartitionResponse:
    partition_index: int = f(I32)
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)


@struct
class ReassignableTopicResponse:
    name: str = f(STRING)
    partitions: Sequence[ReassignablePartitionResponse] = f(Array(ReassignablePartitionResponse))


@struct
class AlterPartitionReassignmentsResponse:
    throttle_time_ms: int = f(I32, default=0)
    allow_replication_factor_change: bool = f(BOOL, since=1, default=True)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default="")
    responses: Sequence[ReassignableTopicResponse] = f(Array(ReassignableTopicResponse), default=())
