"""DescribeProducers (key 61), version 0, flexible: the active producers of partitions."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, I32, I64, STRING, Array, f, struct


@struct
class TopicRequest:
    name: str = f(STRING)
    partition_indexes: Sequence[int] = f(Array(I32))


@struct
class DescribeProducersRequest:
    topics: Sequence[TopicRequest] = f(Array(TopicRequest))


@struct
class ProducerState:
    producer_id: int = f(I64)
    producer_epoch: int = f(I32)
    last_sequence: int = f(I32, default=-1)
    last_timestamp: int = f(I64, default=-1)
    coordinator_epoch: int = f(I32, default=0)
    current_txn_start_offset: int = f(I64, default=-1)


@struct
class PartitionResponse:
    partition_index: int = f(I32)
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0, default=None)
    active_producers: Sequence[ProducerState] = f(Array(ProducerState), default=())


@struct
class TopicResponse:
    name: str = f(STRING)
    partitions: Sequence[PartitionResponse] = f(Array(PartitionResponse))


@struct
class DescribeProducersResponse:
    throttle_time_ms: int = f(I32, default=0)
    topics: Sequence[TopicResponse] = f(Array(TopicResponse), default=())
