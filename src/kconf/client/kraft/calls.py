"""The two requests that read the metadata log: Fetch and FetchSnapshot. The replica id is always -1.

With any other replica id, the leader would count the reader as an observer of the quorum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kconf.client.calls.base import CallResult, ClusterCall, NodeVersions
from kconf.client.settings import Address
from kconf.errors import ErrorCode

TOPIC: Final = "__cluster_metadata"
TOPIC_ID: Final = bytes(15) + b"\1"
MAX_BYTES: Final = 8 << 20
_HINT: Final = "the metadata log is served by KRaft controllers since Kafka 3.7"


class SnapshotPosition(NamedTuple):
    """Identifies a snapshot: its end offset and epoch."""

    end: int
    epoch: int


class FetchedLog(NamedTuple):
    """A Fetch response. `version` is the version of the request."""

    version: int
    error: int
    leader: int = -1
    leader_epoch: int = -1
    endpoints: Mapping[int, Address] = {}
    high_watermark: int = -1
    log_start: int = -1
    snapshot: SnapshotPosition | None = None
    diverging: int | None = None  # the offset at which the leader's log diverged from ours
    records: bytes = b""


class FetchLog(ClusterCall[FetchedLog]):
    name = "Fetch"
    hint = _HINT
    min_version = 13  # uses topic ids; controllers refuse older versions

    def __init__(
        self,
        offset: int,
        last_epoch: int,
        leader_epoch: int,
        high_watermark: int,
        wait_ms: int,
        cluster: str | None,
    ) -> None:
        super().__init__()
        self.offset, self.last_epoch, self.leader_epoch = offset, last_epoch, leader_epoch
        self.high_watermark, self.wait_ms, self.cluster = high_watermark, wait_ms, cluster

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic

        partition = FetchPartition(
            0,
            self.leader_epoch,
            self.offset,
            self.last_epoch,
            partition_max_bytes=MAX_BYTES,
            high_watermark=self.high_watermark,
        )
        return FetchRequest(
            self.cluster,
            max_wait_ms=self.wait_ms,
            min_bytes=1,
            max_bytes=MAX_BYTES,
            topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[partition])],
        )

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        endpoints = {each.node_id: Address(each.host, each.port) for each in body.node_endpoints}
        partitions = [each for topic in body.responses for each in topic.partitions]
        if body.error_code or not partitions:
            error = body.error_code or int(ErrorCode.UNKNOWN_SERVER_ERROR)
            return CallResult({None: FetchedLog(version, error, endpoints=endpoints)}, body.throttle_time_ms)
        one = partitions[0]
        leader, snapshot, diverging = one.current_leader, one.snapshot_id, one.diverging_epoch
        found = FetchedLog(
            version,
            one.error_code,
            -1 if leader is None else leader.leader_id,
            -1 if leader is None else leader.leader_epoch,
            endpoints,
            one.high_watermark,
            one.log_start_offset,
            None if snapshot is None else SnapshotPosition(snapshot.end_offset, snapshot.epoch),
            None if diverging is None else diverging.end_offset,
            one.records or b"",
        )
        return CallResult({None: found}, body.throttle_time_ms)


class SnapshotPage(NamedTuple):
    """Some bytes of a snapshot of `size` bytes, from `position` on."""

    error: int
    size: int = 0
    position: int = 0
    data: bytes = b""


class FetchSnapshot(ClusterCall[SnapshotPage]):
    name = "FetchSnapshot"
    hint = _HINT

    def __init__(self, snapshot: SnapshotPosition, leader_epoch: int, position: int, cluster: str | None) -> None:
        super().__init__()
        self.snapshot, self.leader_epoch, self.position, self.cluster = snapshot, leader_epoch, position, cluster

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages import fetch_snapshot as messages

        wanted = messages.SnapshotIdentifier(self.snapshot.end, self.snapshot.epoch)
        partition = messages.FetchSnapshotPartition(0, self.leader_epoch, wanted, self.position)
        topic = messages.FetchSnapshotTopic(TOPIC, [partition])
        return messages.FetchSnapshotRequest(self.cluster, max_bytes=MAX_BYTES, topics=[topic])

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        partitions = [each for topic in body.topics for each in topic.partitions]
        error = body.error_code or (partitions[0].error_code if partitions else int(ErrorCode.UNKNOWN_SERVER_ERROR))
        if error:
            return CallResult({None: SnapshotPage(error)}, body.throttle_time_ms)
        one = partitions[0]
        page = SnapshotPage(0, one.size, one.position, one.unaligned_records)
        return CallResult({None: page}, body.throttle_time_ms)
