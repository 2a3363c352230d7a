"""Follows the metadata log of a KRaft cluster with the SyncAdminClient: every committed change."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from kconf.client.kraft.follower import LogEvent, LogFollower
from kconf.client.kraft.revisions import STEP_TIMEOUT, RevisionQueue
from kconf.client.transport.requests import Backoff
from kconf.client.transport.selector.pool import SyncConnectionPool

if TYPE_CHECKING:
    from kconf.client.kraft.checkpoint import Checkpoint
    from kconf.client.settings import ClientSettings
    from kconf.model.journal import Revision


class Follow:
    """`for revision in follow`. Finds a new leader if the leader is lost. No revision is skipped or repeated.

    The number of a revision is its offset in the log. Entering `with` sets the start position if it is "from now on";
    leaving it closes the connections.
    """

    def __init__(self, settings: ClientSettings, after: int | Checkpoint | None, cluster: str | None) -> None:
        self.follower = LogFollower(
            settings.bootstrap.addresses, after=after, cluster=cluster, attempts=settings.retries.connect_attempts
        )
        self._pool = SyncConnectionPool(settings)
        self._queue = RevisionQueue(after)

    @property
    def after(self) -> int | None:
        """The offset from which to continue later, or None if the position is not known yet."""
        return self._queue.after

    def __enter__(self) -> Self:
        while self._queue.after is None:
            self.step()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._pool.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Revision:
        while not self._queue:
            self.step()
        return self._queue.pop()

    def take(self) -> list[Revision]:
        """The received revisions that are not taken yet."""
        return [self._queue.pop() for _ in range(len(self._queue))]

    def step(self) -> list[LogEvent]:
        """Send the next request and process its response, or wait before the next one."""
        step = self.follower.next_step()
        if isinstance(step, Backoff):
            time.sleep(step.seconds)
            return []
        (reply,) = self._pool.send_batch([step], time.monotonic() + STEP_TIMEOUT)
        events = self.follower.receive(reply)
        self._queue.add(events)
        return events
