"""ElectLeaders (key 43), versions 0 to 2. v1 the type of election, error code · v2 flexible"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I8, I16, I32, STRING, Array, f, struct


@struct
class TopicPartitions:
    topic: str = f(STRING)
    partitions: Sequence[int] = f(Array(I32))


@struct
class ElectLeadersRequest:
    election_type: int = f(I8, since=1, default=0)
    topic_partitions: Sequence[TopicPartitions] | None = f(Array(TopicPartitions), nullable=0, default=())
    timeout_ms: int = f(I32, default=60000)


@struct
class PartitionResult:
    partition_id: int = f(I32)
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)


@struct
class ReplicaElectionResult:
    topic: str = f(STRING)
    partition_result: Sequence[PartitionResult] = f(Array(PartitionResult))


@struct
class ElectLeadersResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, since=1, default=0)
    replica_election_results: Sequence[ReplicaElectionResult] = f(Array(ReplicaElectionResult), default=())
