"""Where the history of a cluster comes from: the journal of a kconf server, a journal directory, or a lake.

A kconf server has its own journal (`feed`), the only complete one. For other clusters a context may have a `journal:`
directory, in which clients record their changes, a `lake:`, or both, which are then read as one record. All of them
return the same kind of entries, oldest first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from kconf.errors import ConfigurationError, JournalTrimmed, UnsupportedVersion
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.lines.fields import CALLER_NAMES
from kconf.model.resource import Resource, ResourceType
from kconf.operations.history.entries import (
    BOTH,
    FEED,
    JOURNAL,
    LAKE,
    LOG_ORIGIN,
    SNAPSHOT_ORIGIN,
    HistoryEntry,
    JournalStart,
    RecordedHistory,
    entries_of,
    entry_of_line,
    is_covered,
)
from kconf.operations.selection.scopes import types_of

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.declarative.model import Scope
    from kconf.lake.lookup import LakeTables
    from kconf.operations.target import Target

_NEVER: Final = 2**63
_MAX_STEP: Final = 60_000  # milliseconds; smaller clock steps need no note
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TYPES: Final = {each.word: each for each in ResourceType}


def read_history(
    target: Target, admin: SyncAdminClient, scopes: Sequence[Scope], *, which: str | None = None
) -> RecordedHistory:
    """The changes of resources in the scopes, from the given source or the first available one."""
    cluster = admin.describe_cluster().cluster_id or ""
    found = _first(target, admin, cluster, scopes) if which is None else _read(which, target, admin, cluster, scopes)
    if found is not None:
        entries = [each for each in found.entries if is_covered(each, scopes)]
        return found._replace(entries=entries)
    if which is not None:
        raise ConfigurationError(f"{target.name} has no {which}")
    raise ConfigurationError(
        f"{target.name} has no journal; add a `journal:` directory, in which kconf records its changes, or a `lake:` "
        "to the context"
    )


def _first(target: Target, admin: SyncAdminClient, cluster: str, scopes: Sequence[Scope]) -> RecordedHistory | None:
    """The journal of the server or, if it has none, the journal directory and the lake of the context."""
    feed, journal = (_read(each, target, admin, cluster, scopes) for each in (FEED, JOURNAL))
    if feed is not None or target.context.lake is None:
        return feed or journal
    if journal is None:
        return _from_lake(target.context.lake, cluster)
    from kconf.lake.storage.location import LakeError

    try:
        return merged(journal, _from_lake(target.context.lake, cluster))
    except LakeError as error:
        return journal._replace(notes=[*journal.notes, f"only the journal was read: {error}"])


def merged(journal: RecordedHistory, lake: RecordedHistory) -> RecordedHistory:
    """Combine both into one record. The pipeline reads journals, so most entries are in both."""
    places = {_place(each) for each in journal.entries}
    requests = {_moment(each) for each in journal.entries if not each.is_from_log}
    fresh = (each for each in lake.entries if _place(each) not in places and _moment(each) not in requests)
    entries = [*journal.entries, *fresh]
    entries.sort(key=lambda each: (each.time, each.revision, each.line))
    return RecordedHistory(BOTH, journal.cluster, entries, [*journal.notes, *lake.notes])


def _place(entry: HistoryEntry) -> tuple[object, ...]:
    return entry.revision, entry.line, entry.change.resource, entry.change.key


def _moment(entry: HistoryEntry) -> tuple[object, ...]:
    """The fields by which a change that a client recorded on a followed cluster is found in a lake."""
    return entry.time, entry.change.resource, entry.change.key, entry.change.after


def _read(
    source: str, target: Target, admin: SyncAdminClient, cluster: str, scopes: Sequence[Scope]
) -> RecordedHistory | None:
    if source == FEED:
        return _from_feed(admin, cluster, scopes)
    if source == JOURNAL:
        return None if target.context.journal is None else _from_directory(target.context.journal, cluster)
    return None if target.context.lake is None else _from_lake(target.context.lake, cluster)


def _from_feed(admin: SyncAdminClient, cluster: str, scopes: Sequence[Scope]) -> RecordedHistory | None:
    about = types_of(scopes)
    entries: list[HistoryEntry] = []
    notes: list[str] = []
    after = oldest = 0
    more = True
    while more:
        try:
            page = admin.list_changes(after, about=about)
        except UnsupportedVersion:
            return None
        except JournalTrimmed as trimmed:
            notes.append(f"the journal begins at revision {trimmed.oldest}")
            oldest, after = trimmed.oldest, trimmed.oldest - 1
            continue
        entries += [each for revision in page.revisions for each in entries_of(revision)]
        after, more = page.next_after, page.next_after < page.current
    entries, steps = without_steps(entries)
    start = _journal_start(admin, oldest, entries) if oldest else None
    return RecordedHistory(FEED, cluster, entries, [*notes, *steps], start)


def _journal_start(admin: SyncAdminClient, oldest: int, entries: Sequence[HistoryEntry]) -> JournalStart:
    first = admin.list_changes(oldest - 1, limit=1).revisions
    times = [each.time for each in first] + [each.time for each in entries[:1]]
    return JournalStart(oldest, min(times, default=_NEVER))


def without_steps(entries: Sequence[HistoryEntry]) -> tuple[list[HistoryEntry], list[str]]:
    """The entries of one journal in order, with times that never decrease, and notes about corrected times.

    If the clock of a server was set back, entries before that have times that are too late.
    """
    found: list[HistoryEntry] = []
    ahead: dict[int, int] = {}  # by the revision before which the clock was set back
    earliest: HistoryEntry | None = None
    for each in reversed(entries):
        if earliest is None or each.time <= earliest.time:
            earliest = each
        else:
            ahead[earliest.revision] = max(ahead.get(earliest.revision, 0), each.time - earliest.time)
        found.append(each._replace(time=earliest.time))
    notes = [
        f"the server's clock was set back before revision {revision}: earlier revisions with times up to"
        f" {lead // 1000} s too late are shown with the time of revision {revision}"
        for revision, lead in sorted(ahead.items())
        if lead > _MAX_STEP
    ]
    return found[::-1], notes


def _from_directory(directory: str, cluster: str) -> RecordedHistory:
    from kconf.client.journal.files import read_journal

    recorded = read_journal(directory, cluster)
    found = [entry_of_line(each) for each in (*recorded.changes, *recorded.unknown)]
    entries, contradicted = _one_record(directory, cluster, found)
    notes = []
    unknown = sum(each.outcome != "done" for each in entries)
    if unknown:
        what = "change was" if unknown == 1 else "changes were"
        notes.append(f"{unknown} {what} started, but the outcome is not recorded: they may or may not have been made")
    if contradicted:
        what = "change that kconf recorded is" if len(contradicted) == 1 else "changes that kconf recorded are"
        notes.append(
            f"{len(contradicted)} {what} not in the metadata log at the recorded time: the clocks of the client and "
            "the controllers may differ by more than a second"
        )
    return RecordedHistory(JOURNAL, cluster, entries, [*notes, *_follower_notes(directory, cluster)])


def _one_record(
    directory: str, cluster: str, entries: Sequence[HistoryEntry]
) -> tuple[list[HistoryEntry], list[HistoryEntry]]:
    """The entries of a journal directory in order, each change once, and those that the metadata log contradicts."""
    from kconf.client.kraft.archive import log_segments
    from kconf.operations.history.log_authors import with_authors
    from kconf.util.atomic_files import cluster_directory

    ordered = sorted(entries, key=lambda each: (each.time, each.revision, each.line))
    if not any(each.origin in (LOG_ORIGIN, SNAPSHOT_ORIGIN) for each in ordered):
        return ordered, []
    found = with_authors(ordered, log_segments(cluster_directory(directory, cluster)))
    return found.entries, found.contradicted


def _follower_notes(directory: str, cluster: str) -> list[str]:
    """A note if the cluster is not followed anymore: later changes by other tools are not recorded."""
    from time import time

    from kconf.client.kraft.archive import IDLE_CHECKPOINT, followed_until
    from kconf.util.atomic_files import cluster_directory

    until = followed_until(cluster_directory(directory, cluster))
    if until is None or time() * 1000 - until < 2 * IDLE_CHECKPOINT * 1000:
        return []
    shown = datetime.fromtimestamp(until / 1000, UTC)
    return [
        (
            f"the metadata log was followed until {shown:%Y-%m-%d %H:%M:%S} UTC; later changes by other tools are not "
            "recorded"
        )
    ]


def _from_lake(uri: str, cluster: str) -> RecordedHistory:
    from kconf.lake.lookup import LakeTables, LookupFilter

    tables = LakeTables(uri)
    entries: list[HistoryEntry] = []
    starts = _snapshot_starts(tables, cluster)
    for row in tables.history(LookupFilter([cluster])):
        entries.append(_began(row, starts))
        if row["ended"] in ("removed", "deleted"):
            entries.append(_ended(row, starts))
    finished = tables.run["finished"]
    note = f"the lake is as of {finished:%Y-%m-%d %H:%M:%S} UTC" if isinstance(finished, datetime) else ""
    entries.sort(key=lambda each: (each.time, each.revision, each.line))
    return RecordedHistory(LAKE, cluster, entries, [note] * bool(note))


def _snapshot_starts(tables: LakeTables, cluster: str) -> dict[int, int]:
    """The start time of each snapshot of a cluster, by its end time."""
    from kconf.lake.lookup import LookupFilter
    from kconf.lake.schemas import SNAPSHOT

    conditions = [*LookupFilter([cluster]).conditions(), "kind = 'snapshot'"]
    rows = tables.rows(SNAPSHOT, conditions, columns="taken, value")
    return {_milliseconds(row["taken"]): int(row["value"]) for row in rows if row["value"]}


def _began(row: dict[str, Any], starts: Mapping[int, int]) -> HistoryEntry:
    caller = RequestContext(*(row[name] for name in CALLER_NAMES))
    change = _interval(row, row["before"], _set_value(row), row["op"] or "set")
    time, previous, is_from_log = _milliseconds(row["since"]), row["not_before"], bool(row["epoch"])
    return HistoryEntry(
        time,
        row["revision"] or 0,
        row["line"] or 0,
        change,
        caller,
        row["origin"],
        not_before=_started(previous, starts, is_from_log=is_from_log),
        read_since=_started(row["seen_at"], starts, is_from_log=is_from_log),
        is_from_log=is_from_log,
    )


def _ended(row: dict[str, Any], starts: Mapping[int, int]) -> HistoryEntry:
    caller = RequestContext(row["until_principal"], reason=row["until_reason"])
    change = _interval(row, _set_value(row), None, "delete")
    place = row["until_revision"] or 0, row["until_line"] or 0
    time = _milliseconds(row["until"])
    entry = HistoryEntry(time, *place, change, caller, row["until_origin"], is_from_log=bool(row["until_epoch"]))
    if not entry.is_snapshot:
        return entry
    return entry._replace(read_since=_started(row["until"], starts, is_from_log=entry.is_from_log))


def _started(time: datetime | None, starts: Mapping[int, int], *, is_from_log: bool) -> int | None:
    """The start time of the snapshot that ended at a time. For a metadata log both are the same."""
    if time is None:
        return None
    finished = _milliseconds(time)
    return finished if is_from_log else starts.get(finished)


def _set_value(row: dict[str, Any]) -> str | None:
    """The value of an interval. A secret that only snapshots show is null in the lake, and empty here."""
    return "" if row["value"] is None and row["sensitive"] else row["value"]


def _interval(row: dict[str, Any], before: str | None, after: str | None, op: str) -> Change:
    resource = Resource(_TYPES[row["resource_type"]], row["resource_name"])
    return Change(ChangeKind(row["kind"]), resource, row["key"], before, after, op, bool(row["sensitive"]))


def _milliseconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(milliseconds=1)
