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
from dataclasses import dataclass
from logging import getLogger
from time import time
from typing import Any, Generic, TypeVar

from kconf.engine.resolve import Ladder
from kconf.errors import RevisionConflict, StoreError, StoreUnavailable
from kconf.keys.catalogue import Catalogue
from kconf.model.journal import Caller, Revision
from kconf.model.plan import Draft, Plan
from kconf.model.resource import Overrides, Resource
from kconf.model.snapshot import Snapshot
from kconf.store.base import Store

log = getLogger(__name__)

T = TypeVar("T")

MOST_PLANS = 512  # in one transaction
MOST_TRIES = 10  # for a plan whose guards keep breaking


@dataclass(frozen=True, slots=True)
class State:
    """What is visible at one moment: a snapshot, and the broker levels that follow from it."""

    snapshot: Snapshot
    ladder: Ladder


Planner = Callable[[State], Plan[T]]
Listener = Callable[[Sequence[Revision]], None]


@dataclass(slots=True)
class _Job(Generic[T]):
    planner: Planner[T]
    caller: Caller
    done: asyncio.Future[T]
    tries: int = 0


class Service:
    """Owns the state of this process. Used from its event loop only; the store has a thread of its own."""

    def __init__(
        self,
        store: Store,
        *,
        node_id: int,
        catalogue: Catalogue,
        static: Overrides,
        clock: Callable[[], float] = time,
    ) -> None:
        self.store = store
        self.node_id = node_id
        self.state = State(Snapshot.EMPTY, Ladder(catalogue, static, {}, {}))
        self.commits = 0
        self.changes = 0
        self._clock = clock
        self._listeners: list[Listener] = []
        self._jobs: deque[_Job[Any]] = deque()
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "kconf-store")
        self._writer: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Load the state and begin to take changes."""
        snapshot = await self._in_thread(self.store.load)
        self.state = self._state(snapshot)
        self._writer = asyncio.create_task(self._write(), name="service writer")

    async def stop(self) -> None:
        """Commit what is waiting, then close the store."""
        if self._writer is not None:
            while self._jobs:
                await asyncio.sleep(0.001)
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        await self._in_thread(self.store.close)
        self._thread.shutdown()

    def subscribe(self, listener: Listener) -> None:
        """Hear of every committed revision, after it became visible and before its caller is answered."""
        self._listeners.append(listener)

    def dry_run(self, planner: Planner[T]) -> T:
        """`validate_only`: plan without the rest."""
        return planner(self.state).outcome

    async def change(self, planner: Planner[T], caller: Caller) -> T:
        """Plan, commit and apply; returns the outcome once it is durable and visible."""
        job: _Job[T] = _Job(planner, caller, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._wake.set()
        return await job.done

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._jobs:
                await self._group()

    async def _group(self) -> None:
        """One transaction: plan all that wait, commit them together, make them visible, answer."""
        planned, drafts, final = self._plan()
        try:
            revisions = await self._in_thread(lambda: self.store.commit(drafts)) if drafts else ()
        except StoreError as error:
            log.error("commit failed: %s", error)
            self._fail((job for job, _, _ in planned), error)
            return
        except Exception:
            log.exception("the store failed unexpectedly")
            self._fail((job for job, _, _ in planned), StoreUnavailable("the store failed"))
            return
        committed = [each for each in revisions if isinstance(each, Revision)]
        if len(committed) < len(drafts):
            self._redo(planned, revisions)
        if committed:
            self._apply(committed, final)
        for job, plan, draft in planned:
            if not job.done.done() and (draft is None or not isinstance(revisions[draft], RevisionConflict)):
                job.done.set_result(plan.outcome)

    def _plan(self) -> tuple[list[tuple[_Job[Any], Plan[Any], int | None]], list[Draft], State]:
        state, now = self.state, int(self._clock() * 1000)
        planned: list[tuple[_Job[Any], Plan[Any], int | None]] = []
        drafts: list[Draft] = []
        while self._jobs and len(planned) < MOST_PLANS:
            job = self._jobs.popleft()
            if job.done.done():  # its caller has gone
                continue
            try:
                plan = job.planner(state)
            except Exception as error:  # a planner's bug is its caller's answer, never the writer's end
                job.done.set_exception(error)
                continue
            if not plan.changes:
                planned.append((job, plan, None))
                continue
            planned.append((job, plan, len(drafts)))
            drafts.append(Draft(job.caller, now, plan.changes, plan.guards))
            state = self._state(state.snapshot.apply(plan.changes, state.snapshot.revision + 1))
        return planned, drafts, state

    def _redo(self, planned: Iterable[tuple[_Job[Any], Plan[Any], int | None]], revisions: Sequence[object]) -> None:
        """Another server was faster: plan again on what it left."""
        for job, _, draft in planned:
            if draft is None or not isinstance(revisions[draft], RevisionConflict):
                continue
            job.tries += 1
            if job.tries >= MOST_TRIES:
                self._fail([job], StoreUnavailable("too many others are changing the same resource"))
            else:
                self._jobs.append(job)
        self._wake.set()

    def _apply(self, revisions: Sequence[Revision], final: State) -> None:
        if (
            revisions[-1].number == final.snapshot.revision
            and len(revisions) == final.snapshot.revision - self.state.snapshot.revision
        ):
            self.state = final  # exactly what was planned
        else:
            snapshot = self.state.snapshot
            for revision in revisions:
                snapshot = snapshot.apply(revision.changes, revision.number)
            self.state = self._state(snapshot)
        self.commits += 1
        self.changes += sum(len(revision.changes) for revision in revisions)
        for listener in self._listeners:
            listener(revisions)

    def _fail(self, jobs: Iterable[_Job[Any]], error: StoreError) -> None:
        for job in jobs:
            if not job.done.done():
                job.done.set_exception(error)

    def _state(self, snapshot: Snapshot) -> State:
        """The ladder is kept while the broker levels are the same objects."""
        ladder = self.state.ladder
        everywhere = snapshot.overrides(Resource.brokers())
        here = snapshot.overrides(Resource.broker(self.node_id))
        if everywhere is not ladder.everywhere or here is not ladder.here:
            ladder = Ladder(ladder.catalogue, ladder.static, everywhere, here)
        return State(snapshot, ladder)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
