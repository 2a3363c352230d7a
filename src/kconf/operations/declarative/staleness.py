"""Whether a cluster still is what a plan was made for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kconf.client.cluster_reader import PARTS, read_cluster
from kconf.engine.access.acls import key_of, pattern_of
from kconf.engine.declarative.diff import Difference, iterations_text, quota_value, shape_text
from kconf.model.cluster_state import ClusterState
from kconf.model.entry import own_source
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.cli.common.target import Target

State = dict[tuple[Resource, str], str | None]
"""What is set under each resource and key, as a `before` tells it."""


def read_again(target: Target, found: Sequence[Difference]) -> ClusterState:
    """The cluster as it is now, as far as the differences are about it."""
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


def state_of(reading: ClusterState) -> State:
    """Everything that is set, by resource and key; a topic itself is under an empty key."""
    state: State = {
        (Resource.topic(name), ""): shape_text(shape.partitions, shape.replication)
        for name, shape in reading.topics.items()
    }
    for resource, view in reading.configs.items():
        own = own_source(resource)
        for entry in view.entries:
            if entry.source == own:
                state[resource, entry.name] = entry.value
    for entity, limits in reading.quotas.items():
        state.update({(entity.resource, key): quota_value(key, value) for key, value in limits.items()})
    for user, infos in reading.users.items():
        resource = Resource(ResourceType.SCRAM, user)
        state.update({(resource, each.mechanism.word): iterations_text(each.iterations) for each in infos})
    state.update({(pattern_of(each).resource, key_of(each)): "" for each in reading.acls})
    return state


def moved_since_plan(found: Sequence[Difference], reading: ClusterState) -> list[Difference]:
    """Those whose `before` no longer is what is there."""
    state = state_of(reading)
    return [each for each in found if _has_moved(each, state)]


def _has_moved(each: Difference, state: State) -> bool:
    name = each.resource, each.key
    if name not in state:
        return each.before is not None
    return each.before is None or each.before != state[name]
