"""The phases of the writer: plan, check and commit."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.policy.hooks import PolicyHooks
from kconf.errors import (
    ConfigurationError,
    OutcomeUnknown,
    RevisionConflict,
    StaleState,
    StoreReadOnly,
    StoreUnavailable,
    TooManyChanges,
)
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.plan import PendingCommit, Plan, Refusals
from kconf.model.resource import Overrides, Resource
from kconf.service import MAX_CHANGES, Planner, Service, State, writer
from kconf.service.job import Job
from kconf.service.validations import MAX_PER_PRINCIPAL
from kconf.store.base import Store
from kconf.store.memory import MemoryStore
from kconf.util.slice_scheduler import SliceScheduler

ADA = RequestContext("User:ada")
ORDERS = Resource.topic("orders")


@asynccontextmanager
async def running(*, read_only: bool = False) -> AsyncIterator[Service]:
    service = Service(MemoryStore(), node_id=1, catalog=kafka_43(), static={}, read_only=read_only)
    await service.start()
    yield service
    await service.stop()


def setting(value: str) -> Planner[str]:
    def plan(state: State, _hooks: PolicyHooks) -> Plan[str]:
        before = state.snapshot.overrides(ORDERS).get("k")
        return Plan(value, [Change(ChangeKind.CONFIG, ORDERS, "k", before, value, "set")])

    return plan


class Scripted:
    """A policy with one check, whose first `pending` plans need another call; it records its calls."""

    def __init__(
        self, pending: int = 0, *, preview: bool = False, moved: int = 0, meanwhile: Callable[[], Awaitable[object]]
    ) -> None:
        self.needs_preview = preview
        self.calls: list[str] = []
        self._pending, self._moved, self._meanwhile = pending, moved, meanwhile
        self.is_pending = False

    def check(self, context: RequestContext, *, validate_only: bool) -> Scripted:
        assert context == ADA
        return self

    async def prepare(self) -> None:
        self.calls.append("prepare")

    def hooks(self) -> PolicyHooks:
        self.calls.append("plan")
        self.is_pending = self._pending > 0
        self._pending -= 1
        return PolicyHooks()

    async def resolve(self) -> bool:
        self.calls.append("resolve")
        self.is_pending = False
        await self._meanwhile()
        self._moved -= 1
        return self._moved >= 0

    def committed(self) -> None:
        self.calls.append("committed")

    def close(self) -> None:
        self.calls.append("close")


async def nothing() -> None:
    pass


def test_a_dry_run_is_planned_and_not_committed() -> None:
    async def scene() -> None:
        async with running() as service:
            assert await service.submit(setting("1"), ADA, validate_only=True) == "1"
            assert service.state.snapshot.revision == 0
            assert service.counts.commits == 0

    asyncio.run(scene())


def test_a_read_only_server_refuses_a_change_before_calling_policies_and_allows_a_dry_run() -> None:
    async def scene() -> None:
        async with running(read_only=True) as service:
            policy = Scripted(meanwhile=nothing)
            with pytest.raises(StoreReadOnly):
                await service.submit(setting("1"), ADA, policy)
            assert policy.calls == []
            assert await service.submit(setting("1"), ADA, policy, validate_only=True) == "1"

    asyncio.run(scene())


@pytest.mark.parametrize("preview", [False, True])
@pytest.mark.parametrize("validate_only", [False, True])
def test_a_pending_plan_is_never_committed(preview: bool, validate_only: bool) -> None:
    async def scene() -> None:
        async with running() as service:

            async def look() -> None:
                assert service.state.snapshot.revision == 0

            policy = Scripted(2, preview=preview, meanwhile=look)
            assert await service.submit(setting("1"), ADA, policy, validate_only=validate_only) == "1"
            assert policy.calls == ["prepare", *["plan", "resolve"] * 2, "plan", "committed", "close"]
            assert service.state.snapshot.revision == (0 if validate_only else 1)

    asyncio.run(scene())


def test_a_change_that_had_to_wait_is_previewed_again_before_the_writer_plans_it() -> None:
    async def scene() -> None:
        async with running() as service:
            policy = Scripted(1, preview=True, moved=1, meanwhile=nothing)
            await service.submit(setting("1"), ADA, policy)
            assert policy.calls == ["prepare", "plan", "resolve", "plan", "plan", "committed", "close"]

    asyncio.run(scene())


def test_other_changes_are_committed_while_a_check_is_pending() -> None:
    async def scene() -> None:
        async with running() as service:
            policy = Scripted(1, meanwhile=lambda: service.submit(setting("other"), ADA))
            await service.submit(setting("checked"), ADA, policy)
            revisions = service.store.changes(0)
            assert [(each.changes[0].before, each.changes[0].after) for each in revisions] == [
                (None, "other"),
                ("other", "checked"),
            ]

    asyncio.run(scene())


def test_a_check_is_closed_when_its_planner_fails() -> None:
    def broken(_state: State, _hooks: PolicyHooks) -> Plan[None]:
        raise ZeroDivisionError

    async def scene() -> None:
        async with running() as service:
            policy = Scripted(meanwhile=nothing)
            with pytest.raises(ZeroDivisionError):
                await service.submit(broken, ADA, policy)
            assert policy.calls == ["prepare", "plan", "close"]

    asyncio.run(scene())


def test_subscribers_run_before_submit_returns_and_those_registered_as_first_before_the_others() -> None:
    async def scene() -> None:
        async with running() as service:
            seen: list[tuple[str, int]] = []

            def subscriber(name: str) -> Callable[[object], None]:
                return lambda _: seen.append((name, service.state.snapshot.revision))

            service.subscribe(subscriber("second"))
            service.subscribe(subscriber("first"), first=True)
            revisions: list[Revision] = []
            service.subscribe(revisions.extend)
            await service.submit(setting("1"), ADA)
            assert seen == [("first", 1), ("second", 1)]
            assert [each.number for each in revisions] == [1]

    asyncio.run(scene())


# -- large requests, which are planned in slices


class Slow(MemoryStore):
    """A store whose commits wait until they are released."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.released = threading.Event(), threading.Event()

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        self.entered.set()
        self.released.wait(30)
        return super().commit(batch)


