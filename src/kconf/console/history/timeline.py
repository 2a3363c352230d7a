"""Timelines as coordinates for an SVG: the changes of a key, and its values in between. No text is measured here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kconf.console.history.past import ChangeRow
from kconf.console.words import day, short_time, time_cell

WIDTH: Final = 720
LANE: Final = 22
MINI_WIDTH: Final = 120
MINI_HEIGHT: Final = 14
_MINUTE: Final = 60_000
_DAY: Final = 86_400_000
MOST_MARKS: Final = 200
"""The number of changes that a lane shows, the newest ones."""


@dataclass(frozen=True)
class Mark:
    """A change."""

    x: float
    title: str


@dataclass(frozen=True)
class Span:
    """A value between two changes."""

    x: float
    width: float
    is_set: bool
    title: str


@dataclass(frozen=True)
class Lane:
    key: str
    y: int
    spans: Sequence[Span]
    marks: Sequence[Mark]


@dataclass(frozen=True)
class Tick:
    x: float
    text: str


@dataclass(frozen=True)
class Timeline:
    """From `begin` to `end` (milliseconds). `cursor` is the x of the chosen time."""

    width: int
    height: int
    begin: int
    end: int
    lanes: Sequence[Lane]
    ticks: Sequence[Tick]
    cursor: float | None = None


def timeline(changes: Iterable[ChangeRow], now: int, *, at: int | None = None) -> Timeline | None:
    """A lane for each changed key, the most recently changed first; None if nothing was changed."""
    by_key: dict[str, list[ChangeRow]] = {}
    for each in changes:
        by_key.setdefault(each.key, []).append(each)
    if not by_key:
        return None
    begin, end = _range(min(each[0].time for each in by_key.values()), now)
    ordered = sorted(by_key.items(), key=lambda each: -each[1][-1].time)
    lanes = [_lane(key, rows, place * LANE, begin, end, WIDTH) for place, (key, rows) in enumerate(ordered)]
    cursor = None if at is None else _x(min(max(at, begin), end), begin, end, WIDTH)
    return Timeline(WIDTH, len(lanes) * LANE, begin, end, lanes, _ticks(begin, end), cursor)


def mini(changes: Sequence[ChangeRow], begin: int, now: int) -> Lane | None:
    """The lane of one key, small enough for a table row, on the same time axis as the others."""
    if not changes:
        return None
    start, end = _range(begin, now)
    return _lane(changes[0].key, changes, 0, start, end, MINI_WIDTH)


def _range(first: int, now: int) -> tuple[int, int]:
    """From shortly before the first change until now, at least a minute."""
    length = max(now - first, 60_000)
    return first - length // 20, first + length


def _x(time: int, begin: int, end: int, width: int) -> float:
    return round((time - begin) / (end - begin) * width, 1)


def _lane(key: str, rows: Sequence[ChangeRow], y: int, begin: int, end: int, width: int) -> Lane:
    rows = rows[-MOST_MARKS:]
    marks = [Mark(_x(each.time, begin, end, width), _title(each)) for each in rows]
    edges = [0.0, *(each.x for each in marks), float(width)]
    values = [rows[0].before, *(each.after for each in rows)]
    spans = [
        Span(left, round(max(right - left, 0), 1), value is not None, "not set" if value is None else value)
        for left, right, value in zip(edges[:-1], edges[1:], values, strict=True)
    ]
    return Lane(key, y, spans, marks)


def _title(row: ChangeRow) -> str:
    before, after = row.before or "not set", row.after or "not set"
    why = f": {row.reason}" if row.reason else ""
    return f"{short_time(row.time)} {before} → {after}, {row.who}{why}"


def _ticks(begin: int, end: int) -> list[Tick]:
    """Labels with seconds, minutes or only dates, by the length of the range. Within a day, its date is shown once."""
    count = 4
    times = [begin + (end - begin) * each // count for each in range(count + 1)]
    text = time_cell if end - begin < count * _MINUTE else day if end - begin > count * _DAY else short_time
    texts = [text(each) for each in times]
    if text is not day and day(begin) == day(end):
        texts[1:] = [each.partition(" ")[2] for each in texts[1:]]
    return [Tick(_x(time, begin, end, WIDTH), each) for time, each in zip(times, texts, strict=True)]
