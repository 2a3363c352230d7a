"""Checks whether a cluster has changed since a plan was made."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kconf.client.cluster_reader import PARTS, read_cluster
from kconf.engine.declarative.diff import Difference
from kconf.errors import ConfigurationError
from kconf.model.cluster_state import ClusterState
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.operations.errors import PlanOutOfDate
from kconf.operations.state import SetValues, set_values

if TYPE_CHECKING:
    from kconf.operations.declarative.plan import DifferencePlan
    from kconf.operations.target import Target


def check_current(path: str, target: Target, plan: DifferencePlan) -> DifferencePlan:
    """The plan of a file with the current revision; raises an error if values that it would change have changed."""
    if not plan.differences:
        return plan
    state = read_again(target, plan.differences)
    if state.cluster != plan.cluster:
        raise ConfigurationError(f"{path} is a plan for another cluster, not {target.name}; nothing was changed")
    moved = moved_since_plan(plan.differences, state)
    if moved:
        raise PlanOutOfDate(
            f"{path} is out of date: {len(moved)} of its values have changed on {target.name} since. Nothing was"
            " changed; create a new plan with `kconf plan --out`",
            moved,
        )
    return plan._replace(revision=state.revision)


def read_again(target: Target, found: Sequence[Difference]) -> ClusterState:
    """Read the current state of the resources in the differences."""
    keys: dict[Resource, list[str]] = {}
    for each in found:
        if each.kind is ChangeKind.CONFIG:
            keys.setdefault(each.resource, []).append(each.key)
    kinds = {each.resource.type for each in found}

    async def read() -> ClusterState:
        async with target.open_async() as admin:
            return await read_cluster(
                admin,
                [part for part, kind in PARTS.items() if kind in kinds],
                wanted=lambda resource: resource in keys,
                named=[each for each in keys if each.type in _NAMED],
                keys=keys,
                synonyms=True,
            )

    return asyncio.run(read())


_NAMED = (ResourceType.BROKER, ResourceType.GROUP, ResourceType.CLIENT_METRICS)


def moved_since_plan(found: Sequence[Difference], reading: ClusterState) -> list[Difference]:
    """The differences whose `before` is not the current value anymore."""
    state = set_values(reading)
    return [each for each in found if _has_moved(each, state)]


def _has_moved(each: Difference, state: SetValues) -> bool:
    name = each.resource, each.key
    if name not in state:
        return each.before is not None
    return each.before is None or each.before != state[name]