@asynccontextmanager
async def slow() -> AsyncIterator[tuple[Service, Slow, asyncio.Task[str]]]:
    """A service that commits the value "first" until it is released."""
    store = Slow()
    service = Service(store, node_id=1, catalog=kafka_43(), static={})
    await service.start()
    first = asyncio.create_task(service.submit(guarded("first"), ADA))
    await asyncio.to_thread(store.entered.wait)
    yield service, store, first
    store.released.set()
    await service.stop()


def guarded(value: str, planned_on: list[str | None] | None = None) -> Planner[str]:
    def plan(state: State, _hooks: PolicyHooks) -> Plan[str]:
        before = state.snapshot.overrides(ORDERS).get("k")
        if planned_on is not None:
            planned_on.append(before)
        guards = {ORDERS: state.snapshot.changed.get(ORDERS, 0)}
        return Plan(value, [Change(ChangeKind.CONFIG, ORDERS, "k", before, value, "set")], guards)

    return plan


def test_a_large_request_without_changes_does_not_wait_for_the_commits_of_others() -> None:
    async def scene() -> None:
        async with slow() as (service, _, first):
            refused = service.submit(lambda *_: Plan("refused"), ADA)
            assert await SliceScheduler().run("User:ada", refused) == "refused"
            assert not first.done()

    asyncio.run(scene())


def test_a_large_plan_is_made_again_after_a_concurrent_commit() -> None:
    async def scene() -> None:
        async with slow() as (service, store, first):
            planned_on: list[str | None] = []
            large = asyncio.create_task(
                SliceScheduler().run("User:ada", service.submit(guarded("large", planned_on), ADA))
            )
            while not planned_on:
                await asyncio.sleep(0)
            store.released.set()
            assert list(await asyncio.gather(first, large)) == ["first", "large"]
            assert planned_on == [None, "first"]
            assert [each.changes[0].before for each in store.changes(0)] == [None, "first"]

    asyncio.run(scene())


def test_a_large_plan_without_concurrent_commits_is_made_once() -> None:
    async def scene() -> None:
        async with running() as service:
            planned_on: list[str | None] = []
            await SliceScheduler().run("User:ada", service.submit(guarded("large", planned_on), ADA))
            assert planned_on == [None]
            assert service.state.snapshot.overrides(ORDERS) == {"k": "large"}

    asyncio.run(scene())


