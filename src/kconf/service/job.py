"""A change that was submitted to the writer."""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, auto
from math import inf
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kconf.engine.policy.hooks import NO_POLICY
from kconf.engine.policy.plan_check import PlanCheck
from kconf.errors import TooManyChanges
from kconf.model.journal import ChangeKind, RequestContext
from kconf.model.plan import Plan
from kconf.model.resource import Resource
from kconf.service.state import Planner, State
from kconf.store.base import find_conflict

MAX_CHANGES: Final = 10_000  # changes of one request, as in Kafka

T = TypeVar("T")


class Outdated(Enum):
    """The result of a job whose early plan cannot be committed anymore, because of concurrent changes."""

    OUTDATED = auto()


class EarlyPlan(NamedTuple, Generic[T]):
    """The plan of a large request, made before the writer got it, and the state that it is based on."""

    state: State
    plan: Plan[T]

    def holds_on(self, state: State) -> bool:
        """Whether the plan can be committed on this later state."""
        if state is self.state:
            return True
        plan, snapshot = self.plan, state.snapshot
        if state.resolver is not self.state.resolver or find_conflict(plan.guards, snapshot.changed) is not None:
            return False
        created = (each for each in plan.changes if each.kind is ChangeKind.TOPIC and each.before is None)
        return all(snapshot.colliding_topic(each.resource.name) is None for each in created)


@dataclass(slots=True)
class Job(Generic[T]):
    planner: Planner[T]
    context: RequestContext
    check: PlanCheck | None
    early: EarlyPlan[T] | None
    done: asyncio.Future[T | Outdated]
    attempts: int = 0
    deadline: float = inf  # monotonic; another cluster does not get it later
    is_waiting: bool = True  # not in a batch
    resources: AbstractSet[Resource] = frozenset()  # of the last plan; see Store.one_per_batch

    def plan(self, state: State) -> Plan[T] | Outdated:
        """The plan on a state. Raises TooManyChanges and the planner's errors."""
        if self.early is None:
            return make_plan(self.planner, self.check, state)
        return self.early.plan if self.early.holds_on(state) else Outdated.OUTDATED

    @property
    def is_answered(self) -> bool:
        """Whether the caller has a response. A cancelled caller has none, and its change is made."""
        return self.done.done() and not self.done.cancelled()

    def finish(self, outcome: T | Outdated) -> None:
        if not self.done.done():  # the caller may have been cancelled
            self.done.set_result(outcome)

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


def make_plan(planner: Planner[T], check: PlanCheck | None, state: State) -> Plan[T]:
    """Call a planner. Raises TooManyChanges and the planner's errors."""
    plan = planner(state, NO_POLICY if check is None else check.hooks())
    if len(plan.changes) > MAX_CHANGES:
        check_size(plan)
    return plan


def check_size(plan: Plan[Any]) -> None:
    """Raise an error if a plan has too many changes, as in Kafka. Overrides deleted with their topic do not count."""
    changes = plan.changes
    if len(changes) > MAX_CHANGES:
        deleted = {each.resource for each in changes if each.kind is ChangeKind.TOPIC and each.after is None}
        if len(deleted) + sum(each.resource not in deleted for each in changes) > MAX_CHANGES:
            raise TooManyChanges("Unable to perform excessively large batch operation.")
