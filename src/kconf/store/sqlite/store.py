"""The default store: one SQLite file, durable at every commit.

A commit appends to the journal. After a number of changes, and whenever a value is sensitive, the same transaction
folds the latest changes of the journal into the state tables. Transactions are atomic, also in a crash. The revision of
each resource's last change is in memory, to check guards; everything else is in the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from logging import getLogger
from pathlib import Path

from immutables import Map

from kconf.errors import JournalTrimmed, RevisionConflict, StoreFailed, StoreLost
from kconf.model.journal import AuditEntry, Change, Revision, redact_revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot, replay
from kconf.security.value_cipher import NO_SECRETS, Secrets, ValueCipher
from kconf.store.base import MAX_ATTEMPTS, InitialIdentity, SingleServerMixin, find_conflict
from kconf.store.sqlite.files import (
    check_location,
    connect,
    create_store_file,
    create_store_key,
    is_damage,
    path_of,
    publish_store_key,
    read_store_key,
    store_errors,
)
from kconf.store.sqlite.integrity import check_at_start, check_state
from kconf.store.sqlite.journal_reader import SqliteJournalReader
from kconf.store.sqlite.journal_times import last_at, read_steps, time_of, write_steps
from kconf.store.sqlite.open_file import OpenFile
from kconf.store.sqlite.rows import (
    RowWrites,
    attempt_record,
    damage_of,
    fold_columns,
    re_encrypt,
    read_revision,
    read_snapshot,
)
from kconf.store.sqlite.schema import (
    ELR_VERSION,
    FIRST,
    LAST,
    TOUCHED,
    UNDECIDED,
    is_empty,
    prepare,
    read_meta,
    record_feature,
    transaction,
)

log = getLogger(__name__)

MAX_TRIMMED = 10_000
INSERT_COMMIT = "INSERT INTO intake VALUES (?, ?, ?, ?, ?, ?)"
NO_LIMIT = -1
NO_RECORDS = (0, "[]")
NOT_FOLDED = (None, None, None, None)


class SqliteStore(SingleServerMixin):
    """One file, which is locked while the store is open."""

    max_unfolded = 2048
    """The maximum number of changes that are only in the journal and not in the state tables.

    Until then a commit only appends, instead of writing a page per changed resource. Folding takes about 10 ms, and
    loading takes as much longer.
    """

    def __init__(
        self, url: str, file: OpenFile, db: sqlite3.Connection, store_key: bytes, cipher: ValueCipher, opened: ExitStack
    ) -> None:
        self.url = url
        self._file = file
        facts = read_meta(db)
        self.cluster_id = facts["cluster_id"]
        self.epoch = int(facts.get("epoch", 1))
        level = facts.get(ELR_VERSION)  # None: an older store, or a copy of one
        self.elr_version = int(level) if level else None
        self._is_undecided = level == UNDECIDED
        self._db = db
        self._store_key = store_key
        self._opened = opened
        self._errors = store_errors(file.path, file.note_damage)
        self._is_wal_saved = False
        self._cipher = cipher
        self._revision: int = db.execute(LAST).fetchone()[0] or 0
        self._oldest = self._first()
        self._time = time_of(db, self._revision) if self._revision else 0  # time of the last revision
        self._steps = read_steps(db)
        self._unfolded: list[Change] = []  # changes in the journal that are not in the tables
        self._stored: Map[Resource, int] = Map()  # the last changes of resources in the tables
        self._loaded: Snapshot | None = self._read()
        self._changed = self._loaded.changed

    @classmethod
    def open(
        cls,
        url: str,
        secrets: Secrets = NO_SECRETS,
        identity: InitialIdentity | None = None,
        integrity: Callable[[sqlite3.Connection, Path], None] = check_at_start,
    ) -> SqliteStore:
        """Open sqlite:///relative or sqlite:////absolute. Creates the store if it does not exist, with `identity` if
        given.

        Raises StoreLocked if another process has it open, StoreMismatch if it is not a supported kconf store,
        StoreDamaged if `integrity` finds damage, StoreUnavailable on I/O errors.
        """
        path = path_of(url)
        with store_errors(path), ExitStack() as opened:
            check_location(path)
            create_store_file(path)
            file = OpenFile(path)
            opened.callback(file.release)
            db = connect(path)
            opened.callback(db.close)
            new = is_empty(db, path)
            store_key = create_store_key(path) if new else read_store_key(path)
            if not new:
                integrity(db, path)
            _tune(db)
            prepare(db, identity)
            if new:
                publish_store_key(path)
            file.watch_wal()
            cipher = ValueCipher(store_key, secrets)
            with damage_of("the state"):
                _re_encrypt(db, cipher)
                return cls(url, file, db, store_key, cipher, opened.pop_all())

    @classmethod
    def open_damaged(cls, url: str, secrets: Secrets = NO_SECRETS) -> SqliteStore:
        """Open a store with a damaged journal whose state is intact."""
        return cls.open(url, secrets, integrity=check_state)

    @property
    def is_undecided(self) -> bool:
        return self.elr_version is None and (self._is_undecided or self._revision == 0)

    def record_elr_version(self, level: int) -> None:
        with self._errors:
            record_feature(self._db, level)
        self.elr_version = level

    @property
    def problem(self) -> StoreFailed | None:
        with suppress(StoreLost, OSError):
            self._file.check()
        return self._file.problem

    def housekeep(self, *, notification_retention: float) -> bool:
        with self._errors:
            self._check_file()
        return False

    @property
    def unreadable(self) -> Sequence[str]:
        """Values that cannot be decrypted with the configured secrets."""
        return sorted(self._cipher.undecryptable)

    def _first(self) -> int:
        try:
            return self._db.execute(FIRST).fetchone()[0] or 1
        except sqlite3.Error as error:
            if is_damage(error):  # only the state of a damaged store is used: see `open_damaged`
                return max(self._revision, 1)
            raise

    def load(self) -> Snapshot:
        if self._loaded is None:
            with self._errors:
                self._loaded = self._read()
        return self._loaded

    def _read(self) -> Snapshot:
        start = read_snapshot(self._db, int(read_meta(self._db)["folded"]), self._cipher)
        tail = [(each.number, each.changes) for each in self._journal(start.revision, NO_LIMIT)]
        self._stored = start.changed
        self._unfolded = [change for _, changes in tail for change in changes]
        return replay(tail, start)

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        results: list[Revision | RevisionConflict] = []
        writes = RowWrites(self._revision, self._time, self._changed, self._store_key)
        for pending in batch:
            conflict = find_conflict(pending.guards, writes.changed)
            if conflict is not None:
                results.append(conflict)
                continue
            if pending.changes:
                writes.add(pending)
            results.append(Revision(writes.number, pending.time, pending.caller, pending.changes))
        if writes:
            with self._errors:
                self._check_file()
                self._write(writes)
        return results

    def _write(self, writes: RowWrites) -> None:
        changed = writes.changed.finish()
        if writes.sensitive or len(self._unfolded) + len(writes.changes) > self.max_unfolded:
            changes = [*self._unfolded, *writes.changes]
            state = fold_columns(changes, self._stored, changed, writes.number, self._cipher)
            self._insert(writes, state)
            self._stored, self._unfolded = changed, []
        else:
            self._insert(writes, NOT_FOLDED)
            self._unfolded += writes.changes
        self._revision, self._changed, self._loaded = writes.number, changed, None
        self._time = writes.time

    def _insert(self, writes: RowWrites, state: tuple[object, ...]) -> None:
        columns = (*writes.journal(), *state)
        if not writes.steps:
            self._db.execute(INSERT_COMMIT, columns)
            return
        steps = [*self._steps, *writes.steps]
        with transaction(self._db):
            self._db.execute(INSERT_COMMIT, columns)
            write_steps(self._db, steps)
        self._steps = steps

    def _fold(self) -> None:
        if self._unfolded:
            state = fold_columns(self._unfolded, self._stored, self._changed, self._revision, self._cipher)
            self._db.execute(INSERT_COMMIT, (*NO_RECORDS, *state))
            self._stored, self._unfolded = self._changed, []

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        if after + 1 < self._oldest and self._oldest > 1:
            raise JournalTrimmed(self._oldest)
        with self._errors:
            return self._journal(after, limit)

    def _journal(self, after: int, limit: int) -> list[Revision]:
        rows = self._db.execute(
            "SELECT number, record FROM journal WHERE number > ? ORDER BY number LIMIT ?", (after, limit)
        ).fetchall()
        return [read_revision(number, record) for number, record in rows]

    def redact(self, revision: Revision) -> Revision:
        return redact_revision(revision, self._store_key)

    def journal_reader(self) -> SqliteJournalReader:
        return SqliteJournalReader(self._file.path, self._file.note_damage)

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        with self._errors:
            self._check_file()
            self._append_attempts(attempts)

    def _append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        with transaction(self._db):
            rows = [(attempt_record(each),) for each in attempts]
            self._db.executemany("INSERT INTO attempts (record) VALUES (?)", rows)
            self._db.execute(
                "DELETE FROM attempts WHERE number <= (SELECT max(number) - ? FROM attempts)", (MAX_ATTEMPTS,)
            )

    def oldest(self) -> int:
        return self._oldest

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        first = self._oldest
        if keep_last is not None:
            first = max(first, self._revision + 1 - keep_last)
        with self._errors:
            if before_time is not None:
                first = max(first, last_at(self._db, before_time - 1) + 1)
            if up_to is not None:
                first = min(first, up_to + 1)
            # The last revision is kept, because it determines the next number.
            first = max(self._oldest, min(first, self._revision, self._oldest + MAX_TRIMMED))
            if first > self._oldest:
                self._check_file()
                self._fold()  # revisions must be in the state tables before they are deleted
                with transaction(self._db):
                    self._db.execute(
                        f"DELETE FROM touched WHERE (resource, number) IN ({TOUCHED} WHERE number < ?)", (first,)
                    )
                    self._db.execute("DELETE FROM journal WHERE number < ?", (first,))
                    steps = [each for each in self._steps if each > first]
                    if steps != self._steps:
                        write_steps(self._db, steps)
                self._steps = steps
        removed, self._oldest = first - self._oldest, first
        return removed

    def close(self) -> None:
        """Release the file. Folds first, so that the tables are up to date for readers; `load` does not need it."""
        with self._errors, self._opened, suppress(sqlite3.Error, StoreLost):
            self._file.check()
            self._fold()

    def _check_file(self) -> None:
        """Raise StoreLost if the file was deleted, moved or replaced.

        If only the write-ahead log is missing, its content can be saved: SQLite has it open and copies it to the file.
        """
        try:
            self._file.check()
        except StoreLost:
            if self._file.is_wal_lost and not self._is_wal_saved:
                self._is_wal_saved = True
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                log.warning(
                    "saved all changes up to revision %d from the write-ahead log to %s",
                    self._revision,
                    self._file.path,
                )
            raise


def _re_encrypt(db: sqlite3.Connection, cipher: ValueCipher) -> None:
    """Encrypt again after the secret has changed. The checkpoint also removes clear text from the write-ahead log."""
    with transaction(db):
        changed = re_encrypt(db, cipher)
    if changed:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _tune(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA secure_delete = ON")  # overwritten secrets do not stay in free pages of the file
    db.execute("PRAGMA temp_store = MEMORY")
    db.execute("PRAGMA cache_size = -32768")
    db.execute("PRAGMA wal_autocheckpoint = 2000")  # 8 MB: takes 3-10 ms; with fewer pages it takes as long, more often
    db.execute("PRAGMA journal_size_limit = 33554432")
