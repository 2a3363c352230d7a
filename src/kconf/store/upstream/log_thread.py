"""Follows the metadata log of the cluster in a thread of its own.

Every fetch has a number. What Kafka has acknowledged is in the answer to any fetch that was sent after the
acknowledgement, so a fetch with a later number than the last one sent at that moment has shown it. Only fetches count
that the leader answered with the log: during an election the state may be stale.
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
from kconf.client.kraft.follower import LogChanges, LogFollower, LogGap, LogReset
from kconf.client.kraft.revisions import STEP_TIMEOUT, gap_revision
from kconf.client.kraft.scram_keys import CredentialSink, ScramKeys
from kconf.client.settings import ClientSettings
from kconf.client.transport.requests import Backoff, Reply
from kconf.client.transport.selector.pool import SyncConnectionPool
from kconf.errors import KconfError, StoreFailed, StoreLost, StoreUnavailable
from kconf.model.journal import Change, Revision
from kconf.model.resource import Overrides, Resource
from kconf.model.snapshot import Snapshot
from kconf.store.base import NOTHING_UNKNOWN
from kconf.store.upstream.journal import Intent
from kconf.store.upstream.matching import ExpectedChanges, requested_value

log = getLogger(__name__)

STALE: Final = 5.0
"""Seconds without an answer of a controller after which the state counts as stale: an idle one answers every 0.5 s."""

_START: Final = 30.0  # seconds for the first state
_RETRY: Final = 1.0  # seconds after an error that may pass, such as a right that was taken away


class LogThread:
    """`revisions` waits to be taken; `on_change` is called, from this thread, when something does."""

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
        self.gaps = 0
        self.on_change: Callable[[], None] = lambda: None
        self._pool = SyncConnectionPool(controllers)
        self._cluster = cluster
        self._revisions: list[Revision] = []
        self._changed = Condition(RLock())
        self._sent = self._answered = 0  # numbers of fetches
        self._answered_at = 0.0
        self._error: KconfError | None = None
        self._closed = False
        self._thread = Thread(target=self._run, name="kconf-log", daemon=True)

    def start(self) -> None:
        """Return when the image is that of the committed log. Raises what prevents it."""
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._is_ready() or self._error is not None, _START)
            if self._error is not None:
                raise self._error
            if not self._is_ready():
                raise StoreUnavailable("the controllers did not serve the metadata log in time")

    def _is_ready(self) -> bool:
        """A snapshot alone is not the present: the log goes on after it."""
        return self._answered > 0 and 0 <= self.follower.high_watermark <= self.follower.applied

    @property
    def is_current(self) -> bool:
        """Whether the leader served the log a moment ago."""
        return self._error is None and time.monotonic() - self._answered_at < STALE

    @property
    def is_read(self) -> bool:
        """Whether everything that was committed a moment ago can be taken."""
        with self._changed:
            return self.is_current and self._is_ready()

    @property
    def applied(self) -> int:
        return self.follower.applied

    def take(self) -> list[Revision]:
        """What was committed since the last call, with records that set a value to what it was."""
        with self._changed:
            found, self._revisions = self._revisions, []
            return found

    def take_all(self) -> tuple[Snapshot, list[Revision]]:
        """The whole state, without the revisions of last changes, and what can be taken up to it."""
        with self._changed:
            image = self.follower.image
            configs: dict[Resource, Overrides] = {each: dict(values) for each, values in image.configs.items()}
            snapshot = Snapshot.of(self.follower.applied - 1, Map(image.topics), Map(configs), Map())
            return snapshot, self.take()

    def wait_for(self, expected: ExpectedChanges, timeout: float) -> bool:
        """Wait until the revisions that can be taken are enough, or a fetch sent from now on was answered."""
        with self._changed:
            bound = self._sent
            self._changed.wait_for(
                lambda: expected.are_in(self._revisions) or self._answered > bound or self._closed, timeout
            )
            return expected.are_in(self._revisions)

    def begin_requests(self, resources: Collection[Resource]) -> None:
        """The log has every change in its place, whoever made it."""

    def end_requests(self, resources: Collection[Resource]) -> None:
        """See `begin_requests`."""

    def shown(self, change: Change) -> str | None:
        return requested_value(change)

    def unshown(self) -> str | None:
        log.info("an acknowledged change differs from the request in the metadata log")
        return None

    def is_untouched(self, intent: Intent) -> bool:
        """The log would have shown it."""
        return True

    def take_image(self) -> tuple[int, dict[str, Any], list[Revision]]:
        """The image as JSON with its offset, and what can be taken up to it."""
        with self._changed:
            checkpoint = self.follower.checkpoint(self._cluster)
            return checkpoint.offset, checkpoint.to_json(), self.take()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(STEP_TIMEOUT)

    def _run(self) -> None:
        while not self._closed and self.problem is None:
            try:
                self._step()
            except KconfError as error:
                self._failed(error)
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
            found, was_current = len(self._revisions), self.is_current
            for event in self.follower.receive(reply):
                if isinstance(event, LogChanges):
                    self._revisions += event.revisions
                elif isinstance(event, LogGap):
                    self.gaps += 1
                    log.warning(
                        "part of the metadata log was deleted before it was read from=%d to=%d", event.begin, event.end
                    )
                    self._revisions.append(gap_revision(event))
                elif isinstance(event, LogReset):
                    self.problem = StoreLost("the cluster was reformatted: use a new store for the gateway")
            if has_log(reply):
                self._answered, self._answered_at, self._error = number, time.monotonic(), None
            is_new = len(self._revisions) > found or (self.is_current and not was_current)
            self._changed.notify_all()
        if is_new or self.problem is not None:
            self.on_change()

    def _failed(self, error: KconfError) -> None:
        """The state stays as it is, stale, until the log can be read again."""
        with self._changed:
            is_new = str(self._error) != str(error)
            self._error = error
            self._changed.notify_all()
        if is_new:
            log.error("the metadata log cannot be read: %s", error)
        self.on_change()
        time.sleep(_RETRY)


def has_log(reply: Reply) -> bool:
    """Whether the leader has answered with the log. An election or a snapshot says nothing about its end."""
    fetched = reply.outcomes[None] if isinstance(reply, CallResult) else None
    return (
        isinstance(fetched, FetchedLog) and not fetched.error and fetched.snapshot is None and fetched.diverging is None
    )
