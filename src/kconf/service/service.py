"""The single writer of a process: plan, check, commit, apply. Read this file first.

    plan     a planner is a pure function of the state; waiting planners are called one after the other, each on the
             snapshot that results from the previous one (batch.py)
    check    the policies check the plan: rules inside it, Python classes after it, in their own thread
             (server/policy/policy_check.py)
    commit   the changes of all plans, in one transaction of the store (writer.py)
    apply    the new snapshot becomes visible, subscribers are notified (current_state.py), and every caller gets its
             outcome

A dry run is only plan and check. Reads take `state` once and never wait. A large request is planned before the writer
gets it, in slices (util/slice_scheduler.py), so that it does not delay other changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from math import inf
from time import monotonic, time
from typing import TypeVar

from kconf.configdef.catalog import Catalog
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.policy.hooks import NO_POLICY, PolicyHooks
from kconf.engine.policy.plan_check import PlanCheck, Policy
from kconf.errors import ConfigurationError, StaleState, StoreError, StoreReadOnly, StoreUnavailable
from kconf.model.journal import RequestContext
from kconf.model.resource import Overrides, Resource
from kconf.service.batch import is_committed
from kconf.service.current_state import CurrentState, Subscriber
from kconf.service.job import EarlyPlan, Job, Outdated, check_size, make_plan
from kconf.service.state import Planner, State, StateFactory
from kconf.service.store_thread import StoreThread
from kconf.service.validations import Validations
from kconf.service.writer import MAX_ATTEMPTS, CommitCounts, Writer
from kconf.store.base import Store
from kconf.util.journal_clock import JournalClock
from kconf.util.slice_scheduler import is_sliced

T = TypeVar("T")


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
        self._read_only = read_only
        self._states = StateFactory(
            store, node_id, catalog, static, broker_catalog, ignore_broker_configs=ignore_broker_configs
        )
        self._current = CurrentState(self._states)
        self._clock = JournalClock(clock)
        self._thread = StoreThread(store)
        self._validations = Validations(store.validate)
        self._writer = Writer(self._current, self._thread, self._clock, read_only=read_only)

    async def start(self) -> None:
        """Load the state, accept changes, and apply those of other servers."""
        await self._writer.start()

    async def stop(self) -> None:
        """Stop accepting changes, commit the waiting ones, and close the store."""
        await self._writer.stop()
        self._validations.close()
        await self._thread.close()

    @property
    def state(self) -> State:
        return self._current.state

    @property
    def settings(self) -> ConfigResolver:
        """The configs of this process. The state of a gateway contains those of the brokers instead."""
        return self.state.resolver if self.store.brokers_static is None else self._states.own_configs

    def stored_resolver(self, state: State) -> ConfigResolver:
        """The resolver with the stored broker configs, even if they are ignored."""
        return self._states.stored_resolver(state)

    @property
    def counts(self) -> CommitCounts:
        return self._writer.counts

    @property
    def writable(self) -> bool:
        """Whether the last commit succeeded."""
        return self._writer.writable

    @property
    def is_writing(self) -> bool:
        """Whether changes wait or are being committed."""
        return self._writer.has_waiting or self._thread.is_busy

    @property
    def is_stale(self) -> bool:
        """Whether changes by other servers may be missing: the store is unreachable, or was not read since then."""
        store = self.store
        return store.can_be_stale and (not store.is_reachable or store.generation != self._writer.generation)

    def subscribe(self, subscriber: Subscriber, *, first: bool = False) -> None:
        """Call `subscriber` for every commit, when it is visible and before its caller gets the outcome."""
        self._current.subscribe(subscriber, first=first)

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
            return await self._commit(planner, context)
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
                    outcome = await self._commit(planner, context, check)
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
        timeout = self.store.commit_timeout
        pending = plan.pending(context, self.now(), inf if timeout is None else monotonic() + timeout)
        refusals = await self._validations.run(pending, timeout)
        return plan.outcome_after(refusals, self.state.snapshot)

    async def refresh(self, resources: Collection[Resource]) -> None:
        """Read resources of another cluster that is polled, before a change of them is refused because of their state.

        Raises StoreError.
        """
        if not resources or self.store.polling is None:
            return
        try:
            async with asyncio.timeout(self.store.commit_timeout):
                await self._thread.run_checked(lambda store: store.refresh(resources))
        except TimeoutError:
            raise StaleState("the cluster has not responded in time") from None

    async def _commit(self, planner: Planner[T], context: RequestContext, check: PlanCheck | None = None) -> T:
        """Pass a change to the writer. A plan with pending policy checks is not committed.

        A large request is planned here, in the caller's slices. Without changes, the writer is not involved.
        """
        for _ in range(MAX_ATTEMPTS):
            early = None
            if is_sliced():
                state = self.state
                early = EarlyPlan(state, make_plan(planner, check, state))
                if not is_committed(early.plan, self.store) or (check is not None and check.is_pending):
                    return early.plan.outcome
            self.check_writable()
            done: asyncio.Future[T | Outdated] = asyncio.get_running_loop().create_future()
            outcome = await self._writer.submit(Job(planner, context, check, early, done))
            if not isinstance(outcome, Outdated):
                return outcome
        raise StoreUnavailable("too many concurrent changes to the same resources")

    def check_writable(self) -> None:
        """Raise an error if changes cannot be submitted now."""
        if self._read_only:
            raise StoreReadOnly("this server is read-only")
        if self._writer.is_closed:
            raise StoreUnavailable("the server is stopping")
        self._check_current()

    def _check_current(self) -> None:
        """Raise an error if a gateway's state may be stale or no broker responds: it then sends nothing."""
        if (reason := self.store.stale_reason) is not None:
            raise StaleState(reason)

    def now(self) -> int:
        """Milliseconds since 1970, by the service's clock."""
        return self._clock.now()

    async def in_store(self, work: Callable[[Store], T]) -> T:
        """Call the store in its own thread, between commits. Errors become StoreError, except ConfigurationError."""
        return await self._thread.run_checked(work, (StoreError, ConfigurationError))
