"""Finds revisions of a SQLite journal by time, even if the clock was set back.

`clock_steps` in the table meta has the revisions with an earlier time than the previous one. Between two of them times
never decrease. A revision counts as committed no later than any later revision: see `JournalReader.revision_at`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from kconf.store.sqlite.schema import FIRST, LAST

_STEPS = "SELECT value FROM meta WHERE key = 'clock_steps'"


def read_steps(db: sqlite3.Connection) -> list[int]:
    found = db.execute(_STEPS).fetchone()
    return [] if found is None else [int(each) for each in json.loads(found[0])]


def write_steps(db: sqlite3.Connection, steps: Sequence[int]) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES ('clock_steps', ?)", (json.dumps(steps),))


def time_of(db: sqlite3.Connection, number: int) -> int:
    (time,) = db.execute("SELECT time FROM journal WHERE number = ?", (number,)).fetchone()
    return int(time)


def last_at(db: sqlite3.Connection, time: int) -> int:
    """The last revision at or before this time. If there is none, the number before the first revision."""
    (first,), (last,) = db.execute(FIRST).fetchone(), db.execute(LAST).fetchone()
    if first is None:
        return 0
    end = last + 1
    steps = [each for each in read_steps(db) if first < each <= last]
    for begin in (*reversed(steps), first):
        if time_of(db, begin) <= time:
            return _last_between(db, begin, end, time)
        end = begin
    return int(first) - 1


def _last_between(db: sqlite3.Connection, low: int, high: int, time: int) -> int:
    """Binary search in a range where times do not decrease. The result is in [low, high)."""
    while high - low > 1:
        middle = (low + high) // 2
        if time_of(db, middle) > time:
            high = middle
        else:
            low = middle
    return low
