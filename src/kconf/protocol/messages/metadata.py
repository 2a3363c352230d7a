"""Metadata (key 3), versions 0 to 13.

v0 an empty list means all topics, from v1 on null · v4 auto-creation flag · v8 authorized operations · v9 flexible ·
v10 topic ids · v11 no cluster operations · v12 a name may be null · v13 a top-level error.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I16, I32, STRING, UUID16, Array, f, struct

NO_UUID = bytes(16)
NOT_REQUESTED = -(2**31)


@struct
class MetadataRequestTopic:
    topic_id: bytes = f(UUID16, since=10, default=NO_UUID)
    name: str | None = f(STRING, nullable=10, default=None)


@struct
class MetadataRequest:
    topics: Sequence[MetadataRequestTopic] | None = f(Array(MetadataRequestTopic), nullable=1)
    allow_auto_topic_creation: bool = f(BOOL, since=4, default=True)
    include_cluster_authorized_operations: bool = f(BOOL, since=8, until=10, default=False)
    include_topic_authorized_operations: bool = f(BOOL, since=8, default=False)


@struct
class MetadataBroker:
    node_id: int = f(I32)
    host: str = f(STRING)
    port: int = f(I32)
    rack: str | None = f(STRING, since=1, nullable=1, default=None)


@struct
class MetadataPartition:
    error_code: int = f(I16)
    partition_index: int = f(I32)
    leader_id: int = f(I32)
    leader_epoch: int = f(I32, since=7, default=-1)
    replica_nodes: Sequence[int] = f(Array(I32), default=())
    isr_nodes: Sequence[int] = f(Array(I32), default=())
    offline_replicas: Sequence[int] = f(Array(I32), since=5, default=())


@struct
class MetadataTopic:
    error_code: int = f(I16)
    name: str | None = f(STRING, nullable=12)
    topic_id: bytes = f(UUID16, since=10, default=NO_UUID)
    is_internal: bool = f(BOOL, since=1, default=False)
    partitions: Sequence[MetadataPartition] = f(Array(MetadataPartition), default=())
    topic_authorized_operations: int = f(I32, since=8, default=NOT_REQUESTED)


@struct
class MetadataResponse:
    throttle_time_ms: int = f(I32, since=3, default=0)
    brokers: Sequence[MetadataBroker] = f(Array(MetadataBroker), default=())
    cluster_id: str | None = f(STRING, since=2, nullable=2, default=None)
    controller_id: int = f(I32, since=1, default=-1)
    topics: Sequence[MetadataTopic] = f(Array(MetadataTopic), default=())
    cluster_authorized_operations: int = f(I32, since=8, until=10, default=NOT_REQUESTED)
    error_code: int = f(I16, since=13, default=0)
