"""The default keeper: one SQLite file, durable at every commit.

A commit appends to the journal; now and then, and whenever a value is sensitive, the same transaction folds the last
lines of the journal into the tables of the state. A crash leaves all of it or nothing. The store remembers the revision
of each resource's last change, which is what guards are checked against; everything else is in the file. Its parts:
sqlite_schema (tables, migrations), sqlite_rows (values as rows), sqlite_files (lock, key, errors), sqlite_backup.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from immutables import Map

from kconf.errors import ConfigurationError, JournalTrimmed, RevisionConflict
from kconf.model.journal import AuditEntry, Change, Revision, sealed_with
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot, replay
from kconf.security.value_cipher import NO_SECRETS, Secrets, ValueCipher
from kconf.store.base import MOST_ATTEMPTS, InitialIdentity, SingleServerMixin, broken
from kconf.store.sqlite.files import check_place, connect, failures, seal_key
from kconf.store.sqlite.journal_reader import SqliteJournalReader
from kconf.store.sqlite.rows import RowWrites, attempt_record, folded, lock_again, read_revision, read_snapshot
from kconf.store.sqlite.schema import TOUCHED, is_empty, prepare, read_meta, transaction
from kconf.util.atomic_files import FileLock, create

SCHEME = "sqlite:///"
TRIMMED_AT_ONCE = 10_000
TAKE_IN = "INSERT INTO intake VALUES (?, ?, ?, ?, ?, ?)"
ALL = -1
NOTHING_NEW = (0, "[]")
NOT_FOLDED = (None, None, None, None)


class SqliteStore(SingleServerMixin):
    """Keeps one file, and its lock while it is open."""

    most_unfolded = 2048
    """Lines that the state may be behind the journal. A commit then only appends, where it would write a page for each
    resource that it changes. Folding takes about 10 ms, and so much longer does loading take."""

    def __init__(
        self, url: str, path: Path, db: sqlite3.Connection, seal: bytes, held: ExitStack, secrets: Secrets = NO_SECRETS
    ) -> None:
        self.url = url
        self.path = path
        facts = read_meta(db)
        self.cluster_id = facts["cluster_id"]
        self.epoch = int(facts.get("epoch", 1))
        self._db = db
        self._seal = seal
        self._held = held
        self._vault = ValueCipher(seal, secrets)
        first, last = db.execute("SELECT min(number), max(number) FROM journal").fetchone()
        self._revision: int = last or 0
        self._oldest: int = first or 1
        self._unfolded: list[Change] = []  # what the journal has and the tables do not
        self._stored: Map[Resource, int] = Map()  # the last changes as the tables have them
        self._loaded: Snapshot | None = self._read()
        self._changed = self._loaded.changed

    @classmethod
    def open(cls, url: str, secrets: Secrets = NO_SECRETS, founding: InitialIdentity | None = None) -> SqliteStore:
        """Open sqlite:///relative or sqlite:////absolute, and make it where there is none: anew, or as `founding` says.

        Raises StoreLocked when another process has it open, StoreMismatch when it is not ours to read,
        StoreUnavailable when the disk refuses.
        """
        path = path_of(url)
        with failures(path), ExitStack() as held:
            check_place(path)
            held.callback(FileLock(path).release)
            if not path.exists():
                create(path)
            db = connect(path)
            held.callback(db.close)
            seal = seal_key(path, new=is_empty(db, path))
            _tune(db)
            prepare(db, founding)
            _lock_again(db, ValueCipher(seal, secrets))
            return cls(url, path, db, seal, held.pop_all(), secrets)

    @property
    def unreadable(self) -> Sequence[str]:
        """The values that no secret of ours unlocks; `load` leaves them out, and they stay in the file."""
        return sorted(self._vault.refused)

    def load(self) -> Snapshot:
        if self._loaded is None:
            with failures(self.path):
                self._loaded = self._read()
        return self._loaded

    def _read(self) -> Snapshot:
        start = read_snapshot(self._db, int(read_meta(self._db)["folded"]), self._vault)
        tail = [(each.number, each.changes) for each in self._journal(start.revision, ALL)]
        self._stored = start.changed
        self._unfolded = [change for _, changes in tail for change in changes]
        return replay(tail, start)

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        answers: list[Revision | RevisionConflict] = []
        writing = RowWrites(self._revision, self._changed, self._seal)
        for draft in batch:
            moved = broken(draft.guards, writing.changed)
            if moved is not None:
                answers.append(RevisionConflict(f"{moved} has moved"))
                continue
            if draft.changes:
                writing.add(draft)
            answers.append(Revision(writing.number, draft.time, draft.caller, draft.changes))
        if writing:
            with failures(self.path):
                self._write(writing)
        return answers

    def _write(self, writing: RowWrites) -> None:
        changed = writing.changed.finish()
        if writing.sensitive or len(self._unfolded) + len(writing.lines) > self.most_unfolded:
            lines = [*self._unfolded, *writing.lines]
            state = folded(lines, self._stored, changed, writing.number, self._vault)
            self._db.execute(TAKE_IN, (*writing.journal(), *state))
            self._stored, self._unfolded = changed, []
        else:
            self._db.execute(TAKE_IN, (*writing.journal(), *NOT_FOLDED))
            self._unfolded += writing.lines
        self._revision, self._changed, self._loaded = writing.number, changed, None

    def _fold(self) -> None:
        if self._unfolded:
            state = folded(self._unfolded, self._stored, self._changed, self._revision, self._vault)
            self._db.execute(TAKE_IN, (*NOTHING_NEW, *state))
            self._stored, self._unfolded = self._changed, []

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        if after + 1 < self._oldest and self._oldest > 1:
            raise JournalTrimmed(self._oldest)
        with failures(self.path):
            return self._journal(after, limit)

    def _journal(self, after: int, limit: int) -> list[Revision]:
        rows = self._db.execute(
            "SELECT number, record FROM journal WHERE number > ? ORDER BY number LIMIT ?", (after, limit)
        ).fetchall()
        return [read_revision(number, record) for number, record in rows]

    def redact(self, revision: Revision) -> Revision:
        return sealed_with(self._seal, revision)

    def reader(self) -> SqliteJournalReader:
        return SqliteJournalReader(self.path)

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        with failures(self.path), transaction(self._db):
            rows = [(attempt_record(each),) for each in attempts]
            self._db.executemany("INSERT INTO attempts (record) VALUES (?)", rows)
            self._db.execute(
                "DELETE FROM attempts WHERE number <= (SELECT max(number) - ? FROM attempts)", (MOST_ATTEMPTS,)
            )

    def oldest(self) -> int:
        return self._oldest

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        first = self._oldest
        if keep_last is not None:
            first = max(first, self._revision + 1 - keep_last)
        with failures(self.path):
            if before_time is not None:
                first = max(first, self._first_since(before_time))
            if up_to is not None:
                first = min(first, up_to + 1)
            # The last revision stays: the numbers go on from there.
            first = max(self._oldest, min(first, self._revision, self._oldest + TRIMMED_AT_ONCE))
            if first > self._oldest:
                self._fold()  # what goes must be in the state
                with transaction(self._db):
                    self._db.execute(
                        f"DELETE FROM touched WHERE (resource, number) IN ({TOUCHED} WHERE number < ?)", (first,)
                    )
                    self._db.execute("DELETE FROM journal WHERE number < ?", (first,))
        removed, self._oldest = first - self._oldest, first
        return removed

    def _first_since(self, time: int) -> int:
        found = self._db.execute(
            "SELECT number FROM journal WHERE time >= ? ORDER BY number LIMIT 1", (time,)
        ).fetchone()
        return found[0] if found else self._revision

    def close(self) -> None:
        """Let go of the file. Its tables are brought up to date for whoever looks at them; `load` could do without."""
        with failures(self.path), self._held, suppress(sqlite3.Error):
            self._fold()


def path_of(url: str) -> Path:
    """The file that a URL names: three slashes for a relative path, four for an absolute one."""
    name = url.removeprefix(SCHEME)
    if name in {"", url}:
        raise ConfigurationError(f"{url!r} names no file: use sqlite:///FILE or sqlite:////DIRECTORY/FILE")
    return Path(name)


def _lock_again(db: sqlite3.Connection, vault: ValueCipher) -> None:
    """After a new secret; what was readable is not left in the log of the file either."""
    with transaction(db):
        changed = lock_again(db, vault)
    if changed:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _tune(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA secure_delete = ON")  # a secret that was replaced does not stay in a free corner of the file
    db.execute("PRAGMA temp_store = MEMORY")
    db.execute("PRAGMA cache_size = -32768")
    db.execute("PRAGMA wal_autocheckpoint = 2000")  # 8 MB: one takes 3-10 ms; fewer pages mean as long, more often
    db.execute("PRAGMA journal_size_limit = 33554432")
