"""Reads the history in the metadata directory of a KRaft controller offline, for a cluster that was not followed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kconf.client.journal.files import read_journal
from kconf.client.kraft.archive import LogSegment
from kconf.client.kraft.follower import LogChanges, LogGap
from kconf.client.kraft.metadata_directory import MetadataDirectory
from kconf.client.kraft.revisions import gap_revision
from kconf.operations.history.entries import (
    LOG_ORIGIN,
    SNAPSHOT_ORIGIN,
    HistoryEntry,
    RecordedHistory,
    entries_of,
    entry_of_line,
    is_covered,
)
from kconf.operations.history.log_authors import with_authors

if TYPE_CHECKING:
    from kconf.engine.declarative.model import Scope

METADATA_LOG: Final = "metadata-log"


def read_metadata_log(
    directory: str, scopes: Sequence[Scope], since: int = 0, *, journal: str | None = None
) -> RecordedHistory:
    """The changes in a directory. Changes that clients recorded in the directory `journal` get their authors."""
    log = MetadataDirectory(directory)
    events = list(log.events())
    begin = max((each.end for each in events if isinstance(each, LogGap)), default=0)
    notes = [f"the log starts at offset {begin}; values set before that have no time and no author"] if begin else []
    notes.append(
        f"the log ends at offset {log.end}; the last records may not be committed yet: the files of one controller "
        "do not show this"
    )
    requests = _requests(journal, log.cluster) if journal is not None and log.cluster else []
    segments = [LogSegment(log.folder, begin, log.end, False)]
    if begin:
        segments.append(LogSegment(log.folder, 0, begin, True))
    whole = with_authors([*_entries(events), *requests], segments).entries
    entries = [each for each in whole if each.is_from_log and each.time >= since and is_covered(each, scopes)]
    return RecordedHistory(METADATA_LOG, log.cluster or "", entries, notes)


def _entries(events: Iterable[LogChanges | LogGap]) -> Iterator[HistoryEntry]:
    for event in events:
        for revision in event.revisions if isinstance(event, LogChanges) else [gap_revision(event)]:
            yield from entries_of(revision)


def _requests(directory: str, cluster: str) -> list[HistoryEntry]:
    found = [entry_of_line(each) for each in read_journal(directory, cluster).changes]
    return [each for each in found if each.origin not in (LOG_ORIGIN, SNAPSHOT_ORIGIN)]
