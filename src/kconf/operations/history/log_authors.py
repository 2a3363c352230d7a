"""Finds the authors of changes in a followed metadata log, from the journals of kconf's own clients.

The log has every change with its time, but no author. A client's journal has the author of each request, and the range
of log offsets in which it was committed, or only a range of times if the client could not read the offsets. A request
and a change are matched only if there is no doubt: the same key was set to the same value within the range (and from
the same value, if only times are known), and neither matches another one. Otherwise the author is unknown.
spark/transforms/followed.py does the same in the lake.

A request that matches no change in the log was not committed, if the log is known for the whole range. Otherwise the
request is kept as a change.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.model.journal import Change, ChangeKind
from kconf.model.log_matching import CLOCK_SKEW, LONGEST_CALL, NOT_IN_LOG
from kconf.operations.history.entries import LOG_ORIGIN, OUTSIDE_ORIGIN, SNAPSHOT_ORIGIN, HistoryEntry

if TYPE_CHECKING:
    from kconf.client.kraft.archive import LogSegment

GATEWAY_ORIGIN: Final = "kconf"
_FOLLOWED: Final = (LOG_ORIGIN, SNAPSHOT_ORIGIN)
_Subject = tuple[object, ...]


class CoveredRun(NamedTuple):
    """A part of the log that files cover without a gap, with the times of its first and last change."""

    begin: int
    end: int
    first: int
    last: int

    def covers(self, request: HistoryEntry) -> bool:
        """Whether a request can only have been committed inside this part."""
        if request.log_begin is not None and request.log_end is not None:
            return self.begin <= request.log_begin and request.log_end <= self.end
        earliest, latest = _times(request)
        return self.first <= earliest and latest <= self.last


class FollowedRecord(NamedTuple):
    """The entries of a log and of client journals as one record, with each change once.

    `contradicted`: requests that clients recorded as done, but that are not in the log.
    """

    entries: list[HistoryEntry]
    contradicted: list[HistoryEntry]


def with_authors(entries: Sequence[HistoryEntry], segments: Sequence[LogSegment] = ()) -> FollowedRecord:
    """Combine the log with client journals. `segments` are the files of the log, with the offsets that they cover."""
    changes = _in_order([each for each in entries if each.origin == LOG_ORIGIN])
    gaps = [_bounded(each, changes, segments) for each in entries if each.origin == SNAPSHOT_ORIGIN]
    if not changes and not gaps:
        return FollowedRecord(list(entries), [])
    requests = [_with_offset(each) for each in entries if each.origin not in _FOLLOWED]
    pairs = _candidates(changes, requests)
    in_log = {request for request, _ in pairs}
    authors = {change: requests[request] for request, change in _unique(pairs)}
    found = [_attributed(each, authors.get(place)) for place, each in enumerate(changes)]
    runs = _runs(changes, segments)
    others = [each for place, each in enumerate(requests) if place not in in_log]
    contradicted = [each for each in others if _is_in_log(each) and any(run.covers(each) for run in runs)]
    places = set(map(id, contradicted))
    logged = sorted([*found, *gaps], key=lambda each: (each.revision, each.line))
    kept = [_placed(each, logged) for each in others if id(each) not in places]
    placed = [((each.time, each.revision, each.line), each) for each in logged]
    whole = sorted([*placed, *kept], key=lambda each: each[0])
    return FollowedRecord([each for _, each in whole], [each for each in contradicted if each.outcome == "done"])


def _placed(request: HistoryEntry, logged: Sequence[HistoryEntry]) -> tuple[tuple[float, float, float], HistoryEntry]:
    """A request with its position in the order. A known offset limits its time: a clock may be wrong."""
    if request.log_begin is None:
        return (request.time, request.revision, request.line), request
    place = bisect_left(logged, request.log_begin, key=lambda each: each.revision)
    earlier, later = logged[:place][-1:], logged[place : place + 1]
    time = max([request.time, *(each.time for each in earlier)])
    time = min([time, *(each.time for each in later)])
    after = earlier[0].revision if earlier else -1
    return (time, after + 0.5, request.line), request._replace(time=time)


def _with_offset(request: HistoryEntry) -> HistoryEntry:
    """A gateway's change with its offset, which is its revision."""
    if request.origin != GATEWAY_ORIGIN:
        return request
    return request._replace(log_begin=request.revision, log_end=request.revision + 1)