@pytest.mark.parametrize("validate_only", [False, True])
def test_a_request_with_more_changes_than_kafka_allows_is_refused(validate_only: bool) -> None:
    def altering(count: int) -> Planner[None]:
        changes = [Change(ChangeKind.CONFIG, ORDERS, f"k{n}", None, "1", "set") for n in range(count)]
        return lambda *_: Plan(None, changes)

    async def scene() -> None:
        async with running() as service:
            with pytest.raises(TooManyChanges):
                await service.submit(altering(MAX_CHANGES + 1), ADA, validate_only=validate_only)
            assert service.state.snapshot.revision == 0
            await service.submit(altering(MAX_CHANGES), ADA, validate_only=validate_only)

    asyncio.run(scene())


def test_the_overrides_of_deleted_topics_are_not_counted() -> None:
    def deletion(name: str) -> list[Change]:
        topic = Resource.topic(name)
        gone = [Change(ChangeKind.CONFIG, topic, key, "1", None, "delete") for key in ("a", "b")]
        return [*gone, Change(ChangeKind.TOPIC, topic, "", "{}", None, "delete")]

    def deleting(count: int) -> Planner[None]:
        return lambda *_: Plan(None, [each for n in range(count) for each in deletion(f"t{n}")])

    async def scene() -> None:
        async with running() as service:
            await service.submit(deleting(MAX_CHANGES), ADA, validate_only=True)
            with pytest.raises(TooManyChanges):
                await service.submit(deleting(MAX_CHANGES + 1), ADA, validate_only=True)

    asyncio.run(scene())


class GatewayStore(MemoryStore):
    """Records what it gets, like a store that sends it to another cluster."""

    brokers_static: Overrides | None

    def __init__(self) -> None:
        super().__init__()
        self.committed: list[PendingCommit] = []

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        self.committed += batch
        return super().commit(batch)


@pytest.mark.parametrize(("brokers", "committed"), [({}, 1), (None, 0)], ids=["gateway", "server"])
def test_only_a_gateway_commits_a_plan_that_changes_nothing(brokers: Overrides | None, committed: int) -> None:
    """The cluster may have another value than the gateway's state."""
    store = GatewayStore()
    store.brokers_static = brokers
    same = Change(ChangeKind.CONFIG, ORDERS, "k", "1", "1", "rewrite")

    async def submit() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        assert await service.submit(lambda _state, _hooks: Plan("done", unchanged=[same]), ADA) == "done"
        await service.stop()

    asyncio.run(submit())
    assert [each.unchanged for each in store.committed] == [[same]] * committed


class ClusterStore(GatewayStore):
    """A store that sends each batch to another cluster in one request."""

    def __init__(self) -> None:
        super().__init__()
        self.brokers_static = {}
        self.batches: list[list[tuple[str, str | None]]] = []

    def one_per_batch(self, pending: PendingCommit) -> AbstractSet[Resource]:
        return {each.resource for each in pending.changes}

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        self.batches.append([(one.resource.name, one.after) for each in batch for one in each.changes])
        return super().commit(batch)


def test_a_change_is_not_delayed_by_many_changes_of_another_resource() -> None:
    """These are made one after the other, in order, each on the result of the previous one."""
    store, count = ClusterStore(), 511
    answered: list[str] = []
    planned_on: list[str | None] = []
    other = Change(ChangeKind.CONFIG, Resource.topic("other"), "k", None, "5", "set")

    async def submit(service: Service, planner: Planner[str]) -> None:
        answered.append(await service.submit(planner, ADA))

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        hot = [submit(service, guarded(str(n), planned_on)) for n in range(count)]
        await asyncio.gather(*hot, submit(service, lambda *_: Plan("other", [other])))
        await service.stop()

    asyncio.run(scene())
    assert answered == ["0", "other", *map(str, range(1, count))]
    assert store.batches == [[("orders", "0"), ("other", "5")], *([("orders", str(n))] for n in range(1, count))]
    befores = [each.changes[0].before for each in store.changes(0) if each.changes[0].resource == ORDERS]
    assert befores == [None, *map(str, range(count - 1))]
    assert len(planned_on) == 2 * count - 1  # once to know the resource, and once on the previous result


def test_a_conflict_of_one_change_keeps_the_order_of_those_that_wait_for_it() -> None:
    class Conflicting(ClusterStore):
        def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
            if not self.batches:
                self.batches.append([])
                return [RevisionConflict("orders has changed") for _ in batch]
            return super().commit(batch)

    store = Conflicting()

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        await asyncio.gather(*(service.submit(setting(str(n)), ADA) for n in range(3)))
        await service.stop()

    asyncio.run(scene())
    assert store.batches == [[], *([("orders", str(n))] for n in range(3))]


