"""Reads the current state of a cluster within scopes, and lists all values that are set, by resource and key."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kconf.client.cluster_reader import PARTS, read_cluster
from kconf.engine.access.acls import key_of, pattern_of
from kconf.engine.declarative.diff import iterations_text, quota_value, shape_text
from kconf.model.cluster_state import ClusterState
from kconf.model.entry import own_source
from kconf.model.resource import Resource, ResourceType
from kconf.operations.selection.scopes import in_scope, types_of

if TYPE_CHECKING:
    from kconf.engine.declarative.model import Scope
    from kconf.operations.target import Target

ConfigName = tuple[Resource, str]
"""A resource and a key; the key is empty for the topic itself."""

SetValues = dict[ConfigName, str | None]
"""The values that are set, in the form of `Difference.before`; None for a secret."""


def read_scopes(
    target: Target,
    scopes: Sequence[Scope],
    *,
    keys: Mapping[Resource, Sequence[str]] | None = None,
    synonyms: bool = False,
) -> ClusterState:
    """Read the parts of a cluster that the scopes need, and the configs of resources in scope."""
    kinds = set(types_of(scopes)) or set(PARTS.values())

    def wanted(resource: Resource) -> bool:
        return not scopes or any(each.covers(resource, (resource.name,)) for each in scopes)

    async def read() -> ClusterState:
        async with target.open_async() as admin:
            parts = [part for part, kind in PARTS.items() if kind in kinds]
            return await read_cluster(admin, parts, wanted=wanted, keys=keys, synonyms=synonyms)

    return asyncio.run(read())


def read_state(
    target: Target,
    scopes: Sequence[Scope],
    *,
    keys: Mapping[Resource, Sequence[str]] | None = None,
    synonyms: bool = False,
) -> ClusterState:
    """The current state of the resources in scope only."""
    return _narrowed(read_scopes(target, scopes, keys=keys, synonyms=synonyms), scopes)


def _narrowed(state: ClusterState, scopes: Sequence[Scope]) -> ClusterState:
    if not scopes:
        return state

    def covered(resource: Resource, key: str = "") -> bool:
        return in_scope(scopes, resource, key)

    return replace(
        state,
        topics={name: each for name, each in state.topics.items() if covered(Resource.topic(name))},
        quotas={entity: each for entity, each in state.quotas.items() if covered(entity.resource)},
        users={user: each for user, each in state.users.items() if covered(Resource(ResourceType.SCRAM, user))},
        acls=[each for each in state.acls if covered(pattern_of(each).resource, key_of(each))],
    )


def set_values(state: ClusterState) -> SetValues:
    """All values that are set on a cluster; the key is empty for a topic itself."""
    values: SetValues = {
        (Resource.topic(name), ""): shape_text(shape.partitions, shape.replication)
        for name, shape in state.topics.items()
    }
    for resource, view in state.configs.items():
        own = own_source(resource)
        for entry in view.entries:
            if entry.source == own:
                values[resource, entry.name] = entry.value
    for entity, limits in state.quotas.items():
        values.update({(entity.resource, key): quota_value(key, value) for key, value in limits.items()})
    for user, infos in state.users.items():
        resource = Resource(ResourceType.SCRAM, user)
        values.update({(resource, each.mechanism.word): iterations_text(each.iterations) for each in infos})
    values.update({(pattern_of(each).resource, key_of(each)): "" for each in state.acls})
    return values
