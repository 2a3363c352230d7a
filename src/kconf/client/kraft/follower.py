"""Follows the metadata log of a KRaft cluster: decides which request to send next, and interprets responses.

Uses no sockets and clocks: `next_step` returns the next request or a pause, `receive` takes the reply and returns what
was committed. Only committed records are reported: a leader also serves records above its high watermark, which the
next leader may truncate.

The first request goes to any controller, whose response contains the leader and the epoch. If the leader is lost, the
position is kept, and the other controllers are asked for the new leader.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kconf.client.calls.base import CallResult
from kconf.client.kraft.calls import FetchedLog, FetchLog, FetchSnapshot, SnapshotPage, SnapshotPosition
from kconf.client.kraft.checkpoint import Checkpoint
from kconf.client.kraft.image import MetadataImage
from kconf.client.kraft.image_difference import difference
from kconf.client.kraft.scram_keys import ScramKeys
from kconf.client.kraft.snapshot import PartialSnapshot, read_snapshot
from kconf.client.settings import Address
from kconf.client.transport.requests import Backoff, NodeRequest, Reply
from kconf.errors import (
    ConfigurationError,
    ConnectionFailed,
    ErrorCode,
    JournalTrimmed,
    KafkaError,
    KconfError,
    RequestTimedOut,
)
from kconf.model.journal import Change, Revision
from kconf.protocol.records.batches import RecordBatch, read_batches

WAIT_MS: Final = 1000
"""How long a leader may delay a response.

