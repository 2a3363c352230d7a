"""Produce (key 0), versions 0 to 13. The server refuses it, since it stores no messages.

v1 throttle time · v3 transactional id · v8 errors of records, message · v9 flexible · v10 the leader · v13 topic ids
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BYTES, I16, I32, I64, STRING, UUID16, Array, f, struct


@struct
class PartitionProduceData:
    index: int = f(I32)
    records: bytes | None = f(BYTES, nullable=0)


@struct
class TopicProduceData:
    name: str = f(STRING, until=12, default="")
    topic_id: bytes = f(UUID16, since=13, default=bytes(16))
    partition_data: Sequence[PartitionProduceData] = f(Array(PartitionProduceData), default=())


@struct
class ProduceRequest:
    transactional_id: str | None = f(STRING, since=3, nullable=3, default=None)
    acks: int = f(I16, default=0)
    timeout_ms: int = f(I32, default=0)
    topic_data: Sequence[TopicProduceData] = f(Array(TopicProduceData), default=())


@struct
class BatchIndexAndErrorMessage:
    batch_index: int = f(I32)
    batch_index_error_message: str | None = f(STRING, nullable=0, default=None)


@struct
class LeaderIdAndEpoch:
    leader_id: int = f(I32, default=-1)
    leader_epoch: int = f(I32, default=-1)


@struct
class PartitionProduceResponse:
    index: int = f(I32)
    error_code: int = f(I16)
    base_offset: int = f(I64)
    log_append_time_ms: int = f(I64, since=2, default=-1)
    log_start_offset: int = f(I64, since=5, default=-1)
    record_errors: Sequence[BatchIndexAndErrorMessage] = f(Array(BatchIndexAndErrorMessage), since=8, default=())
    error_message: str | None = f(STRING, since=8, nullable=8, default=None)
    current_leader: LeaderIdAndEpoch | None = f(LeaderIdAndEpoch, since=10, tag=0, default=None)


@struct
class TopicProduceResponse:
    name: str = f(STRING, until=12, default="")
    topic_id: bytes = f(UUID16, since=13, default=bytes(16))
    partition_responses: Sequence[PartitionProduceResponse] = f(Array(PartitionProduceResponse), default=())


@struct
class NodeEndpoint:
    node_id: int = f(I32)
    host: str = f(STRING)
    port: int = f(I32)
    rack: str | None = f(STRING, nullable=0, default=None)


@struct
class ProduceResponse:
    responses: Sequence[TopicProduceResponse] = f(Array(TopicProduceResponse))
    throttle_time_ms: int = f(I32, since=1, default=0)
    node_endpoints: Sequence[NodeEndpoint] = f(Array(NodeEndpoint), since=10, tag=0, default=())
