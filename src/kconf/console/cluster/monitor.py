"""Keeps the snapshot of one cluster current: by its change feed, by its metadata log, or by polling.

A change only determines what to read again: pages always show the values that the cluster returns for the monitor's
credential. If the cluster cannot be reached, the last snapshot remains, with its age and the error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from logging import getLogger
from threading import Event
from time import time
from typing import TYPE_CHECKING, Final

from kconf.console.cluster.events import ClusterEvent, Subscribers
from kconf.console.cluster.findings import read_findings
from kconf.console.cluster.history import HistoryIndex, read_index
from kconf.console.cluster.lake import read_lake
from kconf.console.cluster.reading import has_feed, read_all, read_changed
from kconf.console.cluster.snapshot import ClusterSnapshot, Feed, Status
from kconf.errors import ConfigurationError, KconfError
from kconf.operations.history.sources import LOG_ORIGIN, RecordedHistory, entries_of
from kconf.operations.history.wording import time_text
from kconf.util.threads.worker_thread import in_daemon_thread

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.model.journal import Revision
    from kconf.operations.history.sources import HistoryEntry
    from kconf.operations.target import Target

log = getLogger(__name__)

CALL_TIMEOUT: Final = 15.0  # seconds for one call to the cluster
_FIRST_BACKOFF: Final = 1.0
_LAST_BACKOFF: Final = 15.0
_LINGER: Final = 0.02  # seconds to wait for further changes before reading
_RECONNECT: Final = 10  # intervals after which a failed feed is tried again
_RESTED: Final = 10.0  # intervals between two reads of lake and journal files

_Changes = asyncio.Queue["Revision | KconfError"]


class ClusterMonitor:
    """`run` is one task for the lifetime of the monitor. `snapshot` may be read from any thread."""

    def __init__(self, target: Target, interval: float) -> None:
        self.target = target._replace(timeout=CALL_TIMEOUT)
        self.snapshot = ClusterSnapshot(interval=interval)
        self.subscribers = Subscribers()
        self._interval = interval
        self._answered = Event()

    def wait(self, timeout: float) -> ClusterSnapshot:
        """Wait until the cluster was read or found unreachable; returns the snapshot. Called from other threads."""
        self._answered.wait(timeout)
        return self.snapshot

    async def run(self) -> None:
        backoff = _FIRST_BACKOFF
        while True:
            began = time()
            try:
                await self._serve()
            except (KconfError, OSError, TimeoutError) as error:
                self._fail(str(error) or type(error).__name__)
            except Exception:  # a bug: pages show the error, and the monitor tries again
                log.exception("reading %s failed", self.target.name)
                self._fail("reading the cluster failed; see the log of the console")
            backoff = _FIRST_BACKOFF if time() - began > self._interval else min(2 * backoff, _LAST_BACKOFF)
            await asyncio.sleep(backoff)

    def _fail(self, text: str) -> None:
        since = self.snapshot.failed_since or int(time() * 1000)
        self._publish(replace(self.snapshot, status=Status.UNREACHABLE, error=text, failed_since=since))

    def _publish(self, snapshot: ClusterSnapshot, entries: Sequence[HistoryEntry] = ()) -> None:
        self.snapshot = snapshot
        self._answered.set()
        self.subscribers.publish(ClusterEvent(tuple(entries), snapshot))

    async def _serve(self) -> None:
        async with self.target.open_async() as admin:
            is_kconf = await has_feed(admin)
            async with self._feed(admin, is_kconf) as changes:
                self._publish(await read_all(admin, self.snapshot, is_kconf=is_kconf))
                await self._read_files()
                await self._keep(admin, changes, is_kconf)

    # -- changes -----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _feed(self, admin: AdminClient, is_kconf: bool) -> AsyncIterator[_Changes]:
        """A queue of revisions from now on; it stays empty if there is no feed."""
        changes = _Changes()
        feed = Feed.LIVE if is_kconf else Feed.LOG if self._can_follow else Feed.POLLED
        self.snapshot = replace(self.snapshot, feed=feed, feed_error="")
        pump = {Feed.LIVE: self._pump_feed, Feed.LOG: self._pump_log}.get(feed)
        if pump is None:
            yield changes
            return
        begun = asyncio.Event()
        task = asyncio.create_task(self._pumped(pump(admin, changes, begun), changes))
        waiting = asyncio.create_task(begun.wait())
        try:
            await asyncio.wait({task, waiting}, timeout=CALL_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
            yield changes
        finally:
            for each in (task, waiting):
                each.cancel()
            with suppress(asyncio.CancelledError):
                await task

    @property
    def _can_follow(self) -> bool:
        return self.target.has_controllers

    async def _pumped(self, work: Coroutine[None, None, None], changes: _Changes) -> None:
        try:
            await work
        except KconfError as error:
            changes.put_nowait(error)

    async def _pump_feed(self, admin: AdminClient, changes: _Changes, begun: asyncio.Event) -> None:
        async with admin.watch_changes() as watch:
            begun.set()
            async for revision in watch:
                changes.put_nowait(revision)

    async def _pump_log(self, _admin: AdminClient, changes: _Changes, begun: asyncio.Event) -> None:
        async with self.target.open_controllers_async() as controllers, controllers.follow() as log:
            begun.set()
            async for revision in log:
                changes.put_nowait(revision)

    async def _keep(self, admin: AdminClient, changes: _Changes, is_kconf: bool) -> None:
        """Read what changed; without a change for an interval, read everything."""
        rounds = 0
        while True:
            try:
                async with asyncio.timeout(self._interval):
                    first = await changes.get()
            except TimeoutError:
                rounds += 1
                self._publish(await read_all(admin, self.snapshot, is_kconf=is_kconf))
                if not is_kconf and rounds % _RESTED == 0:
                    await self._read_files()
                if self.snapshot.feed_error and rounds >= _RECONNECT:
                    return
                continue
            await asyncio.sleep(_LINGER)
            arrived = [first, *(changes.get_nowait() for _ in range(changes.qsize()))]
            for error in (each for each in arrived if isinstance(each, KconfError)):
                self._publish(replace(self.snapshot, feed=Feed.POLLED, feed_error=str(error)))
            await self._apply(admin, [each for each in arrived if not isinstance(each, KconfError)], is_kconf)

    async def _apply(self, admin: AdminClient, revisions: Sequence[Revision], is_kconf: bool) -> None:
        if not revisions:
            return
        changes = [change for each in revisions for change in each.changes]
        entries = [entry for each in revisions for entry in entries_of(each)]
        if self.snapshot.feed is Feed.LOG:
            # The log has no authors. Whether kconf made a change is known once its journal was read, if there is one.
            entries = [each._replace(is_from_log=True, origin=LOG_ORIGIN) for each in entries]
        snapshot = await read_changed(admin, self.snapshot, changes, is_kconf=is_kconf)
        if snapshot.history is not None and snapshot.history.source in (LOG_ORIGIN, "feed"):
            snapshot = replace(snapshot, history=snapshot.history.extended(entries))
        self._publish(snapshot, entries)
        if not is_kconf and self.target.context.journal is not None:
            await self._read_files()

    # -- recorded changes ----------------------------------------------------------------------------------------------

    async def _read_files(self) -> None:
        """Read the recorded changes, and the results of the last pipeline run."""
        history, error = self.snapshot.history, ""
        try:
            history = await in_daemon_thread(lambda: read_index(self.target))
        except ConfigurationError as failure:
            history, error = self._own_record(), str(failure)
        except (KconfError, OSError) as failure:
            error = str(failure)
        if history is not None and self.target.credential is not None:
            history = history.shown_by(self.snapshot.state)
        lake = await in_daemon_thread(lambda: read_lake(self.target, self.snapshot.state.cluster))
        findings = await in_daemon_thread(lambda: read_findings(self.target, self.snapshot))
        found = replace(self.snapshot, history=history, history_error=error, lake=lake, findings=findings)
        self._publish(found)

    def _own_record(self) -> HistoryIndex | None:
        """The changes that the console itself has seen in the metadata log; None if it does not follow one."""
        if self.snapshot.feed is not Feed.LOG:
            return None
        if self.snapshot.history is not None:
            return self.snapshot.history
        note = f"changes since {time_text(int(time() * 1000))} UTC, when the console began to follow the metadata log"
        return HistoryIndex.of(RecordedHistory(LOG_ORIGIN, self.snapshot.state.cluster, [], [note]))
