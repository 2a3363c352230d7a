"""Who made the changes of a followed metadata log, as far as the journals of kconf's own clients tell.

The log says what was changed and when, and never by whom. A client's journal says who asked for what, between which
times. They are matched only if there is no doubt: the same key went from the same value to the same value, between the
request and its response, and the request fits no other change and the change no other request. Else the author is
unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from kconf.model.journal import Change, ChangeKind
from kconf.operations.history.sources import LOG_ORIGIN, HistoryEntry

CLIENT_ORIGIN: Final = "client"
_CLOCK_SKEW: Final = 1000  # milliseconds between the clocks of a client and of a controller
_LONGEST_CALL: Final = 60_000  # where a journal does not say when the response came

_Subject = tuple[object, ...]


def with_authors(entries: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Entries of a log and of client journals as one record, in which each change is once."""
    changes = [each for each in entries if each.origin == LOG_ORIGIN]
    if not changes:
        return list(entries)
    requests = [each for each in entries if each.origin == CLIENT_ORIGIN]
    pairs = _candidates(changes, requests)
    in_log = {request for request, _ in pairs}
    authors = {change: requests[request] for request, change in _unique(pairs)}
    found = [
        each._replace(caller=authors[place].caller, os_user=authors[place].os_user) if place in authors else each
        for place, each in enumerate(changes)
    ]
    kept = [each for place, each in enumerate(requests) if place not in in_log]
    others = [each for each in entries if each.origin not in (LOG_ORIGIN, CLIENT_ORIGIN)]
    return sorted([*found, *kept, *others], key=lambda each: (each.time, each.revision, each.line))


def _candidates(changes: Sequence[HistoryEntry], requests: Sequence[HistoryEntry]) -> list[tuple[int, int]]:
    """Pairs of a request and a change that it may have made, by their places."""
    by_subject: dict[_Subject, list[int]] = defaultdict(list)
    for place, each in enumerate(requests):
        by_subject[_subject(each.change)].append(place)
    return [
        (request, place)
        for place, change in enumerate(changes)
        for request in by_subject[_subject(change.change)]
        if _fits(requests[request], change)
    ]


def _unique(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs whose two sides are in no other pair."""
    counts: dict[tuple[str, int], int] = defaultdict(int)
    for request, change in pairs:
        counts["request", request] += 1
        counts["change", change] += 1
    return [pair for pair in pairs if counts["request", pair[0]] == counts["change", pair[1]] == 1]


def _subject(change: Change) -> _Subject:
    """What must be the same: of a topic its operation (clients may not know the replicas), of a secret its key."""
    if change.kind is ChangeKind.TOPIC:
        return change.kind, change.resource, change.op
    if change.sensitive:
        return change.kind, change.resource, change.key, change.after is not None
    return change.kind, change.resource, change.key, change.before, change.after


def _fits(request: HistoryEntry, change: HistoryEntry) -> bool:
    answered = request.answered if request.answered is not None else request.time + _LONGEST_CALL
    return request.time - _CLOCK_SKEW <= change.time <= answered + _CLOCK_SKEW
