"""The changes of each key in a time range, from a complete journal.

A record with gaps is read by `record.py` instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.operations.history.entries import HistoryEntry, RecordedHistory
    from kconf.operations.history.record import Moment
    from kconf.operations.state import ConfigName


class HistoryRange(NamedTuple):
    """The first and the last change of a key in a time range."""

    first: HistoryEntry
    last: HistoryEntry


def ranges(entries: Iterable[HistoryEntry]) -> dict[ConfigName, HistoryRange]:
    """The ranges by resource and key, without changes whose outcome is unknown."""
    found: dict[ConfigName, HistoryRange] = {}
    for each in entries:
        if each.outcome == "done":
            name = each.change.resource, each.change.key
            found[name] = HistoryRange(found[name].first if name in found else each, each)
    return found


def entries_between(history: RecordedHistory, begin: Moment, end: Moment | None = None) -> list[HistoryEntry]:
    """The entries after `begin` and up to `end`; raises an error if the journal begins later."""
    history.check_reaches(revision=begin.revision, time=begin.time)
    return [each for each in history.entries if not begin.includes(each) and (end is None or end.includes(each))]


def change_of(resource: Resource, key: str, value: str | None) -> Change:
    """A value that is set now, as a journal entry; None for a secret."""
    kind = ChangeKind.TOPIC if resource.type is ResourceType.TOPIC and not key else ChangeKind.CONFIG
    sensitive = value is None
    return Change(kind, resource, key, None, "" if sensitive else value, "set", sensitive)
