"""The last change of everything that is set now. What is set comes from the cluster, who set it from the history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kconf.operations.history.point_in_time import change_of
from kconf.operations.state import set_values

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState
    from kconf.model.journal import Change
    from kconf.operations.history.sources import HistoryEntry, RecordedHistory
    from kconf.operations.state import ConfigName


class BlameEntry(NamedTuple):
    """A value that is set, and its last change; None if that is older than the history, or was not recorded."""

    change: Change
    value: str | None
    last: HistoryEntry | None


def blame(state: ClusterState, history: RecordedHistory) -> Iterator[BlameEntry]:
    """By resource and key."""
    last = _last_changes(history)
    for (resource, key), value in sorted(set_values(state).items()):
        yield BlameEntry(change_of(resource, key, value), value, last.get((resource, key)))


def _last_changes(history: RecordedHistory) -> dict[ConfigName, HistoryEntry]:
    """The last change of everything that was not removed since."""
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