def _in_order(changes: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Sorted by offset. Times never decrease, although the clock of the next leader may be behind."""
    ordered = sorted(changes, key=lambda each: (each.revision, each.line))
    times = accumulate((each.time for each in ordered), max)
    return [each._replace(time=time) for each, time in zip(ordered, times, strict=True)]


def _attributed(change: HistoryEntry, author: HistoryEntry | None) -> HistoryEntry:
    known = change._replace(is_from_log=True)
    if author is None:
        return known._replace(origin=OUTSIDE_ORIGIN)
    return known._replace(origin=author.origin, caller=author.caller, os_user=author.os_user)


def _bounded(gap: HistoryEntry, changes: Sequence[HistoryEntry], segments: Sequence[LogSegment]) -> HistoryEntry:
    """Changes found by comparing two snapshots: they were made after the last change before the gap."""
    begins = [each.begin for each in segments if each.is_gap and each.end == gap.revision + 1]
    place = bisect_right(changes, min(begins, default=0) - 1, key=lambda each: each.revision)
    not_before = changes[place - 1].time if place else None
    return gap._replace(is_from_log=True, not_before=not_before, read_since=gap.time)


def _runs(changes: Sequence[HistoryEntry], segments: Sequence[LogSegment]) -> list[CoveredRun]:
    found: list[tuple[int, int]] = []
    for each in sorted(segment for segment in segments if not segment.is_gap):
        if found and each.begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], each.end)
        else:
            found.append((each.begin, each.end))
    timed = [(run, [each.time for each in changes if run[0] <= each.revision < run[1]]) for run in found]
    return [CoveredRun(*run, min(times), max(times)) for run, times in timed if times]


def _candidates(changes: Sequence[HistoryEntry], requests: Sequence[HistoryEntry]) -> list[tuple[int, int]]:
    """Pairs of a request and a change that may belong to it, by index."""
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
    """The pairs in which neither side is part of another pair."""
    counts: dict[tuple[str, int], int] = defaultdict(int)
    for request, change in pairs:
        counts["request", request] += 1
        counts["change", change] += 1
    return [pair for pair in pairs if counts["request", pair[0]] == counts["change", pair[1]] == 1]


def _subject(change: Change) -> _Subject:
    """What must be equal: for a topic the operation (clients may not know the replicas), for a secret its key."""
    if change.kind is ChangeKind.TOPIC:
        return change.kind, change.resource, change.op
    if change.sensitive:
        return change.kind, change.resource, change.key, change.after is not None
    return change.kind, change.resource, change.key, change.after


def _fits(request: HistoryEntry, change: HistoryEntry) -> bool:
    begin, end = request.log_begin, request.log_end
    if begin is not None and (change.revision < begin or (end is not None and change.revision >= end)):
        return False
    if begin is not None and end is not None:
        return True
    earliest, latest = _times(request)
    return earliest <= change.time <= latest and _has_same_before(request.change, change.change)


def _has_same_before(request: Change, change: Change) -> bool:
    is_comparable = change.kind is not ChangeKind.TOPIC and not change.sensitive
    return not is_comparable or request.before == change.before


def _times(request: HistoryEntry) -> tuple[int, int]:
    answered = request.answered if request.answered is not None else request.time + LONGEST_CALL
    return request.time - CLOCK_SKEW, answered + CLOCK_SKEW


def _is_in_log(entry: HistoryEntry) -> bool:
    return entry.change.resource.type.word not in NOT_IN_LOG
