"""One resource in time: its recorded changes, who set each value, its values at a time, and what differs between two.

`operations/history` computes everything, from the recorded changes and the state of this resource. If something is not
recorded, it is unknown, and a note says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from kconf.configdef.units import shown_value
from kconf.model.resource import Resource, ResourceType
from kconf.operations.display_names import display_names, value_of
from kconf.operations.history.blame import BlameEntry, blame
from kconf.operations.history.diff import RecordDiff, diff_record, diff_times
from kconf.operations.history.live_values import LiveValues
from kconf.operations.history.point_in_time import entries_between
from kconf.operations.history.record import Attribution, Fit, Moment, Record
from kconf.operations.history.wording import (
    author_text,
    entry_author,
    gap_note,
    secret_notes,
    unreadable_note,
)

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.model.cluster_state import ClusterState
    from kconf.model.journal import Change
    from kconf.operations.history.sources import HistoryEntry, RecordedHistory


@dataclass(frozen=True)
class ChangeRow:
    """A recorded change. `key` is empty for the topic itself. If the author is unknown, `who` is the reason."""

    time: int
    revision: int
    key: str
    op: str
    before: str | None
    after: str | None
    who: str
    principal: str | None
    reason: str | None
    client_id: str
    host: str
    origin: str
    outcome: str


@dataclass(frozen=True)
class Author:
    """The author of a current value. `time` is None if the change is not recorded."""

    who: str
    time: int | None
    reason: str | None
    revision: int | None


@dataclass(frozen=True)
class DifferenceRow:
    """A value at two times; None if not set. `is_unknown`: the record begins after the first time."""

    key: str
    before: str | None
    after: str | None
    who: str
    time: int | None
    reason: str | None
    is_unknown: bool = False


@dataclass(frozen=True)
class TimeDiff:
    differences: Sequence[DifferenceRow]
    notes: Sequence[str]


class ResourcePast:
    """The recorded past of one resource. `history` has only its entries; None if the cluster has no record."""

    def __init__(self, snapshot: ClusterSnapshot, resource: Resource) -> None:
        self.resource = resource
        self.state = _narrowed(snapshot.state, resource)
        self.history = None if snapshot.history is None else snapshot.history.about([resource])

    @property
    def entries(self) -> Sequence[HistoryEntry]:
        return () if self.history is None else self.history.entries

    @cached_property
    def changes(self) -> list[ChangeRow]:
        """The recorded changes, oldest first."""
        return [change_row(each) for each in self.entries]

    @cached_property
    def authors(self) -> dict[str, Author]:
        """The author of each value that is set now, by key."""
        if self.history is None:
            return {}
        return {each.change.key: _author(each) for each in blame(self.state, self.history)}

    def diff(self, begin: int, end: int | None) -> TimeDiff:
        """The differences between two times (milliseconds); without an end, between a time and now."""
        if self.history is None:
            return TimeDiff((), ("no changes are recorded for this cluster",))
        later = None if end is None else Moment(end)
        if self.history.is_complete:
            found = diff_times(entries_between(self.history, Moment(begin), later))
            return TimeDiff([_range_row(first, last) for first, last in found], self.history.notes)
        record = Record(self.history.entries, LiveValues(self.state))
        return _record_rows(self.history, diff_record(record, Moment(begin), later))


def change_row(entry: HistoryEntry) -> ChangeRow:
    change, caller = entry.change, entry.caller
    return ChangeRow(
        entry.time,
        entry.revision,
        key_text(change),
        change.op,
        shown(change, change.before),
        shown(change, change.after),
        entry_author(entry),
        caller.principal or None,
        caller.reason,
        caller.client_id,
        caller.host,
        entry.origin,
        entry.outcome,
    )


def key_text(change: Change) -> str:
    """The key as text; empty for a topic itself."""
    return str(display_names(change.resource, change.key).get("key", change.key))


def shown(change: Change, value: str | None) -> str | None:
    """A value with its unit; a secret is hidden."""
    found = value_of(change, value)
    return found if found is None or change.sensitive or not change.key else shown_value(change.key, found)


def _author(entry: BlameEntry) -> Author:
    found = entry.attribution
    last = found.author
    why = author_text(found)
    if last is None:
        return Author(why, None, None, None)
    return Author(why or entry_author(last), last.time, last.caller.reason, last.revision)


def _range_row(first: HistoryEntry, last: HistoryEntry) -> DifferenceRow:
    before, after = shown(first.change, first.change.before), shown(last.change, last.change.after)
    return DifferenceRow(key_text(last.change), before, after, entry_author(last), last.time, last.caller.reason)


def _record_rows(history: RecordedHistory, found: RecordDiff) -> TimeDiff:
    rows = []
    for change, before, after, attribution in found.differences:
        author, who = attribution.author, attributed(attribution)
        rows.append(
            DifferenceRow(
                key_text(change),
                shown(change, before),
                shown(change, after),
                who,
                None if author is None else author.time,
                None if author is None else author.caller.reason,
            )
        )
    rows += [DifferenceRow(key, None, None, "", None, None, is_unknown=True) for _, key in found.unknown]
    notes = [
        *history.notes,
        *(gap_note(*each) for each in found.gaps),
        *(unreadable_note(each) for each in found.unread),
        *secret_notes(found.unreadable),
    ]
    return TimeDiff(rows, notes)


def attributed(attribution: Attribution) -> str:
    why = author_text(attribution)
    if why or attribution.fit is Fit.UNREADABLE or attribution.author is None:
        return why
    return entry_author(attribution.author)


def _narrowed(state: ClusterState, resource: Resource) -> ClusterState:
    """The state of one resource."""
    name = resource.name
    return replace(
        state,
        topics={name: state.topics[name]} if resource.type is ResourceType.TOPIC and name in state.topics else {},
        configs={resource: state.configs[resource]} if resource in state.configs else {},
        quotas={entity: each for entity, each in state.quotas.items() if entity.resource == resource}
        if resource.type is ResourceType.QUOTA
        else {},
        users={name: state.users[name]} if resource.type is ResourceType.SCRAM and name in state.users else {},
        acls=(),
    )
