"""One resource in time: its recorded changes, who set each value, its values at a time, and what differs between two.

`operations/history` computes everything, from the recorded changes and the state of this resource. If something is not
recorded, it is shown as unknown, with a note.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kconf.configdef.units import shown_value
from kconf.errors import ConfigurationError
from kconf.model.resource import Resource, ResourceType
from kconf.operations.display_names import display_names, value_of
from kconf.operations.history.blame import BlameEntry, blame
from kconf.operations.history.diff import RecordDiff, diff_record, diff_times
from kconf.operations.history.live_values import LiveValues, same_value
from kconf.operations.history.point_in_time import entries_between
from kconf.operations.history.record import Attribution, Fit, HistoryByKey, Moment, PastValue
from kconf.operations.history.wording import (
    author_text,
    entry_author,
    gap_note,
    name_text,
    secret_notes,
    time_text,
    unreadable_note,
)

if TYPE_CHECKING:
    from kconf.console.cluster.history import HistoryIndex
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.model.cluster_state import ClusterState
    from kconf.model.journal import Change
    from kconf.operations.history.entries import HistoryEntry, RecordedHistory
    from kconf.operations.state import ConfigName


NOT_READ: Final = "The recorded changes have not been read yet."
NOT_RECORDED: Final = "unknown: not recorded"
OTHER_TOOLS: Final = "Other tools may have changed more: only recorded changes are compared."
POLLED_GATEWAY: Final = (
    "The gateway polls its cluster: a change by another tool that is reverted before the next poll is not recorded."
)
NOT_YET: Final = "unknown: the record has not been read yet"


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
    not_before: int | None = None
    """A gateway that polls saw it at `time`; it was made after this time."""


@dataclass(frozen=True)
class Author:
    """The author of a current value. `time` is None if the change is not recorded."""

    who: str
    time: int | None
    reason: str | None
    revision: int | None


@dataclass(frozen=True)
class DifferenceRow:
    """A value at two times; None: not set. `is_unknown`: the record begins after the first time.

    `is_uncertain`: the nearest recorded value is shown; the value at the time itself may differ.
    """

    key: str
    before: str | None
    after: str | None
    who: str
    time: int | None
    reason: str | None
    is_unknown: bool = False
    is_uncertain: bool = False


@dataclass(frozen=True)
class TimeDiff:
    """`is_known`: the record begins before the first time. Otherwise nothing is known, and a note gives the reason."""

    differences: Sequence[DifferenceRow]
    notes: Sequence[str]
    is_known: bool = True


class ResourcePast:
    """What is known about one resource. `history` has only its entries; None: no record, and `error` is the reason."""

    def __init__(self, snapshot: ClusterSnapshot, resource: Resource) -> None:
        self.resource = resource
        self.state = _narrowed(snapshot.state, resource)
        self.history = None if snapshot.history is None else snapshot.history.about([resource])
        self.error = snapshot.history_error or NOT_READ
        self._begin = None if snapshot.history is None else snapshot.history.begin
        self._has_all = snapshot.history is not None and snapshot.history.since is not None
        self._limits = () if snapshot.history is None else limit_notes(snapshot.history)

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
        found = blame(self.state, self.history)
        return {each.change.key: self._author(each) for each in found if each.is_set}

    def author(self, key: str) -> Author:
        """Who set a value that is set now."""
        why = NOT_RECORDED if self.history is not None or self.error != NOT_READ else NOT_YET
        return self.authors.get(key) or Author(why, None, None, None)

    def _author(self, entry: BlameEntry) -> Author:
        """The state may have a change that is not recorded yet, which must not be attributed to the previous author."""
        last = entry.attribution.author
        why = author_text(entry.attribution)
        if last is None:
            return Author(why, None, None, None)
        name = last.change.resource, last.change.key
        is_readable = not last.change.sensitive and entry.value is not None
        if is_readable and not same_value(name, entry.value, last.change.after):
            return Author(NOT_YET, None, None, None)
        return Author(why or entry_author(last), last.time, last.caller.reason, last.revision)

    def diff(self, begin: int, end: int | None) -> TimeDiff:
        """The differences between two times (milliseconds); without an end, between a time and now."""
        if self.history is None:
            return TimeDiff((), [self.error], is_known=False)
        moments = Moment(begin), None if end is None else Moment(end)
        if not self.history.is_complete:
            found = _record_rows(self.history, diff_record(self._record, *moments), self._is_unsure(*moments))
            found = replace(found, notes=[*found.notes, *self._limits])
            return found if self._begin is None or begin >= self._begin else before_record(found, self._begin)
        try:
            between = entries_between(self.history, *moments)
        except ConfigurationError as error:
            return TimeDiff((), [str(error)], is_known=False)
        unsure = unsure_entries(self.history.entries, begin, end)
        rows = [_range_row(first, last, is_uncertain=first in unsure) for first, last in diff_times(between)]
        return TimeDiff(rows, [*self.history.notes, *self._limits, *map(unsure_note, unsure)])

    def _is_unsure(self, *moments: Moment | None) -> Callable[[Change], bool]:
        """Whether the value at one of the times may differ from the recorded one."""

        def is_unsure(change: Change) -> bool:
            name = change.resource, change.key
            values = [self._record.value_at(name, each) for each in moments if each is not None]
            return any(each is not None and not self._is_certain(name, each) for each in values)

        return is_unsure

    def _is_certain(self, name: ConfigName, value: PastValue) -> bool:
        """Whether a recorded value is certain: the metadata log has all changes, or the value is still set now."""
        if not value.is_certain:
            return False
        if self._has_all:
            return True
        now = self._record.attribute(name)
        return now.entry is not value.entry or now.fit in (Fit.MATCHES, Fit.SEEN, Fit.UNREADABLE)

    def unsure_keys(self, time: int) -> set[str]:
        """Keys whose change a polling gateway detected without knowing whether it was made before or after a time."""
        return {each.change.key for each in unsure_entries(self.entries, time) if each.change.key}

    def is_certain_at(self, key: str, time: int) -> bool:
        """Whether the record shows the value of a key at a time."""
        if self.history is None or (self._begin is not None and time < self._begin):
            return False
        if self.history.is_complete:
            return key not in self.unsure_keys(time)
        name = self.resource, key
        value = self._record.value_at(name, Moment(time))
        return value is not None and self._is_certain(name, value)

    @cached_property
    def _record(self) -> HistoryByKey:
        return HistoryByKey(self.entries, LiveValues(self.state))


def limit_notes(history: HistoryIndex) -> list[str]:
    """What a record of this kind cannot show between two times."""
    if history.since is None:
        return [OTHER_TOOLS]
    return [POLLED_GATEWAY] if history.is_polled else []


def before_record(found: TimeDiff, begin: int) -> TimeDiff:
    """For a first time before the record: a topic created since may have existed before and been deleted."""
    rows = [each if each.is_unknown else replace(each, is_uncertain=True) for each in found.differences]
    return TimeDiff(rows, [*found.notes, begin_note(begin)])


def begin_note(begin: int) -> str:
    return f"The record begins at {time_text(begin)}. Earlier values are unknown."


def unsure_entries(entries: Sequence[HistoryEntry], *times: int | None) -> list[HistoryEntry]:
    """Changes of which a polling gateway does not know whether they were made before or after one of the times."""
    known = [each for each in times if each is not None]
    return [
        each
        for each in entries
        if each.not_before is not None and any(each.not_before < time < each.time for time in known)
    ]


def unsure_note(entry: HistoryEntry) -> str:
    name = name_text((entry.change.resource, entry.change.key))
    begin = 0 if entry.not_before is None else entry.not_before
    return (
        f"{name} was changed between {time_text(begin)} and {time_text(entry.time)}; the gateway polls its cluster, so"
        " the exact time is unknown"
    )


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
        None if entry.is_snapshot else entry.not_before,
    )


def key_text(change: Change) -> str:
    """The key as text; empty for a topic itself."""
    return str(display_names(change.resource, change.key).get("key", change.key))


def shown(change: Change, value: str | None) -> str | None:
    """A value with its unit; a secret is hidden."""
    found = value_of(change, value)
    return found if found is None or change.sensitive or not change.key else shown_value(change.key, found)


def _range_row(first: HistoryEntry, last: HistoryEntry, *, is_uncertain: bool) -> DifferenceRow:
    before, after = shown(first.change, first.change.before), shown(last.change, last.change.after)
    return DifferenceRow(
        key_text(last.change),
        before,
        after,
        entry_author(last),
        last.time,
        last.caller.reason,
        is_uncertain=is_uncertain,
    )


def _record_rows(history: RecordedHistory, found: RecordDiff, is_unsure: Callable[[Change], bool]) -> TimeDiff:
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
                is_uncertain=is_unsure(change),
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
