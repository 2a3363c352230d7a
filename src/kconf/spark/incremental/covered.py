"""Finds out whether new files of followed logs changed which offsets are known, also files without lines.

What a log does not contain is known only where files cover it: a recorded request may be refuted, or a gap closed, by a
file without a single line (see transforms/followed.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Covered(NamedTuple):
    """The known parts of a log, without those that touch each other, and its gaps."""

    parts: tuple[tuple[int, int], ...] = ()
    gaps: frozenset[tuple[int, int]] = frozenset()

    @property
    def end(self) -> int:
        return self.parts[-1][1] if self.parts else 0

    def extends(self, other: Covered) -> bool:
        """Whether only the last part became longer."""
        same = [each.parts[:-1] + tuple((begin, 0) for begin, _ in each.parts[-1:]) for each in (self, other)]
        return same[0] == same[1] and self.gaps == other.gaps and self.end > other.end


class News(NamedTuple):
    """What changed since a round: `rearranged` has clusters with other parts or gaps, `longer` those whose last part
    only became longer, with its previous end. `round` is the last one with files."""

    rearranged: frozenset[str]
    longer: Mapping[str, int]
    round: int

    def __bool__(self) -> bool:
        return bool(self.rearranged or self.longer)


def news(ledger: Iterable[Mapping[str, Any]], since: int) -> News:
    """What files after a round changed, from the rows of the ledger."""
    rows = [row for row in ledger if row["end_offset"] is not None]
    last = last_round(rows)
    if last <= since:
        return News(frozenset(), {}, since)
    then, now = _covered(row for row in rows if _round(row) <= since), _covered(rows)
    changed = {cluster for cluster in now if now[cluster] != then.get(cluster, Covered())}
    longer = {
        cluster: then[cluster].end for cluster in changed if cluster in then and now[cluster].extends(then[cluster])
    }
    return News(frozenset(changed - set(longer)), longer, last)


def last_round(ledger: Iterable[Mapping[str, Any]]) -> int:
    """The last round with files of followed logs."""
    return max((_round(row) for row in ledger if row["end_offset"] is not None), default=0)


def _covered(rows: Iterable[Mapping[str, Any]]) -> dict[str, Covered]:
    """Like `files.ranges` and `followed.runs`, in memory: the last row of each file counts."""
    files: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        place = row["source"], row["file"]
        if place not in files or _round(row) >= _round(files[place]):
            files[place] = row
    ranges: dict[str, list[Mapping[str, Any]]] = {}
    for row in files.values():
        if row["read"]:
            ranges.setdefault(row["cluster"], []).append(row)
    return {cluster: _of_cluster(mine) for cluster, mine in ranges.items()}


def _of_cluster(ranges: Iterable[Mapping[str, Any]]) -> Covered:
    parts: list[tuple[int, int]] = []
    gaps = set()
    for begin, end, is_gap in sorted((row["first_offset"], row["end_offset"], row["gap"]) for row in ranges):
        if is_gap:
            gaps.add((begin, end))
        elif parts and begin <= parts[-1][1]:
            parts[-1] = parts[-1][0], max(end, parts[-1][1])
        else:
            parts.append((begin, end))
    return Covered(tuple(parts), frozenset(gaps))


def _round(row: Mapping[str, Any]) -> int:
    return row["round"] or 0
