"""Keeps the snapshot of one cluster current: by its change feed, by its metadata log, or by polling.

A change only determines what is read again. The values on pages are always those that the cluster returns for the
credential of the monitor. Everything is read again after each interval, however many changes arrive. If the cluster
cannot be reached, pages show the last snapshot with its age and the error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from logging import getLogger
from threading import Event
from time import time
from typing import TYPE_CHECKING, Final

from kconf.console.cluster.events import ClusterEvent, Subscribers
from kconf.console.cluster.feed import Arrivals, LogPosition, Touch, pumped
from kconf.console.cluster.history import is_shown
from kconf.console.cluster.reading import has_feed, read_all, read_changed, read_resources
from kconf.console.cluster.record import ClusterRecord
from kconf.console.cluster.snapshot import ClusterSnapshot, Feed, Status
from kconf.errors import AuthenticationFailed, KconfError
from kconf.model.journal import Revision
from kconf.operations.history.entries import LOG_ORIGIN, entries_of

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.model.resource import Resource
    from kconf.operations.history.entries import HistoryEntry
    from kconf.operations.target import Target

log = getLogger(__name__)

CALL_TIMEOUT: Final = 15.0  # seconds for one call to the cluster
_FIRST_BACKOFF: Final = 1.0
_LAST_BACKOFF: Final = 15.0
_LINGER: Final = 0.02  # seconds to collect further changes before resources are read again
_RECONNECT: Final = 10  # intervals after which a failed feed is retried
_RESTED: Final = 10  # intervals between two reads of the lake and of the findings of `kconf check`
_TOUCH_TIMEOUT: Final = 5.0  # seconds that a page waits until its own change has been read


class ClusterMonitor:
    """`run` is one task for the lifetime of the monitor. `snapshot` may be read from any thread."""

    def __init__(self, target: Target, interval: float) -> None:
        self.target = target._replace(timeout=CALL_TIMEOUT)
        self.snapshot = ClusterSnapshot(interval=interval)
        self.subscribers = Subscribers()
        self._interval = interval
        self._answered = Event()
        self._position = LogPosition()
        self._record = ClusterRecord(self.target, self._position)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._arrivals: Arrivals | None = None

    def wait(self, timeout: float) -> ClusterSnapshot:
        """Wait until the cluster has been read or is unreachable; returns the snapshot. Called from other threads."""
        self._answered.wait(timeout)
        return self.snapshot

    def touch(self, resources: Collection[Resource]) -> None:
        """Request that resources changed by the console are read again, and wait for it. Called from other threads.

        A feed may contain the change only a moment later, and the next page would show the old values.
        """
        loop, arrivals = self._loop, self._arrivals
        if loop is not None and arrivals is not None:
            touch = Touch(resources)
            loop.call_soon_threadsafe(arrivals.put_nowait, touch)
            touch.done.wait(_TOUCH_TIMEOUT)

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        backoff = _FIRST_BACKOFF
        while True:
            began = time()
            try:
                await self._serve()
            except (KconfError, OSError, TimeoutError) as error:
                self._fail(str(error) or type(error).__name__, is_refused=isinstance(error, AuthenticationFailed))
            except Exception:  # a bug: pages show the error, and the monitor tries again
                log.exception("reading %s failed", self.target.name)
                self._fail("reading the cluster failed; see the log of the console for the cause")
            finally:
                self._arrivals = None
            backoff = _FIRST_BACKOFF if time() - began > self._interval else min(2 * backoff, _LAST_BACKOFF)
            await asyncio.sleep(backoff)

    def _fail(self, text: str, *, is_refused: bool = False) -> None:
        since = self.snapshot.failed_since or int(time() * 1000)
        failed = replace(self.snapshot, status=Status.UNREACHABLE, error=text, failed_since=since)
        self._publish(replace(failed, is_refused=is_refused))

    def _publish(self, snapshot: ClusterSnapshot, entries: Sequence[HistoryEntry] = ()) -> None:
        changes = self.snapshot.changes + len(entries)
        self.snapshot = snapshot if snapshot.changes == changes else replace(snapshot, changes=changes)
        self._answered.set()
        self.subscribers.publish(ClusterEvent(tuple(entries), self.snapshot))

    async def _serve(self) -> None:
        async with self.target.open_async() as admin:
            is_kconf = await has_feed(admin)
            feed = Feed.LIVE if is_kconf else Feed.LOG if self.target.has_controllers else Feed.POLLED
            arrivals = Arrivals()
            async with pumped(feed, admin, self.target, self._position, arrivals, CALL_TIMEOUT):
                self._arrivals = arrivals
                before = replace(self.snapshot, feed=feed, feed_error="", is_kconf=is_kconf)
                snapshot = await read_all(admin, before, is_kconf=is_kconf)
                if snapshot.history is None:
                    self._publish(snapshot)  # pages show that the record has not been read yet
                self._publish(await self._record.with_everything(snapshot))
                await self._keep(admin, arrivals)

    async def _keep(self, admin: AdminClient, arrivals: Arrivals) -> None:
        """Read what has changed, and after each interval everything."""
        loop, rounds = asyncio.get_running_loop(), 0
        due = loop.time() + self._interval
        while True:
            try:
                async with asyncio.timeout_at(due):
                    first = await arrivals.get()
            except TimeoutError:
                rounds += 1
                await self._read_again(admin, with_everything=rounds % _RESTED == 0)
                if self.snapshot.feed_error and rounds >= _RECONNECT:
                    return
                due = loop.time() + self._interval
                continue
            await asyncio.sleep(_LINGER)
            arrived = [first, *(arrivals.get_nowait() for _ in range(arrivals.qsize()))]
            for error in (each for each in arrived if isinstance(each, KconfError)):
                self._publish(replace(self.snapshot, feed=Feed.POLLED, feed_error=str(error)))
            await self._apply(admin, [each for each in arrived if isinstance(each, Revision)])
            await self._reread(admin, [each for each in arrived if isinstance(each, Touch)])
            if loop.time() > due:
                await self._read_again(admin)
                due = loop.time() + self._interval

    async def _read_again(self, admin: AdminClient, *, with_everything: bool = False) -> None:
        snapshot = await read_all(admin, self.snapshot, is_kconf=self.snapshot.is_kconf)
        if with_everything and not snapshot.is_kconf:
            snapshot = await self._record.with_everything(snapshot)
        else:
            snapshot = await self._record.with_new_changes(snapshot)
        self._publish(snapshot)

    async def _apply(self, admin: AdminClient, revisions: Sequence[Revision]) -> None:
        """Read the changed resources again."""
        if not revisions:
            return
        changes = [change for each in revisions for change in each.changes]
        entries = [entry for each in revisions for entry in entries_of(each)]
        if self.snapshot.feed is Feed.LOG:
            # The log has no authors. Whether kconf made a change is known once its journal, if any, has been read.
            entries = [each._replace(is_from_log=True, origin=LOG_ORIGIN) for each in entries]
        snapshot = await read_changed(admin, self.snapshot, changes)
        if self.target.credential is not None and not snapshot.is_kconf:
            entries = [each for each in entries if is_shown(each.change.resource, snapshot.state)]
        if snapshot.history is not None and snapshot.history.source in (LOG_ORIGIN, "feed"):
            snapshot = replace(snapshot, history=snapshot.history.extended(entries))
        self._publish(await self._record.with_new_changes(snapshot), entries)

    async def _reread(self, admin: AdminClient, touches: Sequence[Touch]) -> None:
        """Read again what the console itself has changed."""
        if touches:
            resources = {resource for each in touches for resource in each.resources}
            snapshot = await read_resources(admin, self.snapshot, resources)
            self._publish(await self._record.with_new_changes(snapshot))
        for each in touches:
            each.done.set()
