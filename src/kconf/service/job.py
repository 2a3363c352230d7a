"""A change that was submitted to the writer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kconf.engine.policy.hooks import NO_POLICY
from kconf.engine.policy.plan_check import PlanCheck
from kconf.errors import TooManyChanges
from kconf.model.journal import ChangeKind, RequestContext
from kconf.model.plan import Plan
from kconf.service.state import Planner, State
from kconf.store.base import find_conflict

MAX_CHANGES: Final = 10_000  # changes of one request, as in Kafka

T = TypeVar("T")


@dataclass(slots=True)
class Job(Generic[T]):
    planner: Planner[T]
    context: RequestContext
    check: PlanCheck | None
    done: asyncio.Future[T]
    attempts: int = 0
    early: tuple[State, Plan[T]] | None = None  # large requests: the plan, and the state that it is based on

    def plan(self, state: State) -> Plan[T]:
        """Call the planner. Raises TooManyChanges and the planner's errors."""
        if self.early is not None:
            planned_on, plan = self.early
            if planned_on is not state and not _still_holds(plan, planned_on, state):
                raise Outdated
            return plan
        plan = self.planner(state, NO_POLICY if self.check is None else self.check.hooks())
        if len(plan.changes) > MAX_CHANGES:
            check_size(plan)
        return plan


class Outdated(Exception):
    """Concurrent changes affected what an early plan depends on."""


class PlannedJob(NamedTuple):
    job: Job[Any]
    plan: Plan[Any]
    position: int | None  # position in the transaction; None if there is nothing to commit


def check_size(plan: Plan[Any]) -> None:
    """Raise an error if a plan has too many changes, as in Kafka. Overrides deleted with their topic do not count."""
    changes = plan.changes
    if len(changes) > MAX_CHANGES:
        deleted = {each.resource for each in changes if each.kind is ChangeKind.TOPIC and each.after is None}
        if len(deleted) + sum(each.resource not in deleted for each in changes) > MAX_CHANGES:
            raise TooManyChanges("Unable to perform excessively large batch operation.")


def _still_holds(plan: Plan[Any], planned_on: State, state: State) -> bool:
    """Whether a plan can be committed on a later state than the one that it is based on."""
    if state.resolver is not planned_on.resolver or find_conflict(plan.guards, state.snapshot.changed) is not None:
        return False
    created = (each for each in plan.changes if each.kind is ChangeKind.TOPIC and each.before is None)
    return all(state.snapshot.colliding_topic(each.resource.name) is None for each in created)