class WaitingStore(GatewayStore):
    """Publishes a change of another client, and waits until it is visible, before it commits."""

    def __init__(self, other: Revision) -> None:
        super().__init__()
        self.brokers_static = {}
        self.is_visible = threading.Event()
        self._other = other

    def publish_to(self, publish: Callable[[Sequence[Revision]], None]) -> None:
        self._publish = publish

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        self._publish([self._other])
        assert self.is_visible.wait(60)
        return [Revision(7, each.time, each.caller, ()) for each in batch]


def test_changes_of_others_are_visible_while_a_commit_waits_for_another_cluster() -> None:
    change = Change(ChangeKind.CONFIG, Resource.topic("other"), "k", None, "9", "set")
    store = WaitingStore(Revision(7, 0, RequestContext(""), [change], "outside"))

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        service.subscribe(lambda _: store.is_visible.set())
        assert await service.submit(setting("5"), ADA) == "5"
        assert service.state.snapshot.overrides(Resource.topic("other")) == {"k": "9"}
        assert (service.state.snapshot.revision, service.counts.remote_revisions) == (7, 1)
        await service.stop()

    asyncio.run(scene())


class HangingStore(GatewayStore):
    """A store whose cluster responds only when it is released."""

    commit_timeout: float | None = 0.05

    def __init__(self) -> None:
        super().__init__()
        self.brokers_static = {}
        self.entered, self.released = threading.Event(), threading.Event()

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        self.entered.set()
        self.released.wait(60)
        return super().commit(batch)


def test_a_change_for_which_the_store_has_no_time_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_GRACE", 0.01)
    store = HangingStore()
    store.released.set()
    is_blocked, is_free = threading.Event(), threading.Event()

    def block(_: Store) -> None:
        is_blocked.set()
        is_free.wait(60)

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        blocked = asyncio.create_task(service.in_store(block))
        await asyncio.to_thread(is_blocked.wait)
        with pytest.raises(StaleState, match="the request was not sent"):
            await service.submit(setting("1"), ADA)
        is_free.set()
        await blocked
        store.commit_timeout = 60.0
        assert await service.submit(setting("2"), ADA) == "2"
        await service.stop()

    asyncio.run(scene())
    assert [change.after for each in store.committed for change in each.changes] == ["2"]


class ImpatientStore(GatewayStore):
    """Gives the first change little time."""

    def __init__(self) -> None:
        super().__init__()
        self.brokers_static = {}
        self._timeouts = [0.05]

    @property
    def commit_timeout(self) -> float | None:  # type: ignore[override]
        return self._timeouts.pop() if self._timeouts else 60.0


def test_a_late_change_does_not_make_others_of_its_batch_fail() -> None:
    store = ImpatientStore()
    is_blocked, is_free = threading.Event(), threading.Event()

    def block(_: Store) -> None:
        is_blocked.set()
        is_free.wait(60)

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        blocked = asyncio.create_task(service.in_store(block))
        await asyncio.to_thread(is_blocked.wait)
        late, other = (asyncio.create_task(service.submit(setting(each), ADA)) for each in "12")
        with pytest.raises(StaleState, match="the request was not sent"):
            await late
        is_free.set()
        await blocked
        assert await other == "2"
        assert service.writable
        await service.stop()

    asyncio.run(scene())
    assert [change.after for each in store.committed for change in each.changes] == ["2"]


def test_a_change_that_is_already_answered_is_not_planned() -> None:
    """Its timer may expire a moment before its deadline."""
    planned: list[str] = []

    def planner(state: State, hooks: PolicyHooks) -> Plan[str]:
        planned.append("2")
        return setting("2")(state, hooks)

    store = HangingStore()
    store.commit_timeout = 60.0

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        first = asyncio.create_task(service.submit(setting("1"), ADA))
        await asyncio.to_thread(store.entered.wait)
        second = Job(planner, ADA, None, None, asyncio.get_running_loop().create_future())
        service._writer.submit(second)
        service._writer._expire(second)  # the timer
        store.released.set()
        assert await first == "1"
        assert await service.submit(setting("3"), ADA) == "3"
        assert isinstance(second.done.exception(), StaleState)
        await service.stop()

    asyncio.run(scene())
    assert planned == []


