"""Notes about topics that a command names but the cluster does not list, from recorded changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kconf.model.journal import ChangeKind
from kconf.operations.history.wording import time_text
from kconf.operations.selection.unknown_names import check_scopes, named_topics

if TYPE_CHECKING:
    from kconf.engine.declarative.model import Scope
    from kconf.model.cluster_state import ClusterState
    from kconf.model.resource import Resource
    from kconf.operations.history.entries import HistoryEntry, RecordedHistory
    from kconf.operations.target import Target


def check_recorded(target: Target, scopes: Sequence[Scope], history: RecordedHistory) -> None:
    """Raise an error for a scope that matches nothing, neither in the record nor on the cluster."""
    check_scopes([target], scopes, {(each.change.resource, each.change.key) for each in history.entries})


def absent_notes(scopes: Sequence[Scope], history: RecordedHistory, state: ClusterState) -> dict[Resource, str]:
    """A note for each topic that a scope names but the cluster does not list."""
    if any(each.what == "topics" for each in state.missing):
        return {}
    absent = [each for each in named_topics(scopes) if each.name not in state.topics]
    return {each: f"{each} {_fate(_done(history.entries, each))}" for each in absent}


def _done(entries: Iterable[HistoryEntry], resource: Resource) -> list[HistoryEntry]:
    return [each for each in entries if each.change.resource == resource and each.outcome == "done"]


def _fate(entries: Sequence[HistoryEntry]) -> str:
    deletions = [each for each in entries if each.change.kind is ChangeKind.TOPIC and each.change.after is None]
    if deletions and deletions[-1].revision == entries[-1].revision:
        last = deletions[-1]
        if last.is_snapshot:
            return f"does not exist now: it was deleted before {time_text(last.time)}, when a snapshot was taken"
        by = f" by {last.caller.principal}" if last.caller.principal else ""
        return f"does not exist now: it was deleted at {time_text(last.time)}{by}"
    after = f" after {time_text(entries[-1].time)}" if entries else ""
    return f"is not listed now: it was deleted outside kconf{after}, or you are not authorized to describe it"
