"""Follows the metadata log of the cluster in its own thread.

Fetches are numbered. A change that Kafka has acknowledged is below the high watermark of the response to any later
fetch, so it has been read when a fetch with a higher number is answered. Only responses of the leader count after which
the log has been read up to their high watermark: during an election, and while a backlog is read, the state may be
stale.

The time without a response is measured only while this process is running (util/threads/awake_clock.py), so that a
gateway that was suspended is not stale for that reason alone. After such a pause, a change waits for the log before it
is sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from logging import getLogger
from threading import Condition, RLock, Thread
from typing import Any, Final

from immutables import Map

from kconf.client.calls.base import CallResult
from kconf.client.kraft.calls import FetchedLog
from kconf.client.kraft.checkpoint import Checkpoint
from kconf.client.kraft.follower import LogChanges, LogEvent, LogFollower, LogGap, LogReset
from kconf.client.kraft.revisions import STEP_TIMEOUT, gap_revision
from kconf.client.kraft.scram_keys import CredentialSink, ScramKeys
from kconf.client.settings import ClientSettings
from kconf.client.transport.requests import Backoff, Reply
from kconf.client.transport.selector.pool import SyncConnectionPool
from kconf.errors import ConnectionFailed, KconfError, StoreFailed, StoreLost, StoreUnavailable
from kconf.model.journal import Change, Revision
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.store.base import NOTHING_UNKNOWN
from kconf.store.upstream.authors.in_flight import NOTHING_IN_FLIGHT, KeysInFlight
from kconf.store.upstream.authors.matching import ExpectedChanges, requested_value
from kconf.store.upstream.following import problems
from kconf.store.upstream.journal import Intent
from kconf.store.upstream.source import CANNOT_READ, Shown, unexpected
from kconf.util.threads.awake_clock import AwakeClock

log = getLogger(__name__)

STALE: Final = 2 * STEP_TIMEOUT
"""Seconds after which the state is stale if the log was not read up to its end: the time of two requests.

