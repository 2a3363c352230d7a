"""FetchSnapshot (key 59), versions 0 and 1, both flexible: a snapshot of the metadata log, in pages."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BYTES, I16, I32, I64, STRING, U16, UUID16, Array, f, struct


@struct
class SnapshotIdentifier:
    end_offset: int = f(I64)
    epoch: int = f(I32)


@struct
class FetchSnapshotPartition:
    partition: int = f(I32)
    current_leader_epoch: int = f(I32)
    snapshot_id: SnapshotIdentifier = f(SnapshotIdentifier)
    position: int = f(I64)
    replica_directory_id: bytes = f(UUID16, since=1, tag=0, default=bytes(16))


@struct
class FetchSnapshotTopic:
    name: str = f(STRING)
    partitions: Sequence[FetchSnapshotPartition] = f(Array(FetchSnapshotPartition))


@struct
class FetchSnapshotRequest:
    cluster_id: str | None = f(STRING, nullable=0, tag=0, default=None)
    replica_id: int = f(I32, default=-1)
    max_bytes: int = f(I32, default=2**31 - 1)
    topics: Sequence[FetchSnapshotTopic] = f(Array(FetchSnapshotTopic), default=())


@struct
class SnapshotLeader:
    leader_id: int = f(I32)
    leader_epoch: int = f(I32)


@struct
class SnapshotPartition:
    index: int = f(I32)
    error_code: int = f(I16)
    snapshot_id: SnapshotIdentifier = f(SnapshotIdentifier)
    current_leader: SnapshotLeader | None = f(SnapshotLeader, tag=0, default=None)
    size: int = f(I64, default=0)
    position: int = f(I64, default=0)
    unaligned_records: bytes = f(BYTES, default=b"")


@struct
class SnapshotTopic:
    name: str = f(STRING)
    partitions: Sequence[SnapshotPartition] = f(Array(SnapshotPartition))


@struct
class SnapshotEndpoint:
    node_id: int = f(I32)
    host: str = f(STRING)
    port: int = f(U16)


@struct
class FetchSnapshotResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    topics: Sequence[SnapshotTopic] = f(Array(SnapshotTopic), default=())
    node_endpoints: Sequence[SnapshotEndpoint] = f(Array(SnapshotEndpoint), since=1, tag=0, default=())
