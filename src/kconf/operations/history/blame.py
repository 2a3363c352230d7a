"""Finds the author of every current value. The values come from the cluster, the authors from the history.

On a cluster that other tools change too, a value is attributed to a recorded change only if that change set it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kconf.model.resource import Resource, ResourceType
from kconf.operations.history.live_values import LiveValues
from kconf.operations.history.point_in_time import change_of
from kconf.operations.history.record import Attribution, Fit, HistoryByKey
from kconf.operations.state import set_values

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState
    from kconf.model.journal import Change
    from kconf.operations.history.entries import HistoryEntry, RecordedHistory
    from kconf.operations.state import ConfigName

_GONE = (Fit.CHANGED_OUTSIDE, Fit.UNKNOWN_OUTCOME, Fit.NOT_YET_VISIBLE)


class BlameEntry(NamedTuple):
    """A value that is set, or that was recorded and is not set anymore (`is_set` is False), and its author."""

    change: Change
    value: str | None
    attribution: Attribution
    is_set: bool = True


def blame(state: ClusterState, history: RecordedHistory) -> Iterator[BlameEntry]:
    """The authors by resource and key."""
    if not history.is_complete:
        yield from _blame_record(HistoryByKey(history.entries, LiveValues(state)))
        return
    last = _last_changes(history)
    for (resource, key), value in sorted(set_values(state).items()):
        found = last.get((resource, key))
        fit = Fit.UNRECORDED if found is None else Fit.MATCHES
        yield BlameEntry(change_of(resource, key, value), value, Attribution(fit, found))


def unreadable(state: ClusterState, history: RecordedHistory) -> list[Resource]:
    """Recorded resources whose current values could not be read."""
    live = LiveValues(state)
    names = {(each.change.resource, each.change.key) for each in history.entries}
    return sorted({name[0] for name in names if not live.is_readable(name)})


def _blame_record(record: HistoryByKey) -> Iterator[BlameEntry]:
    unlisted: set[Resource] = set()
    for name in record.names():
        resource, key = name
        found = record.attribute(name)
        if name in record.live.values:
            value = record.live.values[name]
            yield BlameEntry(change_of(resource, key, value), value, found)
        elif not record.live.is_readable(name):
            continue
        elif not record.live.is_listed(resource):
            if found.fit is not Fit.MATCHES and resource not in unlisted:
                unlisted.add(resource)
                yield BlameEntry(change_of(resource, "", ""), None, found, is_set=False)
        elif found.fit in _GONE and (resource.type is not ResourceType.TOPIC or key):
            yield BlameEntry(change_of(resource, key, ""), None, found, is_set=False)


def _last_changes(history: RecordedHistory) -> dict[ConfigName, HistoryEntry]:
    """The last change of each key that was not removed since."""
    last: dict[ConfigName, HistoryEntry] = {}
    for each in history.entries:
        if each.outcome != "done":
            continue
        name = each.change.resource, each.change.key
        if each.change.after is None:
            last.pop(name, None)
        else:
            last[name] = each
    return last
