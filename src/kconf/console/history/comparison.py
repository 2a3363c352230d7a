"""The differences between two clusters, or two times of one, the same as `kconf diff` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kconf.console.history.activity import change_resource_text
from kconf.console.history.past import (
    NOT_READ,
    attributed,
    begin_note,
    key_text,
    limit_notes,
    shown,
    unsure_entries,
    unsure_note,
)
from kconf.errors import ConfigurationError
from kconf.operations.history.diff import diff_clusters, diff_record, diff_times
from kconf.operations.history.live_values import LiveValues
from kconf.operations.history.point_in_time import entries_between
from kconf.operations.history.record import HistoryByKey, Moment
from kconf.operations.history.wording import entry_author, gap_note, name_text, secret_notes, unreadable_note

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.model.journal import Change
    from kconf.operations.history.entries import HistoryEntry

_MOST_NOTES: Final = 5


@dataclass(frozen=True)
class ValueDifference:
    """A value on two sides; None if not set there, or secret. For two times, `author` set the later value."""

    change: Change
    one: str | None
    other: str | None
    author: str = ""
    time: int | None = None
    reason: str | None = None

    @property
    def resource(self) -> str:
        return change_resource_text(self.change)

    @property
    def key(self) -> str:
        return key_text(self.change)

    @property
    def shown(self) -> tuple[str | None, str | None]:
        """Both values with their units."""
        return shown(self.change, self.one), shown(self.change, self.other)


@dataclass(frozen=True)
class Comparison:
    """`unknown`: names for which it is unknown whether they differ."""

    differences: Sequence[ValueDifference]
    notes: Sequence[str] = ()
    unknown: Sequence[str] = ()


def compare_clusters(one: ClusterSnapshot, other: ClusterSnapshot, other_name: str) -> Comparison:
    """Computed once for two snapshots."""
    known: dict[str, Any] = one.derived(("compare", other_name), lambda _: {})
    if known.get("other") is not other:
        found = [ValueDifference(*each) for each in diff_clusters(one.state, other.state)]
        known.update(other=other, found=Comparison(found))
    result: Comparison = known["found"]
    return result


def compare_times(snapshot: ClusterSnapshot, begin: int, end: int | None) -> Comparison:
    """Compare two times (milliseconds), or a time and now. Raises ConfigurationError if the record begins later."""
    history = snapshot.history
    if history is None:
        raise ConfigurationError(f"Two times cannot be compared. {snapshot.history_error or NOT_READ}")
    recorded = history.recorded._replace(entries=history.recorded.entries[: history.count])
    later = None if end is None else Moment(end)
    if recorded.is_complete:
        recorded.check_reaches(time=begin)
        found = [
            ValueDifference(
                last.change,
                first.change.before,
                last.change.after,
                entry_author(last),
                last.time,
                last.caller.reason,
            )
            for first, last in diff_times(entries_between(recorded, Moment(begin), later))
        ]
        unsure = unsure_entries(recorded.entries, begin, end)
        limits = limit_notes(history)
        return Comparison(found, [*recorded.notes, *limits, *map(unsure_note, unsure[:_MOST_NOTES]), *_more(unsure)])
    notes = [*recorded.notes, *limit_notes(history)]
    if history.begin is not None and begin < history.begin:
        notes = [*notes, begin_note(history.begin)]
    return _by_record(HistoryByKey(recorded.entries, LiveValues(snapshot.state)), Moment(begin), later, notes)


def _more(unsure: Sequence[HistoryEntry]) -> list[str]:
    count = len(unsure) - _MOST_NOTES
    if count <= 0:
        return []
    return [f"{count:,} more changes may have been made before or after a compared time: their exact times are unknown"]


def _by_record(record: HistoryByKey, begin: Moment, end: Moment | None, notes: Sequence[str]) -> Comparison:
    found = diff_record(record, begin, end)
    differences = []
    for change, before, after, attribution in found.differences:
        author = attribution.author
        time, reason = (None, None) if author is None else (author.time, author.caller.reason)
        differences.append(ValueDifference(change, before, after, attributed(attribution), time, reason))
    more = [
        *dict.fromkeys(gap_note(*each) for each in found.gaps),
        *(unreadable_note(each) for each in found.unread),
        *secret_notes(found.unreadable),
    ]
    return Comparison(differences, [*notes, *more], [name_text(each) for each in found.unknown])