In practice at most 500 ms, since an idle cluster writes a record that often.
"""

_SHORT_WAIT_MS: Final = 5  # before v18, no response is sent if only the high watermark changes
_WATERMARK_VERSION: Final = 18
_RETRY: Final = 0.1  # seconds
_ELECTION: Final = 0.05
_NOT_THE_LEADER: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)
_LASTING: Final = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INCONSISTENT_CLUSTER_ID,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    }
)
"""Errors that a retry would get again."""

_A_BROKER: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


class LogChanges(NamedTuple):
    """Committed changes, in order. `end` is the offset after the last record that was read."""

    epoch: int
    end: int
    revisions: Sequence[Revision]


class LogGap(NamedTuple):
    """The log no longer contains the position: `changes` were made at offsets from `begin` to before `end`.

    Their order is unknown, and so are changes that were reverted. `time` is that of the last change, or 0 if unknown.
    """

    begin: int
    end: int
    epoch: int
    time: int
    changes: Sequence[Change]


class LogReset(NamedTuple):
    """The cluster was reformatted, or restored from a backup: its log is not the one that was followed up to `end`.

    They may be equal up to `common`.
    """

    end: int
    common: int = 0


class LogReady(NamedTuple):
    """The image is complete. Changes at `offset` or later are reported from now on."""

    offset: int


LogEvent = LogChanges | LogGap | LogReset | LogReady


class LogFollower:
    """`after` is an offset or a checkpoint after which changes are reported, or None to report from now on.

    For an offset, the image at that offset is first built from the cluster's log. If that is no longer possible,
    `receive` raises JournalTrimmed. A checkpoint contains the image, so a LogGap is reported instead. With `rewrites`,
    records that do not change a value are reported too. `keys` receives all SCRAM credentials. With `keys_only`,
    the image does not change, and nothing is reported.
    """

    def __init__(
        self,
        controllers: Sequence[Address],
        *,
        after: int | Checkpoint | None = None,
        cluster: str | None = None,
        attempts: int = 3,
        rewrites: bool = False,
        keys: ScramKeys | None = None,
        keys_only: bool = False,
    ) -> None:
        self._rewrites = rewrites
        self._keys, self._keys_only = keys, keys_only
        self._controllers, self._attempts = tuple(controllers), attempts * len(controllers)
        self.image = MetadataImage()
        self.high_watermark = -1
        self._offset = self._last_epoch = 0  # offset of the next fetch
        self._applied = self._applied_epoch = 0
        self._checkpoint = 0, 0  # the last position outside a transaction
        self._leader_epoch = 0
        self.older_epoch: int | None = None
        """The epoch of the last controller whose epoch is older than the log; None once another has responded."""
        self._cluster = cluster
        self._report_from: int | None = None if not isinstance(after, int) else after + 1
        self._is_resumed = isinstance(after, Checkpoint)
        if isinstance(after, Checkpoint):
            self.image, self._cluster = after.image, after.cluster or cluster
            self._offset = self._applied = self._report_from = after.offset
            self._last_epoch = self._applied_epoch = self._leader_epoch = after.epoch
            self._checkpoint = after.offset, after.epoch
        self._is_ready = False
        self._requested_history = False
        self._pending: list[RecordBatch] = []
        self._snapshot: PartialSnapshot | None = None
        self._target: Address | None = None
        self._turn = self._failures = 0
        self._reached = False
        self._version = _WATERMARK_VERSION
        self._pause = 0.0

    @property
    def applied(self) -> int:
        """The offset after the last record that was applied to the image."""
        return self._applied

    @property
    def leader_epoch(self) -> int:
        """The latest epoch that is known."""
        return self._leader_epoch

    @property
    def leader(self) -> Address | None:
        """The leader, if it is known."""
        return self._target if self._reached else None

    def checkpoint(self, cluster: str) -> Checkpoint:
        """A checkpoint from which a follower can continue."""
        return Checkpoint(cluster, *self._checkpoint, self.image)

    def next_step(self) -> NodeRequest | Backoff:
        if self._pause:
            pause, self._pause = self._pause, 0.0
            return Backoff(pause)
        if self._target is None:
            self._target = self._controllers[self._turn % len(self._controllers)]
            self._turn += 1
        if self._snapshot is not None:
            snapshot = self._snapshot
            fetch = FetchSnapshot(snapshot.position, self._leader_epoch, snapshot.received, self._cluster)
            return NodeRequest(self._target, fetch, (None,))
        is_waiting_for_commit = bool(self._pending) and self._version < _WATERMARK_VERSION
        wait = _SHORT_WAIT_MS if is_waiting_for_commit else WAIT_MS
        log = FetchLog(self._offset, self._last_epoch, self._leader_epoch, self.high_watermark, wait, self._cluster)
        return NodeRequest(self._target, log, (None,))

    def receive(self, reply: Reply) -> list[LogEvent]:
        """Process the reply to the last request. Raises errors that a retry cannot resolve."""
        if not isinstance(reply, CallResult):
            return self._failed(reply)
        outcome = reply.outcomes[None]
        if isinstance(outcome, SnapshotPage):
            return self._snapshot_page(outcome)
        assert isinstance(outcome, FetchedLog)
        self._version = outcome.version
        return self._fetched(outcome)

    def _failed(self, error: KconfError) -> list[LogEvent]:
        if not isinstance(error, ConnectionFailed | RequestTimedOut):
            raise error
        return self._retry(error)

    def _retry(self, error: KconfError) -> list[LogEvent]:
        self._failures += 1
        if not self._reached and self._failures >= self._attempts:
            raise error
        self._snapshot = None
        self._move_on(None, _RETRY)
        return []

    def _move_on(self, target: Address | None, pause: float) -> None:
        self._target, self._pause = target, pause

    def _fetched(self, fetched: FetchedLog) -> list[LogEvent]:
        error = fetched.error
        if error in _NOT_THE_LEADER:
            self._find_leader(fetched)
            return []
        if error in _LASTING:
            raise self._error(error)
        if error:  # a controller that starts or stops may return anything
            return self._retry(self._error(error))
        self._reached, self._failures, self.older_epoch = True, 0, None
        if fetched.snapshot is not None:
            return self._needs_snapshot(fetched.snapshot)
        if fetched.diverging is not None:
            return self._diverged(fetched.diverging)
        return self._records(fetched)

    def _find_leader(self, fetched: FetchedLog) -> None:
        is_stale = fetched.leader_epoch < self._leader_epoch
        self.older_epoch = fetched.leader_epoch if is_stale else None
        self._leader_epoch = max(self._leader_epoch, fetched.leader_epoch)
        named = None if is_stale else fetched.endpoints.get(fetched.leader)
        if fetched.error == ErrorCode.FENCED_LEADER_EPOCH and not is_stale and named in (None, self._target):
            return  # it may be the leader itself: retry with the returned epoch
        if named is not None and named == self._target:
            self._pause = _ELECTION  # the leader is about to resign
            return
        self._snapshot = None
        self._move_on(named, 0.0 if named is not None else _ELECTION)

    def _error(self, code: int) -> KconfError:
        if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return KafkaError.of(
                code, "following the metadata log requires CLUSTER_ACTION on the cluster (Cluster:kafka-cluster)"
            )
        if code == ErrorCode.INCONSISTENT_CLUSTER_ID:
            return ConfigurationError(f"{self._target} is a controller of another cluster, not {self._cluster}")
        if code in _A_BROKER:
            return ConfigurationError(f"{self._target} is a broker; the metadata log is served by controllers only")
        return KafkaError.of(code, f"{self._target} refuses to serve the metadata log (error {code})")

    def _needs_snapshot(self, position: SnapshotPosition) -> list[LogEvent]:
        wanted = self._report_from
        can_skip = self._applied > 0 or wanted is None or position.end <= wanted
        if not can_skip and not self._requested_history:
            # The whole log may still exist: offset 0 is a separate batch, and a request for 0 returns a snapshot.
            self._requested_history = True
            self._offset, self._last_epoch = 1, self._leader_epoch
            return []
        if not can_skip and not self._is_resumed:
            raise JournalTrimmed(position.end)
        self._snapshot = PartialSnapshot(position)
        return []

    def _snapshot_page(self, page: SnapshotPage) -> list[LogEvent]:
        snapshot = self._snapshot
        assert snapshot is not None
        if page.error:  # all failures have the same code; the next Fetch shows what to do
            self._snapshot, self._pause = None, _ELECTION
            return []
        if not snapshot.add(page):
            return []
        self._snapshot = None
        end, epoch = snapshot.position
        data = snapshot.data()
        begin, old = self._applied, self.image
        image, time = (old, 0) if self._keys_only else read_snapshot(data, end)
        if self._keys is not None:
            self._keys.load(read_batches(data))
        self.image = image
        self._offset = self._applied = end
        self._last_epoch = self._applied_epoch = epoch
        self._checkpoint = end, epoch
        self._pending = []
        self.high_watermark = max(self.high_watermark, end)
        if not begin and not self._is_resumed:
            return []
        return [LogGap(begin, end, epoch, time, tuple(difference(old, image)))]

    def _diverged(self, end: int) -> list[LogEvent]:
        if end < self._applied:
            self.image = MetadataImage()
            was, self._applied, self._applied_epoch = self._applied, 0, 0
            self._offset = self._last_epoch = 0
            self._checkpoint = 0, 0
            self.high_watermark, self._pending, self._report_from = -1, [], 0
            self._requested_history = False
            return [LogReset(was, end)]
        self._pending = [each for each in self._pending if each.next_offset <= end]
        last = self._pending[-1] if self._pending else None
        self._offset = last.next_offset if last else self._applied
        self._last_epoch = last.leader_epoch if last else self._applied_epoch
        return []

    def _records(self, fetched: FetchedLog) -> list[LogEvent]:
        for batch in read_batches(fetched.records):
            if batch.next_offset > self._offset:  # for an offset inside a batch, the response has the whole batch
                self._pending.append(batch)
                self._offset, self._last_epoch = batch.next_offset, batch.leader_epoch
        self.high_watermark = max(self.high_watermark, fetched.high_watermark)
        if self._report_from is None and self.high_watermark >= 0:
            self._report_from = self.high_watermark
        return [*self._commit(), *self._ready()]

    def _commit(self) -> list[LogEvent]:
        events: list[LogEvent] = []
        done = 0
        for batch in self._pending:
            if batch.next_offset > self.high_watermark:
                break
            begin = self._report_from
            is_wanted = begin is not None and (batch.next_offset > begin or self.image.in_transaction)
            revisions = self._apply(batch, report=is_wanted)
            self._applied, self._applied_epoch = batch.next_offset, batch.leader_epoch
            if not self.image.in_transaction:
                self._checkpoint = self._applied, self._applied_epoch
            wanted = [each for each in revisions if begin is not None and each.number >= begin]
            if wanted:
                events.append(LogChanges(batch.leader_epoch, self._applied, wanted))
            done += 1
        del self._pending[:done]
        return events

    def _apply(self, batch: RecordBatch, *, report: bool) -> list[Revision]:
        if self._keys is not None:
            self._keys.apply(batch)
        return [] if self._keys_only else self.image.apply(batch, report=report, rewrites=self._rewrites)

    def _ready(self) -> list[LogEvent]:
        if self._is_ready or self._report_from is None or self.high_watermark < 0:  # a new leader does not know it
            return []
        if self._applied < min(self._report_from, self.high_watermark):
            return []
        self._is_ready = True
        return [LogReady(self._applied)]
