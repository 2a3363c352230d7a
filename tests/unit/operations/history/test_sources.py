"""Entries as they are read from a journal."""

from __future__ import annotations

from typing import Any

from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.lines.journal import change_lines
from kconf.model.resource import Resource
from kconf.operations.history.entries import HistoryEntry, entries_of, entry_of_line
from kconf.operations.history.sources import without_steps

HOUR = 3_600_000


def entries(*times: int) -> list[HistoryEntry]:
    change = Change(ChangeKind.CONFIG, Resource.topic("t"), "k", None, "v", "set")
    return [HistoryEntry(time, number, 0, change, RequestContext(), "kconf") for number, time in enumerate(times, 1)]


def times(found: list[HistoryEntry]) -> list[int]:
    return [each.time for each in found]


def test_increasing_times_are_unchanged() -> None:
    found, notes = without_steps(entries(1, 1, 2, HOUR))

    assert (times(found), notes) == ([1, 1, 2, HOUR], [])


def test_an_entry_with_a_future_time_gets_the_time_of_its_successor() -> None:
    found, notes = without_steps(entries(1000, HOUR, HOUR + 5000, 3000, 4000))

    assert times(found) == [1000, 3000, 3000, 3000, 4000]
    assert [each.revision for each in found] == [1, 2, 3, 4, 5]
    assert notes == [
        (
            "the server's clock was set back before revision 4: earlier revisions with times up to 3602 s too late"
            " are shown with the time of revision 4"
        )
    ]


def test_each_clock_jump_has_a_note_but_a_small_step_does_not() -> None:
    found, notes = without_steps(entries(2 * HOUR, 1000, 900, HOUR, 2000))

    assert times(found) == [900, 900, 900, 2000, 2000]
    assert [each.split(":")[0] for each in notes] == [
        "the server's clock was set back before revision 3",
        "the server's clock was set back before revision 5",
    ]


def test_an_empty_journal_stays_empty() -> None:
    assert without_steps([]) == ([], [])


def test_a_revision_becomes_one_entry_per_change_with_the_time_before_which_it_cannot_have_been_made() -> None:
    changes = tuple(Change(ChangeKind.CONFIG, Resource.topic("t"), key, None, "v", "set") for key in "ab")
    caller = RequestContext("User:ana")
    polled = Revision(7, 1000, caller, changes, "outside", not_before=400)

    assert list(entries_of(polled, os_user="ana")) == [
        HistoryEntry(1000, 7, place, change, caller, "outside", "ana", not_before=400)
        for place, change in enumerate(changes)
    ]
    assert [each.not_before for each in entries_of(Revision(8, 1000, caller, changes))] == [None, None]


def test_a_line_of_a_clients_journal_becomes_an_entry_with_all_its_fields() -> None:
    change = Change(ChangeKind.CONFIG, Resource.topic("t"), "k", "1", "2", "set")
    caller = RequestContext("User:ana", reason="ticket 12")
    (line,) = change_lines("C", 1, Revision(7, 1000, caller, (change,), "client"))

    plain = HistoryEntry(1000, 7, 0, change, caller, "client")
    assert entry_of_line(line) == plain
    more: dict[str, Any] = {"os_user": "ana", "outcome": "unknown", "answered": 1500, "log_begin": 40, "log_end": 44}
    assert entry_of_line(line | more) == plain._replace(**more)
