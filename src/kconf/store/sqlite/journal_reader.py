"""Reads the journal of a SQLite store on its own connection, so that readers and the writer do not block each other.

Queries with several statements run in one transaction. Otherwise the writer could fold or trim in between, and a
revision would be missing from the result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from kconf.errors import JournalTrimmed, StoreDamaged
from kconf.model.journal import AuditEntry, Revision
from kconf.model.resource import Resource
from kconf.store.sqlite.files import connect, store_errors
from kconf.store.sqlite.journal_times import last_at
from kconf.store.sqlite.rows import read_attempt, read_revision, resource_text
from kconf.store.sqlite.schema import FIRST, FOLDED

RECORDS = "SELECT number, record FROM journal"


class SqliteJournalReader:
    """A JournalReader, for one thread."""

    def __init__(self, path: Path, on_damage: Callable[[StoreDamaged], None]) -> None:
        self._path, self._on_damage = path, on_damage
        with self._errors():
            self._db = connect(path, read_only=True)

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        with self._read_transaction():
            self._check(after)
            return list(self._read("number > ? ORDER BY number LIMIT ?", after, limit))

    def changes_for(self, resources: Collection[Resource], after: int, limit: int = 1000) -> Sequence[Revision]:
        """Uses the index for folded revisions, and scans the few later ones."""
        with self._read_transaction():
            self._check(after)
            found = list(self._read(f"{_touched(resources)} ORDER BY number LIMIT ?", *_named(resources, after), limit))
            if len(found) < limit:
                tail = self._read("number > ? ORDER BY number", max(after, self._folded()))
                found += [each for each in tail if _concerns(each, resources)]
            return found[:limit]

    def reverse_changes(self, resources: Collection[Resource], after: int) -> Iterator[Revision]:
        with self._read_transaction():
            self._check(after)
            for each in self._read("number > ? ORDER BY number DESC", max(after, self._folded())):
                if _concerns(each, resources):
                    yield each
            yield from self._read(f"{_touched(resources)} ORDER BY number DESC", *_named(resources, after))

    def revision_at(self, time: int) -> int:
        with self._read_transaction():
            found = last_at(self._db, time)
            (first,) = self._db.execute(FIRST).fetchone()
            if first is not None and found < first and first > 1:
                raise JournalTrimmed(first)
            return found

    def attempts(self, after: int, limit: int = 1000) -> Sequence[AuditEntry]:
        with self._errors():
            rows = self._db.execute(
                "SELECT number, record FROM attempts WHERE number > ? ORDER BY number LIMIT ?", (after, limit)
            ).fetchall()
            return [read_attempt(number, record) for number, record in rows]

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _read_transaction(self) -> Iterator[None]:
        """All statements of the block see the same state of the file."""
        with self._errors():
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _errors(self) -> AbstractContextManager[None]:
        return store_errors(self._path, self._on_damage)

    def _check(self, after: int) -> None:
        (oldest,) = self._db.execute("SELECT coalesce(min(number), 1) FROM journal").fetchone()
        if after + 1 < oldest and oldest > 1:
            raise JournalTrimmed(oldest)

    def _folded(self) -> int:
        (folded,) = self._db.execute(FOLDED).fetchone()
        return int(folded)

    def _read(self, where: str, *parameters: object) -> Iterator[Revision]:
        for number, record in self._db.execute(f"{RECORDS} WHERE {where}", parameters):
            yield read_revision(number, record)


def _touched(resources: Collection[Resource]) -> str:
    places = ", ".join("?" * len(resources))
    return f"number IN (SELECT number FROM touched WHERE resource IN ({places}) AND number > ?)"


def _named(resources: Collection[Resource], after: int) -> tuple[object, ...]:
    return (*map(resource_text, resources), after)


def _concerns(revision: Revision, resources: Collection[Resource]) -> bool:
    return any(change.resource in resources for change in revision.changes)
