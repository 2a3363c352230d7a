"""Fetch (key 1), versions 0 to 18: reads messages from brokers, and the metadata log from controllers (v13 and later).

v7 sessions · v12 flexible, epochs · v13 topic ids · v15 the replica's state is tagged · v16 endpoints of the leader ·
v17 directory ids · v18 high watermark
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BYTES, I8, I16, I32, I64, STRING, UUID16, Array, f, struct


@struct
class ReplicaState:
    replica_id: int = f(I32, default=-1)
    replica_epoch: int = f(I64, default=-1)


@struct
class FetchPartition:
    partition: int = f(I32)
    current_leader_epoch: int = f(I32, since=9, default=-1)
    fetch_offset: int = f(I64, default=0)
    last_fetched_epoch: int = f(I32, since=12, default=-1)
    log_start_offset: int = f(I64, since=5, default=-1)
    partition_max_bytes: int = f(I32, default=0)
    replica_directory_id: bytes = f(UUID16, since=17, tag=0, default=bytes(16))
    high_watermark: int = f(I64, since=18, tag=1, default=2**63 - 1)


@struct
class FetchTopic:
    topic: str = f(STRING, until=12, default="")
    topic_id: bytes = f(UUID16, since=13, default=bytes(16))
    partitions: Sequence[FetchPartition] = f(Array(FetchPartition), default=())


@struct
class ForgottenTopic:
    topic: str = f(STRING, until=12, default="")
    topic_id: bytes = f(UUID16, since=13, default=bytes(16))
    partitions: Sequence[int] = f(Array(I32), default=())


@struct
class FetchRequest:
    cluster_id: str | None = f(STRING, since=12, nullable=12, tag=0, default=None)
    replica_id: int = f(I32, until=14, default=-1)
    replica_state: ReplicaState | None = f(ReplicaState, since=15, tag=1, default=None)
    max_wait_ms: int = f(I32, default=0)
    min_bytes: int = f(I32, default=0)
    max_bytes: int = f(I32, since=3, default=2**31 - 1)
    isolation_level: int = f(I8, since=4, default=0)
    session_id: int = f(I32, since=7, default=0)
    session_epoch: int = f(I32, since=7, default=-1)
    topics: Sequence[FetchTopic] = f(Array(FetchTopic), default=())
    forgotten_topics_data: Sequence[ForgottenTopic] = f(Array(ForgottenTopic), since=7, default=())
    rack_id: str = f(STRING, since=11, default="")


@struct
class EpochEndOffset:
    epoch: int = f(I32, default=-1)
    end_offset: int = f(I64, default=-1)


@struct
class LeaderIdAndEpoch:
    leader_id: int = f(I32, default=-1)
    leader_epoch: int = f(I32, default=-1)


@struct
class SnapshotId:
    end_offset: int = f(I64, default=-1)
    epoch: int = f(I32, default=-1)


@struct
class AbortedTransaction:
    producer_id: int = f(I64)
    first_offset: int = f(I64)


@struct
class FetchedPartition:
    partition_index: int = f(I32)
    error_code: int = f(I16)
    high_watermark: int = f(I64)
    last_stable_offset: int = f(I64, since=4, default=-1)
    log_start_offset: int = f(I64, since=5, default=-1)
    diverging_epoch: EpochEndOffset | None = f(EpochEndOffset, since=12, tag=0, default=None)
    current_leader: LeaderIdAndEpoch | None = f(LeaderIdAndEpoch, since=12, tag=1, default=None)
    snapshot_id: SnapshotId | None = f(SnapshotId, since=12, tag=2, default=None)
    aborted_transactions: Sequence[AbortedTransaction] | None = f(
        Array(AbortedTransaction), since=4, nullable=4, default=()
    )
    preferred_read_replica: int = f(I32, since=11, default=-1)
    records: bytes | None = f(BYTES, nullable=0, default=None)


@struct
class FetchedTopic:
    topic: str = f(STRING, until=12, default="")
    topic_id: bytes = f(UUID16, since=13, default=bytes(16))
    partitions: Sequence[FetchedPartition] = f(Array(FetchedPartition), default=())


@struct
class NodeEndpoint:
    node_id: int = f(I32)
    host: str = f(STRING)
    port: int = f(I32)
    rack: str | None = f(STRING, nullable=0, default=None)


@struct
class FetchResponse:
    throttle_time_ms: int = f(I32, since=1, default=0)
    error_code: int = f(I16, since=7, default=0)
    session_id: int = f(I32, since=7, default=0)
    responses: Sequence[FetchedTopic] = f(Array(FetchedTopic), default=())
    node_endpoints: Sequence[NodeEndpoint] = f(Array(NodeEndpoint), since=16, tag=0, default=())
