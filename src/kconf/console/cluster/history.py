"""The recorded changes of a cluster, by resource. New ones are added without copying the old ones."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import time
from typing import TYPE_CHECKING

from kconf.client.cluster_reader import PARTS
from kconf.model.resource import Resource, ResourceType
from kconf.operations.history.entries import HistoryEntry, RecordedHistory
from kconf.operations.history.sources import read_history

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.target import Target


@dataclass(frozen=True)
class HistoryIndex:
    """`recorded` has the source and notes. Later values share its list of entries: only the first `count` belong to
    this one.

    `since` is the time (milliseconds) after which no change by any tool is missing; None: some may be missing.
    """

    recorded: RecordedHistory
    count: int
    by_resource: Mapping[Resource, tuple[HistoryEntry, ...]] = field(repr=False)
    since: int | None = None
    texts: list[str] = field(default_factory=list, repr=False, compare=False)
    """The searchable text of each entry, computed when first needed. Later values share it, like the entries."""

    @classmethod
    def of(cls, recorded: RecordedHistory, *, since: int | None = None) -> HistoryIndex:
        if recorded.is_complete:
            since = 0 if recorded.trimmed is None else recorded.trimmed.time
        return cls(recorded, len(recorded.entries), _grouped(recorded.entries, {}), since)

    def extended(self, entries: Sequence[HistoryEntry]) -> HistoryIndex:
        """A copy with newer entries, without those that it already has. Only the newest value may be extended."""
        assert self.count == len(self.recorded.entries)
        last = self.recorded.entries[-1].revision if self.recorded.entries else -1
        entries = [each for each in entries if each.revision > last]
        self.recorded.entries.extend(entries)
        return replace(self, count=len(self.recorded.entries), by_resource=_grouped(entries, self.by_resource))

    def shown_by(self, state: ClusterState) -> HistoryIndex:
        """Only the entries of resources in `state`. Files have no ACLs, so what the cluster shows to a person decides.

        The journal of a kconf server already applies the ACLs of the caller.
        """
        if self.is_complete:
            return self
        hidden = _hidden(state)
        entries = [each for each in self.recorded.entries if _is_shown(each.change.resource, state, hidden)]
        return HistoryIndex.of(self.recorded._replace(entries=entries), since=self.since)

    @property
    def source(self) -> str:
        return self.recorded.source

    @property
    def notes(self) -> Sequence[str]:
        return self.recorded.notes

    @property
    def is_complete(self) -> bool:
        return self.recorded.is_complete

    def about(self, resources: Iterable[Resource]) -> RecordedHistory:
        """The record of some resources, oldest first."""
        found = [each for resource in resources for each in self.by_resource.get(resource, ())]
        found.sort(key=lambda each: (each.time, each.revision, each.line))
        return self.recorded._replace(entries=found)

    def latest(self, count: int, skip: int = 0) -> list[HistoryEntry]:
        """The newest entries, newest first."""
        end = max(0, self.count - skip)
        return self.recorded.entries[max(0, end - count) : end][::-1]

    def number_since(self, begin: int) -> int:
        """The number of entries at or after a time (milliseconds)."""
        return self.count - bisect_left(self.recorded.entries, begin, 0, self.count, key=lambda each: each.time)

    def has_all_since(self, begin: int) -> bool:
        """Whether no change after a time is missing. A gateway that polls may miss changes between two polls."""
        return self.since is not None and self.since <= begin and not self.is_polled

    @property
    def begin(self) -> int | None:
        """The time (milliseconds) before which nothing is recorded; None: everything is recorded."""
        if self.is_complete:
            return None if self.recorded.trimmed is None else self.recorded.trimmed.time
        if self.since is not None:
            return self.since
        return self.recorded.entries[0].time if self.count else int(time() * 1000)

    @property
    def is_polled(self) -> bool:
        """Whether a gateway has found changes by polling its cluster, because it has no controllers to follow."""
        return any(each.not_before is not None for each in self.latest(1000)) if self.is_complete else False


def _grouped(
    entries: Iterable[HistoryEntry], before: Mapping[Resource, tuple[HistoryEntry, ...]]
) -> dict[Resource, tuple[HistoryEntry, ...]]:
    added: dict[Resource, list[HistoryEntry]] = {}
    for each in entries:
        added.setdefault(each.change.resource, []).append(each)
    return {**before, **{each: (*before.get(each, ()), *more) for each, more in added.items()}}


def is_shown(resource: Resource, state: ClusterState) -> bool:
    """Whether a resource is in the state that the person may see."""
    return _is_shown(resource, state, _hidden(state))


def _hidden(state: ClusterState) -> set[ResourceType]:
    return {kind for part, kind in PARTS.items() if any(each.what == part for each in state.missing)}


def _is_shown(resource: Resource, state: ClusterState, hidden: Collection[ResourceType]) -> bool:
    if resource.type is ResourceType.TOPIC:
        return resource.name in state.topics
    if resource.type in (ResourceType.QUOTA, ResourceType.SCRAM, ResourceType.ACL):
        return resource.type not in hidden
    return resource in state.configs


def read_index(target: Target) -> HistoryIndex:
    """The whole record of a cluster: its journal, or the context's journal directory and lake."""
    began = int(time() * 1000)
    with target.open() as admin:
        return HistoryIndex.of(_begun(read_history(target, admin, ()), began))


def _begun(recorded: RecordedHistory, now: int) -> RecordedHistory:
    """Let a journal without any change begin now, because later changes will be added."""
    if recorded.trimmed is None or recorded.entries:
        return recorded
    return recorded._replace(trimmed=recorded.trimmed._replace(time=min(recorded.trimmed.time, now)))