An idle leader responds every 0.5 s."""

_START: Final = 30.0  # seconds for the first state
_RETRY: Final = 1.0  # seconds after an error that may be temporary, such as a missing ACL


class LogThread:
    """Collects revisions until `take`. `on_change` is called from this thread when there are new ones."""

    unknown = NOTHING_UNKNOWN
    polling = None
    polled = 0

    def __init__(
        self,
        controllers: ClientSettings,
        cluster: str,
        after: Checkpoint | None,
        credentials: CredentialSink | None = None,
    ) -> None:
        self.follower = LogFollower(
            controllers.bootstrap.addresses,
            after=after,
            cluster=cluster,
            attempts=controllers.retries.connect_attempts,
            rewrites=True,
            keys=None if credentials is None else ScramKeys(credentials),
        )
        self.problem: StoreFailed | None = None
        self.imaged = None if after is None else after.offset
        self.on_change: Callable[[], None] = lambda: None
        self._pool = SyncConnectionPool(controllers)
        self._cluster = cluster
        self._revisions: list[Revision] = []
        self._changed = Condition(RLock())
        self._sent = self._answered = 0  # numbers of fetches
        self._clock = AwakeClock()
        self._answered_at: float | None = None  # by `_clock`
        self._read_at = 0.0  # the same in monotonic time
        self._lost = 0  # consecutive failed connections
        self._many = max(2, len(controllers.bootstrap.addresses))  # failures that count as an outage
        self._error: KconfError | None = None
        self._closed = False
        self._thread = Thread(target=self._run, name="kconf-log", daemon=True)

    def start(self) -> None:
        """Start, and return when the committed log has been read. Raises an error if that fails."""
        self._clock.start()
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._is_ready() or (self._error or self.problem) is not None, _START)
            failure = self._error or self.problem
            if failure is not None:
                raise failure
            if not self._is_ready():
                raise StoreUnavailable(self._older_epoch() or "the controllers did not serve the metadata log in time")

    def _is_ready(self) -> bool:
        """Whether the log has been read. A snapshot alone is not enough, since the log continues after it."""
        return self._answered > 0 and self._is_at_end()

    def _is_at_end(self) -> bool:
        """Whether everything has been read that was committed when the leader sent its last response."""
        return 0 <= self.follower.high_watermark <= self.follower.applied

    @property
    def is_current(self) -> bool:
        """Whether the log was recently read up to its end."""
        answered = self._answered_at
        if self.problem is not None or self._error is not None or answered is None or self._lost >= self._many:
            return False
        return self._clock.now() - answered < STALE

    @property
    def is_certain(self) -> bool:
        return self.follower.image.unreadable is None

    @property
    def stale_reason(self) -> str | None:
        if self.problem is not None:
            return str(self.problem)
        if (record := self.follower.image.unreadable) is not None:
            return problems.unreadable(record)
        if self.is_current:
            return None
        found = self._error or self._older_epoch() or self._backlog()
        return CANNOT_READ if found is None else f"{CANNOT_READ}: {found}"

    def _older_epoch(self) -> str | None:
        follower = self.follower
        if follower.older_epoch is None:
            return None
        return problems.older_epoch(follower.older_epoch, follower.leader_epoch)

    def _backlog(self) -> str | None:
        follower = self.follower
        is_behind = follower.applied < follower.high_watermark
        return problems.backlog(follower.applied, follower.high_watermark) if is_behind else None

    @property
    def is_read(self) -> bool:
        """Whether everything committed up to a moment ago has been read."""
        with self._changed:
            return self.is_current and self._is_ready()

    @property
    def applied(self) -> int:
        return self.follower.applied

    @property
    def hidden(self) -> Collection[tuple[ResourceType, str]]:
        with self._changed:
            return {(resource.type, key) for resource, key in self.follower.image.sensitive}

    def take(self, held: KeysInFlight = NOTHING_IN_FLIGHT) -> list[Revision]:
        """The revisions since the last call, including records that set a key to the value that it already had."""
        with self._changed:
            count = held.count_settled(self._revisions)
            found, self._revisions = self._revisions[:count], self._revisions[count:]
            return found

    def take_all(self) -> tuple[Snapshot, list[Revision]]:
        """The whole state, without the last revision of each resource, and the revisions up to it that were not taken
        yet.
        """
        with self._changed:
            image = self.follower.image
            configs: dict[Resource, Overrides] = {each: dict(values) for each, values in image.configs.items()}
            snapshot = Snapshot.of(self.follower.applied - 1, Map(image.topics), Map(configs), Map())
            return snapshot, self.take()

    def wait_for(self, expected: ExpectedChanges, timeout: float) -> Shown:
        """Wait until the expected changes have been read, or a later fetch shows that they are not in the log."""
        with self._changed:
            bound = self._sent
            self._changed.wait_for(
                lambda: expected.are_in(self._revisions) or self._answered > bound or self._closed, timeout
            )
            if expected.are_in(self._revisions):
                return Shown.SHOWN
            return Shown.DIFFERENT if self._answered > bound else Shown.UNREAD

    def catch_up(self, end: int | None, expected: ExpectedChanges) -> None:
        """Wait until the log has been read up to `end`, or for a new fetch."""
        with self._changed:
            bound = self._sent
            self._changed.wait_for(
                lambda: (end is not None and self.follower.applied >= end) or self._answered > bound or self._closed,
                STEP_TIMEOUT,
            )

    def refresh(self, resources: Collection[Resource]) -> None:
        """Does nothing: the log is read all the time."""

    def begin_requests(self, keys: KeysInFlight) -> None:
        """Wait for a new fetch if this process was suspended, since the state may be old. Raises StoreUnavailable."""
        with self._changed:
            if time.monotonic() - self._read_at < STALE:
                return
            bound = self._sent
            self._changed.wait_for(lambda: self._answered > bound or self._closed, STALE)
            if self._answered <= bound:
                raise StoreUnavailable("the state of the cluster may be stale")

    def end_requests(self) -> None:
        """Does nothing: the log contains every change in order, whoever made it."""

    def shown(self, change: Change) -> str | None:
        return requested_value(change)

    def unshown(self, shown: Shown) -> str | None:
        """A change that is not in the log, although it was read up to its end, was made with another value."""
        return problems.UNREAD if shown is Shown.UNREAD else None

    def is_untouched(self, intent: Intent) -> bool:
        """Always True: the log would contain the change."""
        return True

    def take_image(self) -> tuple[int, dict[str, Any], list[Revision]]:
        """The image as JSON with its offset, and the revisions up to it that were not taken yet."""
        with self._changed:
            checkpoint = self.follower.checkpoint(self._cluster)
            return checkpoint.offset, checkpoint.to_json(), self.take()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._clock.close()
        self._thread.join(STEP_TIMEOUT)

    def _run(self) -> None:
        while not self._closed and self.problem is None:
            try:
                self._step()
            except KconfError as error:
                self._failed(error)
            except Exception as error:
                self._failed(unexpected(error))
        self._pool.close()

    def _step(self) -> None:
        step = self.follower.next_step()
        if isinstance(step, Backoff):
            time.sleep(step.seconds)
            return
        with self._changed:
            self._sent += 1
            number = self._sent
        (reply,) = self._pool.send_batch([step], time.monotonic() + STEP_TIMEOUT)
        with self._changed:
            found, was_current, was_certain = len(self._revisions), self.is_current, self.is_certain
            if isinstance(reply, CallResult):
                self._lost = 0
            elif isinstance(reply, ConnectionFailed):
                self._lost += 1
            for event in self._received(reply):
                if isinstance(event, LogChanges):
                    self._revisions += event.revisions
                elif isinstance(event, LogGap):
                    log.warning(
                        "part of the metadata log was deleted before it was read from=%d to=%d", event.begin, event.end
                    )
                    self._revisions.append(gap_revision(event))
                elif isinstance(event, LogReset):
                    self.problem = StoreLost(problems.reset(event))
            if has_log(reply):
                self._error = None
                if self._is_at_end():
                    self._answered, self._answered_at, self._read_at = number, self._clock.now(), time.monotonic()
            is_new = len(self._revisions) > found or (self.is_current and not was_current)
            self._changed.notify_all()
        if (was_certain and not self.is_certain) or self.problem is not None:
            log.error("changes are refused: %s", self.stale_reason)
        if is_new or self.problem is not None:
            self.on_change()

    def _received(self, reply: Reply) -> list[LogEvent]:
        try:
            return self.follower.receive(reply)
        except KconfError:
            raise
        except Exception:  # part of the records may have been applied, so another attempt could lose changes
            log.exception("applying records of the metadata log failed unexpectedly")
            self.problem = StoreFailed(problems.NOT_APPLIED)
            return []

    def _failed(self, error: KconfError) -> None:
        """Report an error. The state is stale until the log can be read again."""
        with self._changed:
            is_new = str(self._error) != str(error)
            self._error = error
            self._changed.notify_all()
        if is_new:
            log.error("cannot read the metadata log: %s", error)
        self.on_change()
        time.sleep(_RETRY)


def has_log(reply: Reply) -> bool:
    """Whether the response is from the leader and contains records and the high watermark.

    A new leader does not know the high watermark.
    """
    fetched = reply.outcomes[None] if isinstance(reply, CallResult) else None
    if not isinstance(fetched, FetchedLog) or fetched.error or fetched.high_watermark < 0:
        return False
    return fetched.snapshot is None and fetched.diverging is None
