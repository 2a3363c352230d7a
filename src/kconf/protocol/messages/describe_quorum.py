"""DescribeQuorum (key 55), versions 0 to 2, all flexible: the state of the metadata quorum.

v1 times of fetches · v2 directories, listeners, messages.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, I32, I64, STRING, U16, UUID16, Array, f, struct


@struct
class DescribeQuorumPartition:
    partition_index: int = f(I32)


@struct
class DescribeQuorumTopic:
    topic_name: str = f(STRING)
    partitions: Sequence[DescribeQuorumPartition] = f(Array(DescribeQuorumPartition))


@struct
class DescribeQuorumRequest:
    topics: Sequence[DescribeQuorumTopic] = f(Array(DescribeQuorumTopic))


@struct
class QuorumReplica:
    replica_id: int = f(I32)
    replica_directory_id: bytes = f(UUID16, since=2, default=bytes(16))
    log_end_offset: int = f(I64, default=-1)
    last_fetch_timestamp: int = f(I64, since=1, default=-1)
    last_caught_up_timestamp: int = f(I64, since=1, default=-1)


@struct
class QuorumPartition:
    partition_index: int = f(I32)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, since=2, nullable=2, default=None)
    leader_id: int = f(I32, default=-1)
    leader_epoch: int = f(I32, default=-1)
    high_watermark: int = f(I64, default=-1)
    current_voters: Sequence[QuorumReplica] = f(Array(QuorumReplica), default=())
    observers: Sequence[QuorumReplica] = f(Array(QuorumReplica), default=())


@struct
class QuorumTopic:
    topic_name: str = f(STRING)
    partitions: Sequence[QuorumPartition] = f(Array(QuorumPartition))


@struct
class QuorumListener:
    name: str = f(STRING)
    host: str = f(STRING)
    port: int = f(U16)


@struct
class QuorumNode:
    node_id: int = f(I32)
    listeners: Sequence[QuorumListener] = f(Array(QuorumListener))


@struct
class DescribeQuorumResponse:
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, since=2, nullable=2, default=None)
    topics: Sequence[QuorumTopic] = f(Array(QuorumTopic), default=())
    nodes: Sequence[QuorumNode] = f(Array(QuorumNode), since=2, default=())
