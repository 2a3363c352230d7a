"""Reads the journal of a SQLite store beside its writer, on a connection of its own: nobody waits for a reader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kconf.errors import JournalTrimmed
from kconf.model.journal import Attempt, Revision
from kconf.model.resource import Resource
from kconf.store.sqlite_files import connect, failures
from kconf.store.sqlite_rows import read_attempt, read_revision, resource_text
from kconf.store.sqlite_schema import FOLDED


class SqliteReader:
    """A JournalReader, for one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with failures(path):
            self._db = connect(path, read_only=True)

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        with failures(self._path):
            self._check(after)
            return self._read("number > ? ORDER BY number LIMIT ?", after, limit)

    def about(self, resource: Resource, after: int) -> Sequence[Revision]:
        """The index reaches as far as the state is folded; the few revisions behind that are looked through."""
        text = resource_text(resource)
        with failures(self._path):
            self._check(after)
            indexed = self._read(
                "number IN (SELECT number FROM touched WHERE resource = ? AND number > ?) ORDER BY number", text, after
            )
            start = max([after, *(each.number for each in indexed[-1:]), self._folded()])
            tail = self._read("number > ? ORDER BY number", start)
        return [*indexed, *(each for each in tail if any(change.resource == resource for change in each.changes))]

    def revision_at(self, time: int) -> int:
        """The last revision that was committed no later than this; found by halving, as times go up with numbers."""
        with failures(self._path):
            first, last = self._db.execute("SELECT min(number), max(number) FROM journal").fetchone()
            if first is None:
                return 0
            low, high = first, last + 1  # the first revision that is later lies in [low, high]
            while low < high:
                middle = (low + high) // 2
                if self._time(middle) > time:
                    high = middle
                else:
                    low = middle + 1
            if low == first and first > 1:
                raise JournalTrimmed(first)
            return int(low) - 1

    def attempts(self, after: int, limit: int = 1000) -> Sequence[Attempt]:
        with failures(self._path):
            rows = self._db.execute(
                "SELECT number, record FROM attempts WHERE number > ? ORDER BY number LIMIT ?", (after, limit)
            ).fetchall()
        return [read_attempt(number, record) for number, record in rows]

    def close(self) -> None:
        self._db.close()

    def _check(self, after: int) -> None:
        (oldest,) = self._db.execute("SELECT coalesce(min(number), 1) FROM journal").fetchone()
        if after + 1 < oldest and oldest > 1:
            raise JournalTrimmed(oldest)

    def _folded(self) -> int:
        (folded,) = self._db.execute(FOLDED).fetchone()
        return int(folded)

    def _time(self, number: int) -> int:
        (time,) = self._db.execute("SELECT time FROM journal WHERE number = ?", (number,)).fetchone()
        return int(time)

    def _read(self, where: str, *parameters: object) -> list[Revision]:
        rows = self._db.execute(f"SELECT number, record FROM journal WHERE {where}", parameters).fetchall()
        return [read_revision(number, record) for number, record in rows]
