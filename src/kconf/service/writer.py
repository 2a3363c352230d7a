"""The only task that commits: it plans all waiting changes, commits them in one transaction, and applies them.

It also applies the revisions of other servers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from logging import getLogger
from time import monotonic, perf_counter
from typing import Any, Final, TypeVar

from kconf.errors import JournalTrimmed, OutcomeUnknown, StaleState, StoreError, StoreUnavailable
from kconf.model.journal import Revision
from kconf.service.batch import Batch, CommitResult
from kconf.service.current_state import CurrentState
from kconf.service.job import Job, Outdated
from kconf.service.state import State
from kconf.service.store_thread import StoreThread
from kconf.store.base import Store
from kconf.util.journal_clock import JournalClock

log = getLogger(__package__)

T = TypeVar("T")

MAX_BATCH: Final = 512  # maximum number of plans in one transaction
MAX_ATTEMPTS: Final = 50  # for a plan with repeated conflicts
_LINGER_TURNS: Final = 4  # iterations of the event loop to wait for as many callers as in the last transaction
_GRACE: Final = 2.0  # seconds after the deadline for the outcome of a change that is in flight
_LATE: Final = "the cluster has not responded to earlier changes in time"
_UNKNOWN: Final = "the cluster has not responded: whether the change was made is unknown; check before you try again"
_MAX_TURN: Final = 0.005  # seconds of planning before other tasks may run


@dataclass(slots=True)
class CommitCounts:
    """For metrics."""

    commits: int = 0
    changes: int = 0
    failed: int = 0
    remote_revisions: int = 0  # committed by other servers


class Writer:
    def __init__(self, current: CurrentState, store: StoreThread, clock: JournalClock, *, read_only: bool) -> None:
        self.counts = CommitCounts()
        self.writable = not read_only  # result of the last commit
        self.is_closed = False
        self.generation = 0  # the store's generation at the last poll
        self._current, self._store, self._clock, self._read_only = current, store, clock, read_only
        self._remote_changed = False  # set when other servers may have committed
        self._jobs: deque[Job[Any]] = deque()
        self._earlier: deque[Job[Any]] = deque()  # those that the next batch takes first
        self._batch: Batch | None = None  # the current one, or the last one
        self._loop: asyncio.AbstractEventLoop
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Load the state, and start the task."""
        self._loop = asyncio.get_running_loop()
        store = self._store.store
        store.on_change(self._store_changed)
        store.publish_to(self._published)
        snapshot = await self._store.run(lambda store: store.load())
        self._current.show(snapshot)
        self.generation = store.polled_generation
        with suppress(JournalTrimmed):
            last = await self._store.run(lambda store: store.changes(snapshot.revision - 1, 1))
            self._clock.latest = last[0].time if last else 0
        self._task = asyncio.create_task(self._run(), name="service writer")
        self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Commit the waiting changes. No more are accepted."""
        self.is_closed = True
        self._wake.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def has_waiting(self) -> bool:
        return bool(self._earlier or self._jobs)

    def submit(self, job: Job[T]) -> asyncio.Future[T | Outdated]:
        """Plan and commit a job. `Outdated` is the result only if the job has an early plan."""
        timeout = self._store.store.commit_timeout
        if timeout is not None:
            job.deadline = monotonic() + timeout
            timers = [self._loop.call_later(delay, self._expire, job) for delay in (timeout, timeout + _GRACE)]
            job.done.add_done_callback(lambda _: _cancel(timers))
        self._jobs.append(job)
        self._wake.set()
        return job.done

    def _expire(self, job: Job[Any]) -> None:
        """Fail a job before its client gives up. It is not sent anymore, unless it is in flight."""
        if job.is_waiting:
            job.fail(StaleState(_LATE))
        elif monotonic() > job.deadline + _GRACE / 2:
            has_begun = self._batch is not None and self._batch.has_begun(job)
            job.fail(OutcomeUnknown(_UNKNOWN) if has_begun else StaleState(_LATE))

    async def _run(self) -> None:
        while self.has_waiting or not self.is_closed:
            await self._wake.wait()
            self._wake.clear()
            await self._apply_remote()
            while self.has_waiting:
                await self._linger()
                await self._commit_batch()

    def _store_changed(self) -> None:
        """Called from the store's thread when other servers may have committed something."""

        def wake() -> None:
            self._remote_changed = True
            self._wake.set()

        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(wake)

    def _published(self, revisions: Sequence[Revision]) -> None:
        """Called from the store's thread with what others changed while a commit waits for another cluster."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._apply, revisions, [])

    async def _apply_remote(self) -> None:
        """Apply the revisions of other servers."""
        if self._remote_changed and not self.is_closed:
            self._remote_changed = False
            try:
                remote = await self._store.run_checked(lambda store: store.poll_remote())
            except StoreError as error:
                log.error("cannot read the changes by other servers: %s", error)
                return
            store = self._store.store
            self.writable = (self.writable or store.is_reachable) and not self._read_only
            self._current.show(self._current.state.snapshot)  # with the brokers that the store has now
            if remote:
                self._apply(remote, [])
            self.generation = store.polled_generation

    async def _linger(self) -> None:
        """Wait a few iterations of the event loop, since callers of one transaction often return together.

        Otherwise the first of eight callers would get its own transaction, and the other seven the next one.
        """
        last = 0 if self._batch is None else len(self._batch.planned)
        for _ in range(_LINGER_TURNS):
            if len(self._jobs) >= last:
                return
            await asyncio.sleep(0)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """The task has failed because of a bug. Reads continue; waiting and later changes fail."""
        self.is_closed = True
        if not task.cancelled() and (error := task.exception()) is not None:
            log.critical("the writer failed; changes are refused until the server is restarted", exc_info=error)
            self.writable = False
            planned = [] if self._batch is None else [each.job for each in self._batch.planned]
            for job in [*planned, *self._earlier, *self._jobs]:
                job.fail(StoreUnavailable("the writer has failed"))

    async def _commit_batch(self) -> None:
        """Run one transaction: plan the waiting jobs, commit them together, apply them, return the outcomes."""
        batch = await self._plan()
        results: Sequence[CommitResult] = ()
        remote: Sequence[Revision] = ()
        try:
            if batch.commits:
                results, remote = await self._store.run_checked(lambda store: _commit(store, batch))
        except StoreError as error:
            self._commit_failed(batch, error)
            return
        if batch.commits:
            if any(not isinstance(each, StaleState) for each in results):
                self.writable = True
            self._apply(remote, [each for each in results if isinstance(each, Revision)], batch.state)
            self.generation = self._store.store.polled_generation
        for job in reversed(batch.finish(results, self._current.state.snapshot)):
            self._retry(job)

    async def _plan(self) -> Batch:
        """Plan waiting jobs. Those that must wait for the next batch remain in order."""
        current = self._current
        batch = self._batch = Batch(self._store.store, current.states, current.state, self._clock.next())
        turn = perf_counter() + _MAX_TURN
        later: list[Job[Any]] = []
        try:
            while (jobs := self._earlier or self._jobs) and len(batch.planned) < MAX_BATCH:
                job = jobs.popleft()
                if job.is_answered:
                    continue
                if monotonic() >= job.deadline:
                    job.fail(StaleState(_LATE))
                elif batch.add(job):
                    job.is_waiting = False
                else:
                    later.append(job)
                if perf_counter() > turn:
                    await asyncio.sleep(0)
                    turn = perf_counter() + _MAX_TURN
        finally:
            self._earlier.extendleft(reversed(later))
        return batch

    def _commit_failed(self, batch: Batch, error: StoreError) -> None:
        if self.writable:  # logged once, since thousands of requests may fail while the store is unavailable
            log.error("a commit failed: %s; changes are refused until the store accepts one", error)
        self.counts.failed += 1
        self.writable = False
        for each in batch.planned:
            each.job.fail(error)

    def _retry(self, job: Job[Any]) -> None:
        """Plan a job again, before all others, after a conflict with another server."""
        job.attempts += 1
        if job.early is not None:
            job.finish(Outdated.OUTDATED)
        elif job.attempts >= MAX_ATTEMPTS:
            job.fail(StoreUnavailable("too many concurrent changes to the same resource"))
        else:
            job.is_waiting = True
            self._earlier.appendleft(job)

    def _apply(self, remote: Sequence[Revision], own: Sequence[Revision], planned: State | None = None) -> None:
        """Apply committed revisions. `planned` is the state after `own`, if there are no remote ones."""
        self.counts.remote_revisions += len(remote)
        if own:
            self.counts.commits += 1
            self.counts.changes += sum(len(revision.changes) for revision in own)
        if remote:
            own, planned = sorted([*own, *remote], key=lambda each: each.number), None
        if own:
            self._current.apply(own, planned)
            self._clock.latest = own[-1].time


def _cancel(timers: Iterable[asyncio.TimerHandle]) -> None:
    for each in timers:
        each.cancel()


def _commit(store: Store, batch: Batch) -> tuple[Sequence[CommitResult], Sequence[Revision]]:
    """Commit what is not too late, and read earlier revisions of other servers."""
    now = monotonic()
    begun = batch.begin(now)
    found = iter(store.commit(begun) if begun else ())
    results = [next(found) if now <= each.deadline else StaleState(_LATE) for each in batch.commits]
    return results, store.poll_remote()
