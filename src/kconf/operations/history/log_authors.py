"""Who made the changes of a followed metadata log, as far as the journals of kconf's own clients tell.

The log says what was changed and when, and never by whom. A client's journal says who asked for what, between which
times. A change of the log has an author if the journals have exactly one for it: the same value of the same key,
requested before it was committed and answered after. Else its author is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from kconf.model.journal import Change, ChangeKind
from kconf.operations.history.sources import HistoryEntry

LOG_ORIGIN: Final = "log"
CLIENT_ORIGIN: Final = "client"
_CLOCK_SKEW: Final = 1000  # milliseconds between the clocks of a client and of a controller
_LONGEST_CALL: Final = 60_000  # where a journal does not say when the answer came

_Subject = tuple[object, ...]


def with_authors(entries: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Entries of a log and of client journals as one record, in which each change is once. Keeps the order."""
    if not any(each.origin == LOG_ORIGIN for each in entries):
        return list(entries)
    requests: dict[_Subject, list[HistoryEntry]] = defaultdict(list)
    for each in entries:
        if each.origin == CLIENT_ORIGIN:
            requests[_subject(each.change)].append(each)
    found: list[HistoryEntry] = []
    seen_in_log: set[int] = set()
    for each in entries:
        if each.origin != LOG_ORIGIN:
            continue
        candidates = [one for one in requests[_subject(each.change)] if _fits(one, each)]
        seen_in_log.update(map(id, candidates))
        found.append(_authored(each, candidates))
    others = [each for each in entries if each.origin != LOG_ORIGIN and id(each) not in seen_in_log]
    return sorted([*found, *others], key=lambda each: (each.time, each.revision, each.line))


def _subject(change: Change) -> _Subject:
    """What must be the same: of a topic its operation (clients may not know the replicas), of a secret its key."""
    if change.kind is ChangeKind.TOPIC:
        return change.kind, change.resource, change.op
    after = change.after is not None if change.sensitive else change.after
    return change.kind, change.resource, change.key, after


def _fits(request: HistoryEntry, change: HistoryEntry) -> bool:
    answered = request.answered if request.answered is not None else request.time + _LONGEST_CALL
    return request.time - _CLOCK_SKEW <= change.time <= answered + _CLOCK_SKEW


def _authored(change: HistoryEntry, candidates: Iterable[HistoryEntry]) -> HistoryEntry:
    authors = {(each.caller.principal, each.caller.reason, each.os_user): each for each in candidates}
    if len(authors) != 1:
        return change
    (author,) = authors.values()
    return change._replace(caller=author.caller, os_user=author.os_user)
