"""The outcomes of one transaction. Each plan returns its own value as its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from kconf.configdef.catalog import kafka_43
from kconf.engine.policy.hooks import PolicyHooks
from kconf.errors import ApiError, ChangeTooLarge, ErrorCode, RevisionConflict
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


def test_what_another_cluster_refused_is_part_of_the_outcome() -> None:
    change = Change(ChangeKind.CONFIG, ORDERS, "k", None, "1", "set")
    refused = PassedOn({ORDERS: ApiError(ErrorCode.POLICY_VIOLATION, "no")})
    planners = [
        lambda *_: Plan("done", [change], revised=lambda outcome, refusals, _: f"{outcome}: {refusals[ORDERS]}")
    ]

    assert outcomes(planners, [refused]) == [f"done: {refused.refusals[ORDERS]}"]


def test_after_a_change_that_another_cluster_refused_later_refusals_are_planned_again() -> None:
    """They may be refused only because of that change."""
    refused = PassedOn({ORDERS: ApiError(ErrorCode.POLICY_VIOLATION, "no")})

    assert outcomes([refusal, setting("1"), refusal], [refused]) == ["refused, since it is None", "1", "again"]
    assert outcomes([setting("1"), refusal], [PassedOn({})]) == ["1", "refused, since it is 1"]


class OnePerBatch(MemoryStore):
    def one_per_batch(self, pending: PendingCommit) -> AbstractSet[Resource]:
        return {each.resource for each in pending.changes}


def test_only_changes_of_other_resources_join_a_batch_and_those_of_one_resource_stay_in_order() -> None:
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
