"""The outcomes of one transaction. Each plan returns its own value as its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any
from uuid import uuid4

from kconf.configdef.catalog import kafka_43
from kconf.engine.policy.hooks import PolicyHooks
from kconf.engine.topics.create import Created, plan_create_topics
from kconf.engine.topics.placement import ClusterDefaults
from kconf.errors import ApiError, ChangeTooLarge, ErrorCode, RevisionConflict, StaleState
from kconf.model.alteration import NewTopic
from kconf.model.journal import Change, ChangeKind, Revision
from kconf.model.plan import PendingCommit, Plan
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot
from kconf.service.batch import Batch, CommitResult
from kconf.service.job import EarlyPlan, Job, Outdated
from kconf.service.state import Planner, State, StateFactory
from kconf.store.base import PassedOn
from kconf.store.memory import MemoryStore
from tests.unit.service.test_service import ADA, ORDERS, guarded, setting

REVISION = Revision(1, 0, ADA, ())


def refusal(state: State, _hooks: PolicyHooks) -> Plan[str]:
    return Plan(f"refused, since it is {state.snapshot.overrides(ORDERS).get('k')}")


def outcomes(planners: Sequence[Planner[str]], results: Sequence[CommitResult]) -> list[object]:
    """The outcome or error of each planner, or "again"."""

    async def scene() -> list[object]:
        batch = new_batch()
        jobs = [job(each) for each in planners]
        for each in jobs:
            batch.add(each)
        assert len(batch.commits) == len(results)
        again = batch.finish(results, Snapshot.EMPTY)
        return ["again" if each in again else each.done.exception() or each.done.result() for each in jobs]

    return asyncio.run(scene())


def new_batch(store: MemoryStore | None = None) -> Batch:
    store = store or MemoryStore()
    states = StateFactory(store, 1, kafka_43(), {}, None, ignore_broker_configs=False)
    return Batch(store, states, State(Snapshot.EMPTY, states.own_configs), 0)


def job(planner: Planner[str], early: EarlyPlan[str] | None = None) -> Job[str]:
    return Job(planner, ADA, None, early, asyncio.get_running_loop().create_future())


def test_each_plan_is_made_on_the_state_after_the_previous_one() -> None:
    assert outcomes([refusal, setting("1"), refusal], [REVISION]) == [
        "refused, since it is None",
        "1",
        "refused, since it is 1",
    ]


def test_after_a_conflict_later_refusals_are_planned_again_and_earlier_ones_are_not() -> None:
    conflict = RevisionConflict("orders has changed")

    assert outcomes([refusal, setting("1"), refusal, setting("2")], [conflict, REVISION]) == [
        "refused, since it is None",
        "again",
        "again",
        "2",
    ]


def test_a_change_that_is_too_large_fails_and_later_refusals_are_planned_again() -> None:
    too_large = ChangeTooLarge("orders is too large")

    assert outcomes([setting("1"), refusal], [too_large]) == [too_large, "again"]


def test_a_bug_in_a_planner_fails_only_its_caller() -> None:
    bug = ZeroDivisionError()

    def broken(_state: State, _hooks: PolicyHooks) -> Plan[str]:
        raise bug

    assert outcomes([broken, setting("1")], [REVISION]) == [bug, "1"]


def test_a_refusal_of_another_cluster_is_part_of_the_outcome() -> None:
    change = Change(ChangeKind.CONFIG, ORDERS, "k", None, "1", "set")
    refused = PassedOn({ORDERS: ApiError(ErrorCode.POLICY_VIOLATION, "no")})
    planners = [
        lambda *_: Plan("done", [change], revised=lambda outcome, refusals, _: f"{outcome}: {refusals[ORDERS]}")
    ]

    assert outcomes(planners, [refused]) == [f"done: {refused.refusals[ORDERS]}"]


class OnePerBatch(MemoryStore):
    def one_per_batch(self, pending: PendingCommit) -> AbstractSet[Resource]:
        return {each.resource for each in pending.changes}


def test_a_batch_has_one_change_per_resource_and_changes_of_a_resource_stay_in_order() -> None:
    def changing(*names: str) -> Planner[str]:
        changes = [Change(ChangeKind.CONFIG, Resource.topic(name), "k", None, "1", "set") for name in names]
        return lambda *_: Plan(" ".join(names), changes)

    async def scene() -> None:
        waiting = [job(changing(*names)) for names in [("a",), ("a", "b"), ("b",), ("c",), ("b", "d"), ("d",), ("e",)]]
        batches = []
        while waiting:
            batch = new_batch(OnePerBatch())
            waiting = [each for each in waiting if not batch.add(each)]
            batches.append([each.plan.outcome for each in batch.planned])
            assert len(batch.commits) == len(batch.planned)
        assert batches == [["a", "c", "e"], ["a b"], ["b"], ["b d"], ["d"]]

    asyncio.run(scene())


def test_a_plan_for_another_cluster_does_not_depend_on_others_of_its_batch_which_the_cluster_may_refuse() -> None:
    """A creates y, which the cluster refuses. B creates x and y: its y is not refused because of A's."""

    def creating(*names: str) -> Planner[Any]:
        topics = [NewTopic(name, 1, 1) for name in names]
        return lambda state, _: plan_create_topics(state.snapshot, topics, ClusterDefaults((1,), state.resolver, uuid4))

    def outcome_of(job: Job[Any]) -> Any:
        return job.done.result()

    async def scene() -> None:
        store = OnePerBatch()
        first, both = job(creating("y")), job(creating("x", "y"))
        batch = new_batch(store)
        assert batch.add(first)
        assert not batch.add(both)
        no = ApiError(ErrorCode.POLICY_VIOLATION, "no")
        assert batch.finish([PassedOn({Resource.topic("y"): no})], Snapshot.EMPTY) == []
        assert outcome_of(first) == {"y": no}
        batch = new_batch(store)
        assert batch.add(both)
        batch.finish([PassedOn({})], Snapshot.EMPTY)
        assert [type(each) for each in outcome_of(both).values()] == [Created, Created]

    asyncio.run(scene())


def test_a_refusal_for_another_cluster_depends_on_no_change_of_its_batch() -> None:
    async def scene() -> None:
        batch = new_batch(OnePerBatch())
        changing, refused = job(setting("1")), job(refusal)
        assert batch.add(changing)
        assert batch.add(refused)
        assert batch.finish([PassedOn({})], Snapshot.EMPTY) == []
        assert refused.done.result() == "refused, since it is None"

    asyncio.run(scene())


def test_a_commit_after_its_deadline_is_not_passed_to_the_store_and_fails_alone() -> None:
    async def scene() -> None:
        batch = new_batch()
        late, other = job(setting("1")), job(setting("2"))
        late.deadline = 10.0
        batch.add(late)
        batch.add(other)
        assert [each.changes[0].after for each in batch.begin(11.0)] == ["2"]
        assert (batch.has_begun(late), batch.has_begun(other)) == (False, True)
        too_late = StaleState("too late")
        batch.finish([too_late, REVISION], Snapshot.EMPTY)
        assert late.done.exception() is too_late
        assert other.done.result() == "2"

    asyncio.run(scene())


def test_an_early_plan_that_no_longer_holds_is_outdated_and_not_committed() -> None:
    async def scene() -> None:
        batch = new_batch()
        early = EarlyPlan(batch.state, guarded("early")(batch.state, PolicyHooks()))
        batch.add(job(guarded("first")))
        second = job(guarded("early"), early)
        batch.add(second)

        assert second.done.result() is Outdated.OUTDATED
        assert [each.changes[0].after for each in batch.commits] == ["first"]

    asyncio.run(scene())
