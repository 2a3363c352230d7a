"""The entries of a recorded history, whatever source they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kconf.errors import ConfigurationError
from kconf.model.journal import Change, RequestContext, Revision
from kconf.operations.selection.scopes import in_scope

if TYPE_CHECKING:
    from kconf.engine.declarative.model import Scope

FEED, JOURNAL, LAKE = SOURCES = ("feed", "journal", "lake")
BOTH: Final = "journal+lake"
SNAPSHOT_ORIGIN: Final = "snapshot"
LOG_ORIGIN: Final = "log"
OUTSIDE_ORIGIN: Final = "outside"


class HistoryEntry(NamedTuple):
    """A recorded change; `outcome` is `done`, or `unknown` if it was started and its result is not recorded.

    If only snapshots show it, `origin` is `snapshot` and `change.before` has no meaning: the value was read between
    `read_since` and `time`, and the last snapshot without it was started at `not_before` (None if there is none). A
    gateway that polls its cluster saw a change at `time` that was made after `not_before`. `is_from_log`: it was read
    from a metadata log, which has all changes, including those of other tools. A client's journal also has the time of
    the response (`answered`), and the end of the metadata log before and after it.
    """

    time: int
    revision: int
    line: int
    change: Change
    caller: RequestContext
    origin: str
    os_user: str | None = None
    outcome: str = "done"
    not_before: int | None = None
    read_since: int | None = None
    is_from_log: bool = False
    answered: int | None = None
    log_begin: int | None = None
    log_end: int | None = None

    @property
    def is_snapshot(self) -> bool:
        return self.origin == SNAPSHOT_ORIGIN

    @property
    def known_at(self) -> int | None:
        """When the value was last known to be set by this change (milliseconds); None if unknown."""
        return self.time if not self.is_snapshot else self.read_since or self.not_before


class RecordedHistory(NamedTuple):
    """The entries of a source, with `notes` on what is missing. `trimmed`: where the journal begins, if not at 1."""

    source: str
    cluster: str
    entries: list[HistoryEntry]
    notes: list[str]
    trimmed: JournalStart | None = None

    @property
    def is_complete(self) -> bool:
        """Whether it has all changes since the beginning, including those of other tools: only on a kconf server."""
        return self.source == FEED

    def check_reaches(self, *, revision: int | None = None, time: int | None = None) -> None:
        """Raise an error if the journal begins after a revision or a time (milliseconds)."""
        if self.trimmed is None:
            return
        oldest, start = self.trimmed
        if (revision is not None and revision < oldest - 1) or (time is not None and time < start):
            raise ConfigurationError(f"the journal begins at revision {oldest}; earlier changes are not available")


class JournalStart(NamedTuple):
    """The first revision of a journal, and its time (milliseconds)."""

    oldest: int
    time: int


def is_covered(entry: HistoryEntry, scopes: Sequence[Scope]) -> bool:
    return in_scope(scopes, entry.change.resource, entry.change.key)


def entries_of(revision: Revision, *, os_user: str | None = None) -> Iterator[HistoryEntry]:
    for place, change in enumerate(revision.changes):
        yield HistoryEntry(
            revision.time,
            revision.number,
            place,
            change,
            revision.caller,
            revision.origin,
            os_user,
            not_before=revision.not_before,
        )


def entry_of_line(line: dict[str, Any]) -> HistoryEntry:
    from kconf.model.lines.journal import read_caller, read_change

    change = read_change(line)
    caller = read_caller(line)
    more = line.get("os_user"), line.get("outcome", "done")
    entry = HistoryEntry(line["time"], line["revision"], line["line"], change, caller, line["origin"], *more)
    return entry._replace(answered=line.get("answered"), log_begin=line.get("log_begin"), log_end=line.get("log_end"))