class ValidatingStore(GatewayStore):
    """A store whose cluster validates changes only when it is released."""

    commit_timeout: float | None = 60.0

    def __init__(self) -> None:
        super().__init__()
        self.brokers_static = {}
        self.begun: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.released = threading.Event()

    def validate(self, pending: PendingCommit) -> Refusals:
        self.begun.put(pending.caller.principal)
        self.released.wait(60)
        return {}


def passed_on(value: str) -> Planner[str]:
    """Like `setting`, with an operation for the cluster."""
    operation = ResourceAlterations(ORDERS, [AlterConfigOp(OpType.SET, "k", value)])
    return lambda state, hooks: replace(setting(value)(state, hooks), operations=[operation])


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(ConfigurationError("the ID is in use"), ConfigurationError), (KeyError("a bug"), StoreUnavailable)],
)
def test_an_error_in_the_configuration_of_a_store_is_not_reported_as_a_failure_of_the_store(
    raised: Exception, expected: type[Exception]
) -> None:
    def fail(_: Store) -> None:
        raise raised

    async def scene() -> None:
        async with running() as service:
            with pytest.raises(expected):
                await service.in_store(fail)

    asyncio.run(scene())


def test_a_change_does_not_wait_for_dry_runs_and_a_principal_has_few_of_them_at_a_time() -> None:
    store = ValidatingStore()

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        many = [service.submit(passed_on(str(each)), ADA, validate_only=True) for each in range(10)]
        other = service.submit(passed_on("11"), RequestContext("User:bob"), validate_only=True)
        dry_runs = asyncio.gather(*many, other)
        principals = [await asyncio.to_thread(store.begun.get, timeout=60) for _ in range(MAX_PER_PRINCIPAL + 1)]
        assert await service.submit(passed_on("12"), ADA) == "12"
        assert sorted(principals) == sorted([ADA.principal] * MAX_PER_PRINCIPAL + ["User:bob"])
        assert store.begun.empty()
        store.released.set()
        assert await dry_runs == [*map(str, range(10)), "11"]
        await service.stop()

    asyncio.run(scene())


def test_a_dry_run_that_gets_no_response_fails_and_can_be_repeated() -> None:
    store = ValidatingStore()
    store.commit_timeout = 0.01

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        with pytest.raises(StaleState, match="has not responded in time"):
            await service.submit(passed_on("1"), ADA, validate_only=True)
        store.released.set()
        store.commit_timeout = 60.0
        assert await service.submit(passed_on("2"), ADA, validate_only=True) == "2"
        await service.stop()

    asyncio.run(scene())


def test_a_dry_run_that_gets_no_response_does_not_delay_the_end_of_the_process() -> None:
    store = ValidatingStore()
    store.commit_timeout = 0.01

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        with pytest.raises(StaleState, match="has not responded in time"):
            await service.submit(passed_on("1"), ADA, validate_only=True)
        await service.stop()

    before = set(threading.enumerate())
    asyncio.run(scene())
    left = [each for each in threading.enumerate() if each not in before]
    store.released.set()
    assert left
    assert all(each.daemon for each in left)


def test_dry_runs_that_get_no_response_are_not_more_than_before() -> None:
    store = ValidatingStore()
    store.commit_timeout = 0.01

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        for _ in range(3):
            with pytest.raises(StaleState, match="has not responded in time"):
                await service.submit(passed_on("1"), ADA, validate_only=True)
        assert store.begun.qsize() == MAX_PER_PRINCIPAL
        store.released.set()
        await service.stop()

    asyncio.run(scene())


def test_changes_are_answered_before_clients_give_up_and_waiting_ones_are_never_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The outcome of the one in flight is unknown."""
    monkeypatch.setattr(writer, "_GRACE", 0.01)
    store = HangingStore()

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        first = asyncio.create_task(service.submit(setting("1"), ADA))
        await asyncio.to_thread(store.entered.wait)
        with pytest.raises(StaleState, match="the request was not sent"):
            await service.submit(setting("2"), ADA)
        with pytest.raises(OutcomeUnknown, match="whether the change was made is unknown"):
            await first
        store.released.set()
        store.commit_timeout = 60.0
        assert await service.submit(setting("3"), ADA) == "3"
        await service.stop()

    asyncio.run(scene())
    assert [change.after for each in store.committed for change in each.changes] == ["1", "3"]
