"""The state of now, and of a moment in the past: what is set, as far as a selection goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kconf.client.cluster_reader import PARTS, read_cluster
from kconf.model.cluster_state import ClusterState
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.operations.history.sources import HistoryEntry, is_meant

if TYPE_CHECKING:
    from kconf.cli.common.target import Target
    from kconf.engine.declarative.model import Scope

Name = tuple[Resource, str]


class HistoryRange(NamedTuple):
    """What became of one key in a span of time: the first line that is told of it, and the last."""

    first: HistoryEntry
    last: HistoryEntry


def spans(lines: Iterable[HistoryEntry]) -> dict[Name, HistoryRange]:
    """By resource and key. What nobody saw the end of is left out."""
    found: dict[Name, HistoryRange] = {}
    for each in lines:
        if each.outcome == "done":
            name = each.change.resource, each.change.key
            found[name] = HistoryRange(found[name].first if name in found else each, each)
    return found


def change_of(resource: Resource, key: str, value: str | None) -> Change:
    """What is set now, in the form in which the past is told; a secret has no value."""
    kind = ChangeKind.TOPIC if resource.type is ResourceType.TOPIC and not key else ChangeKind.CONFIG
    sensitive = value is None
    return Change(kind, resource, key, None, "" if sensitive else value, "set", sensitive)


def read_state(target: Target, scopes: Sequence[Scope], *, synonyms: bool = False) -> ClusterState:
    """The cluster now, without what the scopes do not mean."""
    from kconf.engine.declarative.model import SCOPES

    kinds = {SCOPES[each.word] for each in scopes} or set(PARTS.values())
    wanted = _wanted(scopes)

    async def read() -> ClusterState:
        async with target.open_async() as admin:
            parts = [part for part, kind in PARTS.items() if kind in kinds]
            return await read_cluster(admin, parts, wanted=wanted, synonyms=synonyms)

    return narrowed(asyncio.run(read()), scopes)


def _wanted(scopes: Sequence[Scope]) -> Callable[[Resource], bool]:
    return lambda resource: not scopes or any(each.covers(resource, (resource.name,)) for each in scopes)


def narrowed(reading: ClusterState, scopes: Sequence[Scope]) -> ClusterState:
    """Only what the scopes mean."""
    if not scopes:
        return reading
    from dataclasses import replace

    from kconf.engine.access.acls import key_of, pattern_of

    def meant(resource: Resource, key: str = "") -> bool:
        return is_meant(Change(ChangeKind.CONFIG, resource, key, None, None, ""), scopes)

    return replace(
        reading,
        topics={name: each for name, each in reading.topics.items() if meant(Resource.topic(name))},
        quotas={entity: each for entity, each in reading.quotas.items() if meant(entity.resource)},
        users={user: each for user, each in reading.users.items() if meant(Resource(ResourceType.SCRAM, user))},
        acls=[each for each in reading.acls if meant(pattern_of(each).resource, key_of(each))],
    )
