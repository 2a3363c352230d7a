"""Finds revisions of a SQLite journal by time, although a time may be earlier than that of the revision before.

`clock_steps` in the table meta has the revisions at which that is so: between two of them times never decrease. A
revision counts as committed no later than any revision after it: see `JournalReader.revision_at`.
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
    """The last revision with this time or an earlier one; if there is none, the one before the first."""
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
    """A binary search where times do not decrease: the answer is in [low, high)."""
    while high - low > 1:
        middle = (low + high) // 2
        if time_of(db, middle) > time:
            high = middle
        else:
            low = middle
    return low
