"""Follows the metadata log of a KRaft cluster and archives its changes, until it is stopped."""

from __future__ import annotations

import asyncio
import time
from logging import getLogger
from typing import TYPE_CHECKING, Final

from kconf.client.kraft.archive import IDLE_CHECKPOINT
from kconf.client.kraft.follower import LogChanges, LogGap
from kconf.errors import StoreUnavailable

if TYPE_CHECKING:
    from kconf.client.follow import Follow
    from kconf.client.kraft.archive import LogArchive

log = getLogger(__name__)

_MOST_WAITING: Final = 100_000  # revisions that may wait for a full disk; then reading stops
_STALE: Final = 10.0  # seconds without a response


class LogArchiver:
    """`interval`: the maximum number of seconds before a change is written to a file."""

    def __init__(self, follow: Follow, archive: LogArchive, cluster: str, interval: float) -> None:
        self.changes = 0
        self.gaps = 0
        self.failures = 0
        self.alarm: str | None = None
        self._follow, self._archive, self._cluster, self._interval = follow, archive, cluster, interval
        self._waits_since: float | None = None
        self._checkpointed = self._answered = time.monotonic()
        self._retry_at = 0.0

    @property
    def lag(self) -> int:
        """The number of committed offsets that are not archived yet; 0 while unknown."""
        return max(0, self._follow.follower.high_watermark - self._follow.follower.applied)

    @property
    def applied(self) -> int:
        return self._follow.follower.applied

    @property
    def archived(self) -> int:
        return self._archive.archived

    @property
    def segments(self) -> int:
        return self._archive.written

    @property
    def skipped(self) -> int:
        """The number of records of unknown types."""
        return sum(self._follow.follower.image.skipped.values())

    def health(self) -> dict[str, object]:
        is_stale = time.monotonic() - self._answered > _STALE
        return {
            "status": "stale" if is_stale else "alarm" if self.alarm else "ok",
            "cluster": self._cluster,
            "leader": str(self._follow.follower.leader or ""),
            "offset": self.applied,
            "lag": self.lag,
            "archive": self.alarm or "ok",
        }

    async def run(self, stopped: asyncio.Event) -> None:
        """Follow until `stopped` is set; then write the rest. Raises errors that retries cannot resolve."""
        waiting = asyncio.create_task(stopped.wait())
        try:
            while not stopped.is_set():
                if self._archive.waiting < _MOST_WAITING:
                    await self._step(waiting)
                else:
                    await asyncio.wait([waiting], timeout=1.0)
                self._flush_if_due()
        finally:
            waiting.cancel()
            if self._archive.waiting:
                self._flush()

    async def _step(self, stopped: asyncio.Task[bool]) -> None:
        step = asyncio.create_task(self._follow.step())
        await asyncio.wait([step, stopped], return_when=asyncio.FIRST_COMPLETED)
        if not step.done():
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)
            return
        events = step.result()
        if self._follow.follower.leader is not None:
            self._answered = time.monotonic()
        for event in events:
            if isinstance(event, LogChanges):
                self.changes += sum(len(each.changes) for each in event.revisions)
            elif isinstance(event, LogGap):
                self.gaps += 1
                log.warning(
                    "part of the metadata log was deleted before it was read from=%d to=%d", event.begin, event.end
                )
        self._archive.add(events)
        if self._archive.waiting and self._waits_since is None:
            self._waits_since = time.monotonic()

    def _flush_if_due(self) -> None:
        now = time.monotonic()
        is_due = self._waits_since is not None and now - self._waits_since >= self._interval
        if (is_due or now - self._checkpointed >= IDLE_CHECKPOINT) and now >= self._retry_at:
            self._flush()

    def _flush(self) -> None:
        try:
            self._archive.flush(self._follow.follower.checkpoint(self._cluster))
        except StoreUnavailable as error:
            self.failures += 1
            if self.alarm is None:
                log.error("%s", error)
            self.alarm = str(error)
            self._retry_at = time.monotonic() + 1.0
            return
        if self.alarm is not None:
            log.info("writing to the archive works again")
        self.alarm, self._waits_since = None, None
        self._checkpointed = time.monotonic()
