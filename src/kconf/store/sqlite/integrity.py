"""Finds damage in the file of a store: quickly when a server starts, completely with `kconf store verify`.

SQLite has no checksums, so its own checks find broken pages but not changed contents. Additional checks: every record
can be decoded, the journal has no gaps, its index is complete, and the state matches the journal.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from logging import getLogger
from pathlib import Path
from typing import Final

from kconf.errors import StoreDamaged
from kconf.store.base import StorePart, Verification
from kconf.store.record_codec import DamagedRecord
from kconf.store.sqlite.agreement import disagreements
from kconf.store.sqlite.files import connect, is_damage, store_errors
from kconf.store.sqlite.journal_times import read_steps
from kconf.store.sqlite.rows import damage_of, read_attempt, read_folded, read_revision, read_snapshot_rows
from kconf.store.sqlite.schema import FIRST, FOLDED, LAST, RECORD, TOUCHED, check

log = getLogger(__name__)

MAX_CHECKED: Final = 100_000  # revisions that are checked when a server starts
_MAX_SHOWN: Final = 5  # reported problems of each kind
_IS_RECORD: Final = f"CASE WHEN json_valid(record) THEN json_type(record, '$[{len(RECORD) - 1}]') IS 'array' ELSE 0 END"
_STATE: Final = ("meta", "resources", "topics")
_JOURNAL: Final = ("journal", "touched")
_AUDIT_LOG: Final = ("attempts",)


def verify(path: Path) -> Verification:
    """Check everything. A server may be using the store."""
    with store_errors(path), closing(connect(path, read_only=True)) as db:
        db.execute("BEGIN")
        check(db, path)
        return inspect(db)


def check_at_start(db: sqlite3.Connection, path: Path) -> None:
    """Raise StoreDamaged if the file is damaged. Checks only the newest `MAX_CHECKED` revisions of the journal."""
    problems = _problems(lambda: _quick(db, MAX_CHECKED))
    if not problems:
        return
    found = inspect(db)
    parts = "; ".join(f"{each.name}: {each.problems[0] if each.problems else 'intact'}" for each in found.parts)
    help_ = "restore a backup" + ("" if found.is_state_damaged else ", or copy the state with `kconf store copy`")
    raise StoreDamaged(f"{path} is damaged ({parts if found.is_damaged else problems[0]}): {help_}")


def check_copy(db: sqlite3.Connection, path: Path) -> None:
    """Raise StoreDamaged if a copy of the store `path` is damaged. Reads all its contents."""
    problems = [*_problems(lambda: _quick(db)), *_state(db).problems, *_problems(lambda: _records(db))]
    if problems:
        raise StoreDamaged(f"{path} is damaged, so it was not backed up: {problems[0]}; see `kconf store verify`")


def check_state(db: sqlite3.Connection, path: Path) -> None:
    """Raise StoreDamaged if the state is damaged. The journal may be."""
    problems = _state(db).problems
    if problems:
        raise StoreDamaged(f"{path} is damaged, including its state: {problems[0]}")


def inspect(db: sqlite3.Connection) -> Verification:
    """Check everything, with an open connection."""
    state, journal, audit_log = _state(db), _journal(db), _audit_log(db)
    parts = [state, journal, audit_log]
    if not state.problems and not journal.problems:
        parts.append(StorePart("agreement", "state and journal", _problems(lambda: disagreements(db))))
    if not any(each.problems for each in parts):
        parts.append(StorePart("pages", "the whole file", _problems(lambda: _pages(db, "PRAGMA integrity_check(5)"))))
    return Verification(tuple(parts))


def _quick(db: sqlite3.Connection, limit: int | None = None) -> Iterator[str]:
    """Check the pages of all tables, and the newest `limit` revisions of the journal, or all."""
    oldest, last = _range(db)
    first = oldest if limit is None else max(oldest, last + 1 - limit)
    tables = (*_STATE, *_AUDIT_LOG, *(_JOURNAL if first == oldest else ()))
    for table in _existing(db, tables):
        yield from _pages(db, f"PRAGMA quick_check({table})")
    if first > oldest:
        log.info("store: checked revisions %d to %d; `kconf store verify` checks all from %d", first, last, oldest)
    count, valid = db.execute(
        f"SELECT count(*), coalesce(sum({_IS_RECORD}), 0) FROM journal WHERE number >= ?", (first,)
    ).fetchone()
    if count != last + 1 - first:
        yield f"{last + 1 - first - count} revisions are missing from the journal"
    if valid != count:
        yield f"{count - valid} revisions of the journal cannot be read"


def _state(db: sqlite3.Connection) -> StorePart:
    def find() -> Iterator[str]:
        yield from _structure(db, _STATE)
        with damage_of("the state"):
            rows = read_snapshot_rows(db)
            folded = read_folded(db)
        last = _last(db)
        counts.append(f"{len(rows.topics)} topics, {len(rows.overrides)} resources")
        newer = [each for each, revision in rows.revisions.items() if revision > max(last, folded)]
        if newer:
            yield f"{newer[0]} was changed after the last revision"
        tail = db.execute("SELECT number, record FROM journal WHERE number > ? ORDER BY number", (folded,))
        for expected, (number, record) in enumerate(tail, folded + 1):
            if read_revision(number, record).number != expected:
                yield f"revision {expected} is missing, and the state does not include it yet"
                return

    counts: list[str] = []
    problems = _problems(find)
    return StorePart("state", counts[0] if counts else "", problems)


def _journal(db: sqlite3.Connection) -> StorePart:
    def find() -> Iterator[str]:
        spans.append("revisions {} to {}".format(*_range(db)))
        yield from _structure(db, _JOURNAL)
        yield from _records(db)
        if "touched" in _tables(db):
            yield from _index(db)

    spans: list[str] = []
    problems = _problems(find)
    return StorePart("journal", spans[0] if spans else "", problems)


def _audit_log(db: sqlite3.Connection) -> StorePart:
    def find() -> Iterator[str]:
        yield from _structure(db, _AUDIT_LOG)
        if "attempts" not in _tables(db):
            return
        for number, record in db.execute("SELECT number, record FROM attempts ORDER BY number"):
            read_attempt(number, record)
            count[0] += 1

    count = [0]
    problems = _problems(find)
    return StorePart("audit log", f"{count[0]} entries", problems)


def _records(db: sqlite3.Connection) -> Iterator[str]:
    """Check that every record can be decoded, no number is missing, and clock steps are recorded."""
    expected, _ = _range(db)
    last_time, steps = 0, read_steps(db)
    for number, record in db.execute("SELECT number, record FROM journal ORDER BY number"):
        if number != expected:
            yield f"revision {expected} is missing; {number} is next"
        expected = number + 1
        try:
            time = read_revision(number, record).time
        except DamagedRecord as error:
            yield str(error)
            continue
        if time < last_time and number not in steps:
            yield f"revision {number} has an earlier time than the previous one, and clock_steps does not list it"
        last_time = time


def _index(db: sqlite3.Connection) -> Iterator[str]:
    """Check that `touched` has exactly the folded revisions of each resource."""
    wanted = f"{TOUCHED} WHERE number <= ({FOLDED})"
    kept = "SELECT resource, number FROM touched WHERE number >= (SELECT coalesce(min(number), 0) FROM journal)"
    for first, second, fact in ((wanted, kept, "is missing from"), (kept, wanted, "should not be in")):
        for resource, number in db.execute(f"{first} EXCEPT {second} LIMIT ?", (_MAX_SHOWN,)):
            yield f"revision {number} of {resource} {fact} the index"


def _structure(db: sqlite3.Connection, tables: tuple[str, ...]) -> Iterator[str]:
    for table in _existing(db, tables):
        yield from _pages(db, f"PRAGMA integrity_check({table})")


def _existing(db: sqlite3.Connection, tables: tuple[str, ...]) -> Sequence[str]:
    """The tables that exist. An older schema has fewer."""
    found = _tables(db)
    return [each for each in tables if each in found]


def _tables(db: sqlite3.Connection) -> frozenset[str]:
    return frozenset(name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))


def _pages(db: sqlite3.Connection, pragma: str) -> Iterator[str]:
    for (text,) in db.execute(pragma):
        if text != "ok":
            yield " ".join(str(text).split())


def _range(db: sqlite3.Connection) -> tuple[int, int]:
    """The first and the last revision, or 1 and 0 if there are none."""
    return db.execute(FIRST).fetchone()[0] or 1, _last(db)


def _last(db: sqlite3.Connection) -> int:
    return db.execute(LAST).fetchone()[0] or 0


def _problems(find: Callable[[], Iterator[str]]) -> list[str]:
    """The first problems. An error that ends the check is one too."""
    found: list[str] = []
    try:
        with damage_of("its contents"):
            for each in find():
                found.append(each)
                if len(found) == _MAX_SHOWN:
                    break
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        found.append(str(error))
    except DamagedRecord as error:
        found.append(str(error))
    return found
