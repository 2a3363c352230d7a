"""Differences between two clusters, or between two times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from kconf.configdef.lookup import keys_for
from kconf.engine.declarative.diff import same, type_of
from kconf.model.entry import own_source
from kconf.model.resource import ResourceType
from kconf.operations.history.point_in_time import HistoryRange, change_of, ranges
from kconf.operations.state import set_values

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState
    from kconf.model.entry import Entry
    from kconf.model.journal import Change
    from kconf.operations.history.sources import HistoryEntry
    from kconf.operations.state import ConfigName


class ClusterDifference(NamedTuple):
    """A value that differs; `change` names it. None: not set there, or a secret."""

    change: Change
    here: str | None
    there: str | None


def diff_times(entries: Iterable[HistoryEntry]) -> Iterator[HistoryRange]:
    """What is different after the entries, by resource and key; what was changed back is left out."""
    for _, each in sorted(ranges(entries).items()):
        if each.first.change.before != each.last.change.after:
            yield each


def diff_clusters(one: ClusterState, other: ClusterState) -> Iterator[ClusterDifference]:
    """What is set on at least one of the clusters, and does not mean the same on both."""
    values, other_values = set_values(one), set_values(other)
    entries, other_entries = _entries(one), _entries(other)
    for name in sorted({*values, *other_values}):
        resource, key = name
        entry, other_entry = entries.get(name), other_entries.get(name)
        if entry is not None and other_entry is not None:
            if same(type_of(resource, entry, keys_for), entry.value, other_entry.value):
                continue
            here, there = entry.value, other_entry.value
        else:
            here, there = values.get(name), other_values.get(name)
            if (name in values) == (name in other_values) and here == there:
                continue
        yield ClusterDifference(change_of(resource, key, here if here is not None else there), here, there)


def _entries(state: ClusterState) -> dict[ConfigName, Entry]:
    """The effective values; of brokers, only what is set at each."""
    return {
        (resource, entry.name): entry
        for resource, view in state.configs.items()
        for entry in view.entries
        if resource.type is not ResourceType.BROKER or entry.source == own_source(resource)
    }
