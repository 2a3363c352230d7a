"""DescribeTopicPartitions (key 75), version 0, flexible: topics in pages, with a cursor."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I16, I32, STRING, UUID16, Array, f, struct


@struct
class TopicRequest:
    name: str = f(STRING)


@struct
class Cursor:
    topic_name: str = f(STRING)
    partition_index: int = f(I32)


@struct
class DescribeTopicPartitionsRequest:
    topics: Sequence[TopicRequest] = f(Array(TopicRequest))
    response_partition_limit: int = f(I32, default=2000)
    cursor: Cursor | None = f(Cursor, nullable=0, default=None)


@struct
class TopicPartition:
    error_code: int = f(I16)
    partition_index: int = f(I32)
    leader_id: int = f(I32)
    leader_epoch: int = f(I32, default=-1)
    replica_nodes: Sequence[int] = f(Array(I32), default=())
    isr_nodes: Sequence[int] = f(Array(I32), default=())
    eligible_leader_replicas: Sequence[int] | None = f(Array(I32), nullable=0, default=None)
    last_known_elr: Sequence[int] | None = f(Array(I32), nullable=0, default=None)
    offline_replicas: Sequence[int] = f(Array(I32), default=())


@struct
class DescribedTopic:
    error_code: int = f(I16)
    name: str | None = f(STRING, nullable=0)
    topic_id: bytes = f(UUID16, default=bytes(16))
    is_internal: bool = f(BOOL, default=False)
    partitions: Sequence[TopicPartition] = f(Array(TopicPartition), default=())
    topic_authorized_operations: int = f(I32, default=-(2**31))


@struct
class DescribeTopicPartitionsResponse:
    throttle_time_ms: int = f(I32, default=0)
    topics: Sequence[DescribedTopic] = f(Array(DescribedTopic), default=())
    next_cursor: Cursor | None = f(Cursor, nullable=0, default=None)
