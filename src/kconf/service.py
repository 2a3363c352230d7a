"""The one writer: plan -> commit -> apply. Read this file first.

A request that changes something hands in a planner, a pure function of the state. Planners that wait together are
called one after the other on the growing snapshot, their changes are committed in one transaction, and only then does
the new snapshot become visible and every caller get its answer. Reads take `state` once and never wait. What the rest
of the process remembers (answers, log lines) hears of every commit through `subscribe`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from logging import getLogger
from time import perf_counter, time
from typing import Any, Generic, NamedTuple, TypeVar

from kconf.configdef.catalog import Catalog
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import (
    ChangeTooLarge,
    RevisionConflict,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)
from kconf.model.journal import RequestContext, Revision
from kconf.model.plan import PendingCommit, Plan
from kconf.model.resource import Overrides, Resource
from kconf.model.snapshot import Snapshot
from kconf.store.base import Store

log = getLogger(__name__)

T = TypeVar("T")

MOST_PLANS = 512  # in one transaction
_LOOKS = 4  # turns of the loop that a transaction waits for as many callers as the last one had
_TURN = 0.005  # seconds of planning before others get their turn
MOST_TRIES = 50  # for a plan whose guards keep breaking


@dataclass(frozen=True, slots=True)
class State:
    """What is visible at one moment: a snapshot, and the broker levels that follow from it."""

    snapshot: Snapshot
    ladder: ConfigResolver


Planner = Callable[[State], Plan[T]]
Listener = Callable[[Sequence[Revision]], None]


@dataclass(slots=True)
class _Job(Generic[T]):
    planner: Planner[T]
    caller: RequestContext
    done: asyncio.Future[T]
    tries: int = 0


class _Planned(NamedTuple):
    job: _Job[Any]
    outcome: Any
    draft: int | None  # its place in the transaction; None: there is nothing to commit


class Service:
    """Owns the state of this process. Used from its event loop only; the store has a thread of its own."""

    def __init__(
        self,
        store: Store,
        *,
        node_id: int,
        catalog: Catalog,
        static: Overrides,
        beside: Callable[[], Catalog] | None = None,
        read_only: bool = False,
        clock: Callable[[], float] = time,
    ) -> None:
        self.store = store
        self.node_id = node_id
        self.state = State(Snapshot.EMPTY, ConfigResolver(catalog, static, {}, {}))
        self.commits = 0
        self.changes = 0
        self.followed = 0  # revisions that others made
        self.failed_commits = 0
        self.writable = not read_only  # as the last commit found it
        self._alone, self._beside = catalog, beside  # the keys; and those of real brokers, while there are any
        self._read_only = read_only
        self._others = False  # whether other servers may have committed something
        self._clock = clock
        self._latest = 0  # the time of the last revision
        self._listeners: list[Listener] = []
        self._jobs: deque[_Job[Any]] = deque()
        self._under_way: list[_Planned] = []
        self._closed = False
        self._loop: asyncio.AbstractEventLoop
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "kconf-store")
        self._writer: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Load the state, and begin to take changes and to follow those of other servers."""
        self._loop = asyncio.get_running_loop()
        self.store.on_change(self._woken)
        snapshot = await self._in_thread(self.store.load)
        self.state = self._after(self.state, snapshot)
        last = await self._in_thread(lambda: self.store.changes(snapshot.revision - 1, 1))
        self._latest = last[0].time if last else 0
        self._writer = asyncio.create_task(self._write(), name="service writer")
        self._writer.add_done_callback(self._write_ended)

    async def stop(self) -> None:
        """Take no more changes, commit what is waiting, then close the store."""
        self._closed = True
        self._wake.set()
        if self._writer is not None:
            await asyncio.gather(self._writer, return_exceptions=True)
        await self._in_thread(self.store.close)
        self._thread.shutdown()

    def subscribe(self, listener: Listener) -> None:
        """Hear of every committed revision, after it became visible and before its caller is answered."""
        self._listeners.append(listener)

    def dry_run(self, planner: Planner[T]) -> T:
        """`validate_only`: plan without the rest."""
        return planner(self.state).outcome

    async def change(self, planner: Planner[T], caller: RequestContext) -> T:
        """Plan, commit and apply; returns the outcome once it is durable and visible.

        Who is cancelled here only stops waiting: the change is made all the same.
        """
        if self._read_only:
            raise StoreReadOnly("this server is read-only")
        if self._closed:
            raise StoreUnavailable("the server is stopping")
        job: _Job[T] = _Job(planner, caller, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._wake.set()
        return await job.done

    async def _write(self) -> None:
        while self._jobs or not self._closed:
            await self._wake.wait()
            self._wake.clear()
            await self._apply_remote()
            while self._jobs:
                await self._linger()
                await self._commit_batch()

    def _woken(self) -> None:
        """The store says, from a thread of its own, that other servers may have committed something."""

        def listen() -> None:
            self._others = True
            self._wake.set()

        with suppress(RuntimeError):  # the loop has ended, and nobody listens any more
            self._loop.call_soon_threadsafe(listen)

    async def _apply_remote(self) -> None:
        """Apply what other servers have committed."""
        if self._others and not self._closed:
            self._others = False
            try:
                news = await self._in_thread(self.store.poll_remote)
            except Exception:  # as in `_commit_batch`: a store's bug is never the writer's end
                log.exception("what others have changed cannot be read")
                return
            self.writable = (self.writable or self.store.is_reachable) and not self._read_only
            self.state = self._after(self.state, self.state.snapshot)
            if news:
                self.followed += len(news)
                self._apply(news, None)

    async def _linger(self) -> None:
        """Who was answered together often asks again together: look around before the next transaction.

        Without it the first of eight callers would get a transaction alone, and the other seven the one after.
        """
        for _ in range(_LOOKS):
            if len(self._jobs) >= len(self._under_way):
                return
            await asyncio.sleep(0)

    def _write_ended(self, writer: asyncio.Task[None]) -> None:
        """Only a bug ends the writer early. Reads go on; who waits for a change is told, and so is everyone after."""
        self._closed = True
        if not writer.cancelled() and (error := writer.exception()) is not None:
            log.critical("the writer has failed, nothing can be changed any more", exc_info=error)
            self.writable = False
            waiting = [each.job for each in self._under_way] + list(self._jobs)
            self._fail(waiting, StoreUnavailable("the writer has failed"))

    async def _commit_batch(self) -> None:
        """One transaction: plan all that wait, commit them together, make them visible, answer."""
        drafts, final = await self._plan()
        try:
            revisions, news = await self._in_thread(lambda: self._commit(drafts)) if drafts else ((), ())
        except StoreError as error:
            if self.writable:  # told once: while the keeper is away, thousands of callers may come and go
                log.error("a commit failed: %s; changes are refused until one can be kept", error)
            self._commit_failed(error)
            return
        except Exception:  # a store's bug is its callers' answer, never the writer's end
            log.exception("a commit failed unexpectedly")
            self._commit_failed(StoreUnavailable("the store failed"))
            return
        self.writable = self.writable or bool(drafts)
        committed = [each for each in revisions if isinstance(each, Revision)]
        if committed:
            self.commits += 1
            self.changes += sum(len(revision.changes) for revision in committed)
        if news:
            self.followed += len(news)
            self._apply(sorted([*committed, *news], key=lambda each: each.number), None)
        elif committed:
            self._apply(committed, final)
        self._answer(revisions)

    def _commit(
        self, drafts: Sequence[PendingCommit]
    ) -> tuple[Sequence[Revision | RevisionConflict], Sequence[Revision]]:
        """In the store's thread: commit, and take what others committed before that."""
        return self.store.commit(drafts), self.store.poll_remote()

    async def _plan(self) -> tuple[list[PendingCommit], State]:
        """Fill `_under_way`, each plan made on the state that the one before it leaves."""
        state = self.state
        now = self._latest = max(self._latest, self.now())  # a clock that is put back does not put the journal back
        planned = self._under_way = []
        drafts: list[PendingCommit] = []
        turn = perf_counter() + _TURN
        while self._jobs and len(planned) < MOST_PLANS:
            job = self._jobs.popleft()
            try:
                plan = job.planner(state)
                if plan.changes:
                    snapshot = state.snapshot.apply(plan.changes, state.snapshot.revision + 1)
                    state = self._after(state, snapshot)
            except Exception as error:  # a planner's bug is its caller's answer, never the writer's end
                self._fail([job], error)
                continue
            planned.append(_Planned(job, plan.outcome, len(drafts) if plan.changes else None))
            if plan.changes:
                drafts.append(PendingCommit(job.caller, now, plan.changes, plan.guards))
            if perf_counter() > turn:
                await asyncio.sleep(0)
                turn = perf_counter() + _TURN
        return drafts, state

    def _answer(self, revisions: Sequence[Revision | RevisionConflict]) -> None:
        """Tell the outcomes. Where another server was faster: plan again on what it left.

        A refusal without changes may rest on an earlier plan of the group that was lost, so it is planned again too.
        """
        lost = False
        for job, outcome, draft in self._under_way:
            answer = None if draft is None else revisions[draft]
            conflict = isinstance(answer, RevisionConflict)
            lost = lost or conflict
            if isinstance(answer, ChangeTooLarge):
                self._fail([job], answer)
            elif conflict or (lost and draft is None):
                self._retry(job)
            elif not job.done.done():
                job.done.set_result(outcome)

    def _retry(self, job: _Job[Any]) -> None:
        job.tries += 1
        if job.tries >= MOST_TRIES:
            self._fail([job], StoreUnavailable("too many others are changing the same resource"))
        else:
            self._jobs.append(job)

    def _apply(self, revisions: Sequence[Revision], final: State | None) -> None:
        """Make revisions visible. `final` is the state that they lead to, if they are what was planned."""
        if (
            final is not None
            and revisions[-1].number == final.snapshot.revision
            and len(revisions) == final.snapshot.revision - self.state.snapshot.revision
        ):
            self.state = final  # exactly what was planned
        else:
            snapshot = self.state.snapshot
            for revision in revisions:
                snapshot = snapshot.apply(revision.changes, revision.number)
            self.state = self._after(self.state, snapshot)
            self._latest = max(self._latest, revisions[-1].time)
        for listener in self._listeners:
            listener(revisions)

    def _commit_failed(self, error: StoreError) -> None:
        self.failed_commits += 1
        self.writable = False
        self._fail((each.job for each in self._under_way), error)

    def _fail(self, jobs: Iterable[_Job[Any]], error: Exception) -> None:
        for job in jobs:
            if not job.done.done():  # its caller may have gone
                job.done.set_exception(error)

    def _after(self, state: State, snapshot: Snapshot) -> State:
        """The ladder is kept while the broker levels and the catalog are the same objects."""
        ladder = state.ladder
        catalog = self._alone
        if self._beside is not None and self.store.members.brokers:
            catalog = self._beside()
        everywhere = snapshot.overrides(Resource.brokers())
        here = snapshot.overrides(Resource.broker(self.node_id))
        if everywhere is not ladder.everywhere or here is not ladder.here or catalog is not ladder.catalog:
            ladder = ConfigResolver(catalog, ladder.static, everywhere, here)
        return State(snapshot, ladder)

    def now(self) -> int:
        """Milliseconds since 1970, by the service's clock."""
        return int(self._clock() * 1000)

    async def in_store(self, work: Callable[[Store], T]) -> T:
        """Do something to the store in its own thread, between two commits."""
        return await self._in_thread(lambda: work(self.store))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
