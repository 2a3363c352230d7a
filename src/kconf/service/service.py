"""The single writer of a process: plan, check, commit, apply. Read this file first.

    plan     a planner is a pure function of the state; waiting planners are called one after the other, each on the
             snapshot that results from the previous one
    check    the policies check the plan: rules inside it, Python classes after it, in their own thread
             (server/policy/policy_check.py)
    commit   the changes of all plans, in one transaction of the store
    apply    the new snapshot becomes visible, subscribers are notified, and every caller gets its outcome

A dry run is only plan and check. Reads take `state` once and never wait. A large request is planned before the writer
gets it, in slices (util/slice_scheduler.py), so that it does not delay other changes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from logging import getLogger
from time import perf_counter, time
from typing import Any, TypeVar

from kconf.configdef.catalog import Catalog
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.policy.hooks import NO_POLICY, PolicyHooks
from kconf.engine.policy.plan_check import PlanCheck, Policy
from kconf.errors import (
    ChangeTooLarge,
    JournalTrimmed,
    RevisionConflict,
    StaleState,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)
from kconf.model.journal import RequestContext, Revision
from kconf.model.plan import PendingCommit, Plan, Refusals
from kconf.model.resource import Overrides
from kconf.model.snapshot import Snapshot
from kconf.service.job import Job, Outdated, PlannedJob, check_size
from kconf.service.state import Planner, State, StateFactory
from kconf.store.base import PassedOn, SingleServerMixin, Store
from kconf.util.journal_clock import JournalClock
from kconf.util.slice_scheduler import is_sliced
from kconf.util.threads.call_thread import CallThread

log = getLogger(__package__)

T = TypeVar("T")
Subscriber = Callable[[Sequence[Revision]], None]

MAX_BATCH = 512  # maximum number of plans in one transaction
_LINGER_TURNS = 4  # iterations of the event loop to wait for as many callers as in the last transaction
_MAX_TURN = 0.005  # seconds of planning before other tasks may run
MAX_ATTEMPTS = 50  # for a plan with repeated conflicts


class Service:
    """Owns the state of this process. Used from its event loop only; the store has its own thread."""

    def __init__(
        self,
        store: Store,
        *,
        node_id: int,
        catalog: Catalog,
        static: Overrides,
        broker_catalog: Callable[[], Catalog] | None = None,
        read_only: bool = False,
        ignore_broker_configs: bool = False,
        clock: Callable[[], float] = time,
    ) -> None:
        self.store = store
        self.node_id = node_id
        self.can_be_stale = not isinstance(store, SingleServerMixin)
        self._states = StateFactory(
            store, node_id, catalog, static, broker_catalog, ignore_broker_configs=ignore_broker_configs
        )
        self.state = State(Snapshot.EMPTY, self._states.own_configs)
        self.commits = 0
        self.changes = 0
        self.remote_revisions = 0  # committed by other servers
        self.failed_commits = 0
        self.writable = not read_only  # result of the last commit
        self._read_only = read_only
        self._remote_changed = False  # set when other servers may have committed
        self._generation = 0  # the store's generation at the last poll
        self._clock = JournalClock(clock)
        self._subscribers: list[Subscriber] = []
        self._jobs: deque[Job[Any]] = deque()
        self._batch: list[PlannedJob] = []
        self._closed = False
        self._loop: asyncio.AbstractEventLoop
        self._wake = asyncio.Event()
        self._thread = CallThread("kconf-store")
        self._writer: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Load the state, accept changes, and apply those of other servers."""
        self._loop = asyncio.get_running_loop()
        self.store.on_change(self._store_changed)
        snapshot = await self._thread.run(self.store.load)
        self.state = self._states.after(self.state, snapshot)
        self._generation = self.store.polled_generation
        with suppress(JournalTrimmed):
            last = await self._thread.run(lambda: self.store.changes(snapshot.revision - 1, 1))
            self._clock.latest = last[0].time if last else 0
        self._writer = asyncio.create_task(self._write(), name="service writer")
        self._writer.add_done_callback(self._writer_ended)

    async def stop(self) -> None:
        """Stop accepting changes, commit the waiting ones, and close the store."""
        self._closed = True
        self._wake.set()
        if self._writer is not None:
            await asyncio.gather(self._writer, return_exceptions=True)
        await self._thread.run(self.store.close)
        self._thread.close()

    @property
    def is_writing(self) -> bool:
        """Whether changes wait or are being committed."""
        return bool(self._jobs) or self._thread.is_busy

    @property
    def settings(self) -> ConfigResolver:
        """The configs of this process. A gateway's state has other ones: those of the brokers."""
        return self.state.resolver if self.store.brokers_static is None else self._states.own_configs

    def stored_resolver(self, state: State) -> ConfigResolver:
        """The resolver with the stored broker configs, even if they are ignored."""
        return self._states.stored_resolver(state)

    @property
    def is_stale(self) -> bool:
        """Whether changes by other servers may be missing: the store is unreachable, or not read since it was."""
        store = self.store
        return not store.is_reachable or store.generation != self._generation

    def subscribe(self, subscriber: Subscriber, *, first: bool = False) -> None:
        """Call `subscriber` for every commit, when it is visible and before its caller gets the outcome."""
        self._subscribers.insert(0 if first else len(self._subscribers), subscriber)

    async def submit(
        self,
        planner: Planner[T],
        context: RequestContext,
        policy: Policy | None = None,
        *,
        validate_only: bool = False,
    ) -> T:
        """Plan, check, commit and apply. Returns the outcome when it is durable and visible.

        With `validate_only`, plan and check only. Cancelling the caller does not cancel a change that is being
        committed. Raises StoreError.
        """
        if not validate_only:
            self.check_writable()
        check = None if policy is None else policy.check(context, validate_only=validate_only)
        if check is None and validate_only:
            return await self._dry_run(planner, NO_POLICY, context)
        if check is None:
            return await self._enqueue(planner, context)
        try:
            return await self._submit_checked(planner, context, check, validate_only)
        finally:
            check.close()

    async def _submit_checked(
        self, planner: Planner[T], context: RequestContext, check: PlanCheck, validate_only: bool
    ) -> T:
        """Evaluate pending policy checks and plan again, until a plan without pending checks is committed."""
        await check.prepare()
        preview = check.needs_preview
        while True:
            if preview:
                planner(self.state, check.hooks())
            if not check.is_pending:
                if validate_only:
                    outcome = await self._dry_run(planner, check.hooks(), context)
                else:
                    outcome = await self._enqueue(planner, context, check)
                if not check.is_pending:
                    check.committed()
                    return outcome
            preview = await check.resolve()

    async def _dry_run(self, planner: Planner[T], hooks: PolicyHooks, context: RequestContext) -> T:
        plan = planner(self.state, hooks)
        check_size(plan)
        if self.store.brokers_static is None or not plan.operations:
            return plan.outcome
        self._check_current()
        pending = PendingCommit(context, self.now(), plan.changes, plan.guards, plan.operations, plan.unchanged)
        return self._revised(plan, await self._call_store(lambda: self.store.validate(pending)))

    def _enqueue(self, planner: Planner[T], context: RequestContext, check: PlanCheck | None = None) -> Awaitable[T]:
        """Pass a change to the writer. A plan with pending policy checks is not committed."""
        if is_sliced():
            return self._enqueue_large(planner, context, check)
        return self._queued(Job(planner, context, check, asyncio.get_running_loop().create_future()))

    async def _enqueue_large(self, planner: Planner[T], context: RequestContext, check: PlanCheck | None) -> T:
        """Like `_enqueue`, but plans here, in the caller's slices. Without changes, the writer is not involved."""
        for _ in range(MAX_ATTEMPTS):
            state = self.state
            job: Job[T] = Job(planner, context, check, asyncio.get_running_loop().create_future())
            plan = job.plan(state)
            if not self._is_committed(plan) or (check is not None and check.is_pending):
                return plan.outcome
            job.early = state, plan
            try:
                return await self._queued(job)
            except Outdated:
                continue
        raise StoreUnavailable("too many concurrent changes to the same resources")

    def _queued(self, job: Job[T]) -> asyncio.Future[T]:
        self.check_writable()
        self._jobs.append(job)
        self._wake.set()
        return job.done

    def check_writable(self) -> None:
        """Raise an error if changes cannot be submitted now."""
        if self._read_only:
            raise StoreReadOnly("this server is read-only")
        if self._closed:
            raise StoreUnavailable("the server is stopping")
        self._check_current()

    def _check_current(self) -> None:
        """Raise an error if a gateway's state may be stale: it then sends nothing to its cluster."""
        if self.store.brokers_static is not None and not self.store.is_reachable:
            raise StaleState(self.store.stale_reason)

    async def _write(self) -> None:
        while self._jobs or not self._closed:
            await self._wake.wait()
            self._wake.clear()
            await self._apply_remote()
            while self._jobs:
                await self._linger()
                await self._commit_batch()

    def _store_changed(self) -> None:
        """Called from the store's thread when other servers may have committed something."""

        def wake() -> None:
            self._remote_changed = True
            self._wake.set()

        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(wake)

    async def _apply_remote(self) -> None:
        """Apply the revisions of other servers."""
        if self._remote_changed and not self._closed:
            self._remote_changed = False
            try:
                remote = await self._call_store(self.store.poll_remote)
            except StoreError as error:
                log.error("cannot read the changes by other servers: %s", error)
                return
            self.writable = (self.writable or self.store.is_reachable) and not self._read_only
            self.state = self._states.after(self.state, self.state.snapshot)
            if remote:
                self.remote_revisions += len(remote)
                self._apply(remote, None)
            self._generation = self.store.polled_generation

    async def _linger(self) -> None:
        """Wait a few iterations of the event loop, since callers of one transaction often return together.

        Otherwise the first of eight callers would get its own transaction, and the other seven the next one.
        """
        for _ in range(_LINGER_TURNS):
            if len(self._jobs) >= len(self._batch):
                return
            await asyncio.sleep(0)

    def _writer_ended(self, writer: asyncio.Task[None]) -> None:
        """The writer has failed because of a bug. Reads continue; waiting and later changes fail."""
        self._closed = True
        if not writer.cancelled() and (error := writer.exception()) is not None:
            log.critical("the writer failed; no further changes are possible", exc_info=error)
            self.writable = False
            waiting = [each.job for each in self._batch] + list(self._jobs)
            self._fail(waiting, StoreUnavailable("the writer has failed"))

    async def _commit_batch(self) -> None:
        """Run one transaction: plan all waiting jobs, commit them together, apply them, return the outcomes."""
        commits, final = await self._plan()
        try:
            revisions, remote = await self._call_store(lambda: self._commit(commits)) if commits else ((), ())
        except StoreError as error:
            if self.writable:  # logged once, since thousands of requests may fail while the store is unavailable
                log.error("a commit failed: %s; changes are refused until the store accepts one", error)
            self._commit_failed(error)
            return
        self.writable = self.writable or bool(commits)
        committed = [each for each in revisions if isinstance(each, Revision)]
        if committed:
            self.commits += 1
            self.changes += sum(len(revision.changes) for revision in committed)
        if remote:
            self.remote_revisions += len(remote)
            self._apply(sorted([*committed, *remote], key=lambda each: each.number), None)
        elif committed:
            self._apply(committed, final)
        if commits:
            self._generation = self.store.polled_generation
        self._respond(revisions)

    def _commit(
        self, commits: Sequence[PendingCommit]
    ) -> tuple[Sequence[Revision | RevisionConflict | PassedOn], Sequence[Revision]]:
        """Commit, and read earlier revisions of other servers. Runs in the store's thread."""
        return self.store.commit(commits), self.store.poll_remote()

    async def _plan(self) -> tuple[list[PendingCommit], State]:
        """Fill `_batch`. Each plan is based on the state after the previous one."""
        state = self.state
        now = self._clock.next()
        batch = self._batch = []
        commits: list[PendingCommit] = []
        turn = perf_counter() + _MAX_TURN
        while self._jobs and len(batch) < MAX_BATCH:
            job = self._jobs.popleft()
            try:
                plan = job.plan(state)
                if job.check is not None and job.check.is_pending:
                    self._set_outcome(job, plan.outcome)  # not committed: see `submit`
                    continue
                if plan.changes:
                    snapshot = state.snapshot.apply(plan.changes, state.snapshot.revision + 1)
                    state = self._states.after(state, snapshot)
            except Exception as error:  # a bug in a planner fails its caller, not the writer
                self._fail([job], error)
                continue
            is_committed = self._is_committed(plan)
            batch.append(PlannedJob(job, plan, len(commits) if is_committed else None))
            if is_committed:
                commits.append(
                    PendingCommit(job.context, now, plan.changes, plan.guards, plan.operations, plan.unchanged)
                )
            if perf_counter() > turn:
                await asyncio.sleep(0)
                turn = perf_counter() + _MAX_TURN
        return commits, state

    def _is_committed(self, plan: Plan[Any]) -> bool:
        """Whether the store gets a plan. A gateway also sends what would change nothing: its state may be outdated."""
        return bool(plan.changes) or (self.store.brokers_static is not None and bool(plan.unchanged))

    def _respond(self, revisions: Sequence[Revision | RevisionConflict | PassedOn]) -> None:
        """Return the outcomes. After a conflict with another server, plan again on the new state.

        A refusal may depend on an earlier plan of the batch that had a conflict, so it is planned again too.
        """
        conflicts = False
        for job, plan, position in self._batch:
            result = None if position is None else revisions[position]
            conflict = isinstance(result, RevisionConflict)
            conflicts = conflicts or conflict
            if isinstance(result, ChangeTooLarge):
                self._fail([job], result)
            elif conflict or (conflicts and position is None):
                self._retry(job)
            elif isinstance(result, PassedOn):
                self._set_outcome(job, self._revised(plan, result.refusals))
            else:
                self._set_outcome(job, plan.outcome)

    def _revised(self, plan: Plan[T], refusals: Refusals) -> T:
        """The outcome of a plan that was sent to another cluster."""
        return plan.outcome if plan.revised is None else plan.revised(plan.outcome, refusals, self.state.snapshot)

    def _set_outcome(self, job: Job[Any], outcome: Any) -> None:
        if not job.done.done():  # the caller may have been cancelled
            job.done.set_result(outcome)

    def _retry(self, job: Job[Any]) -> None:
        job.attempts += 1
        if job.early is not None:
            self._fail([job], Outdated())
        elif job.attempts >= MAX_ATTEMPTS:
            self._fail([job], StoreUnavailable("too many concurrent changes to the same resource"))
        else:
            self._jobs.append(job)

    def _apply(self, revisions: Sequence[Revision], final: State | None) -> None:
        """Make revisions visible. `final` is the resulting state, if the revisions are exactly what was planned."""
        if (
            final is not None
            and revisions[-1].number == final.snapshot.revision
            and len(revisions) == final.snapshot.revision - self.state.snapshot.revision
        ):
            self.state = final  # exactly as planned
        else:
            snapshot = self.state.snapshot
            for revision in revisions:
                snapshot = snapshot.apply(revision.changes, revision.number)
            self.state = self._states.after(self.state, snapshot)
            self._clock.latest = revisions[-1].time
        for subscriber in self._subscribers:
            subscriber(revisions)

    def _commit_failed(self, error: StoreError) -> None:
        self.failed_commits += 1
        self.writable = False
        self._fail((each.job for each in self._batch), error)

    def _fail(self, jobs: Iterable[Job[Any]], error: Exception) -> None:
        for job in jobs:
            if not job.done.done():  # the caller may have been cancelled
                job.done.set_exception(error)

    def now(self) -> int:
        """Milliseconds since 1970, by the service's clock."""
        return self._clock.now()

    async def in_store(self, work: Callable[[Store], T]) -> T:
        """Call the store in its own thread, between two commits."""
        return await self._thread.run(lambda: work(self.store))

    async def _call_store(self, work: Callable[[], T]) -> T:
        """Call the store in its thread. Unexpected exceptions, which are bugs, become StoreError."""
        try:
            return await self._thread.run(work)
        except StoreError:
            raise
        except Exception:
            log.exception("the store failed unexpectedly")
            raise StoreUnavailable("the store failed") from None
