"""The local file of a gateway: the journal of the cluster's changes, the audit log, and intents.

An intent is written before its request is sent, and closed with the outcome. If the gateway is killed in between, it
finds the open intents at its next start and compares them with the cluster. The journal has the same tables as a SQLite
store (store/sqlite/schema.py), so that one reader works for both. Revision numbers are offsets in the metadata log, or
counted by a gateway that polls, from a random number on; a file has only one kind.

    FILE         the journal
    FILE.image   the state of the cluster at a revision, from which the log is followed or the journal read after a
                 restart

Intents are on disk before their requests are sent. Revisions from the metadata log are written without waiting for the
disk: what a power failure takes away is read from the log again, with the author from the intent.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import StrEnum
from hmac import digest
from secrets import randbelow, randbits, token_hex
from typing import Any, Final, NamedTuple

from kconf.client.kraft.checkpoint import Checkpoint
from kconf.errors import ConfigurationError, JournalTrimmed, StoreMismatch, StoreUnavailable
from kconf.model.journal import AuditEntry, Change, Revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.store.base import MAX_ATTEMPTS
from kconf.store.record_codec import read_resource, revision_record, to_json
from kconf.store.sqlite.files import SCHEME, check_location, connect, path_of, store_errors
from kconf.store.sqlite.journal_reader import SqliteJournalReader
from kconf.store.sqlite.open_file import OpenFile
from kconf.store.sqlite.rows import attempt_record, read_revision
from kconf.store.sqlite.schema import FIRST, transaction
from kconf.util.atomic_files import PartialFile, beside, create

IMAGE: Final = ".image"
_FORMAT: Final = "1"
_ALL_INDEXED: Final = 1 << 62
_TABLES: Final = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE journal (
        number INTEGER PRIMARY KEY,
        record TEXT NOT NULL,
        time INTEGER AS (json_extract(record, '$[0]')) VIRTUAL
    )""",
    "CREATE INDEX by_time ON journal (time)",
    "CREATE TABLE touched (resource TEXT, number INTEGER, PRIMARY KEY (resource, number)) WITHOUT ROWID",
    "CREATE TABLE attempts (number INTEGER PRIMARY KEY AUTOINCREMENT, record TEXT NOT NULL)",
    """CREATE TABLE intents (
        id INTEGER PRIMARY KEY AUTOINCREMENT, record TEXT NOT NULL, sent_after INTEGER NOT NULL, outcome TEXT
    )""",
    "CREATE INDEX open_intents ON intents (id) WHERE outcome IS NULL",
)
_MAX_INTENTS: Final = 100_000
MAX_UNWRITTEN: Final = 20_000
"""The maximum of changes that are held in memory while the file cannot be written."""
_CANNOT_WRITE: Final = "this gateway cannot write its journal now"
_HAS_GAP: Final = (
    f"this gateway could not write its journal while the cluster made more than {MAX_UNWRITTEN} changes; restart"
    " the gateway when the disk can be written"
)
_MAX_TRIMMED: Final = 10_000
_PAGE: Final = 1000
_COUNTED: Final = 10**9  # revisions that a gateway can count before it reaches the range of another one
_FIRSTS: Final = 90_000


class IntentOutcome(StrEnum):
    """The outcome of a request to the cluster."""

    DONE = "done"
    REFUSED = "refused"
    NOT_DONE = "not done"
    SUPERSEDED = "superseded"  # executed, but changed again since
    UNKNOWN = "unknown"


class Numbering(StrEnum):
    """Where revision numbers come from."""

    LOG = "log"
    POLLS = "polls"


_NUMBERED: Final = {
    Numbering.LOG: "was written by a gateway without controllers, whose revisions are not offsets of the metadata log",
    Numbering.POLLS: "was written by a gateway with controllers, whose revisions are offsets of the metadata log",
}


class Intent(NamedTuple):
    """A request that was about to be sent at the revision `sent_after`."""

    id: int
    sent_after: int
    planned: Revision  # its number is not used


class GatewayJournalReader(SqliteJournalReader):
    def revision_at(self, time: int) -> int:
        with self._read_transaction():
            (first,) = self._db.execute(FIRST).fetchone()
            (found,) = self._db.execute("SELECT max(number) FROM journal WHERE time <= ?", (time,)).fetchone()
            if found is None and first is not None:
                raise JournalTrimmed(first)
            return max(int(found or 0), _fact(self._db, "begin"))

    def _check(self, after: int) -> None:
        """Raise JournalTrimmed for revisions before the start of the journal."""
        begin = _fact(self._db, "begin")
        if after < begin:
            raise JournalTrimmed(begin + 1)


class GatewayJournal:
    """Used from the store's thread."""

    def __init__(self, url: str, cluster: str, numbering: Numbering = Numbering.LOG) -> None:
        self.url = url
        self._unwritten: list[Revision] = []
        self._unclosed: dict[int, IntentOutcome] = {}
        self.has_gap = False  # changes were dropped; after a restart, the cluster is compared with the journal
        self._can_read_again = numbering is Numbering.LOG
        if not url.startswith(SCHEME):
            raise ConfigurationError(f"the journal of a gateway must be a SQLite file: use sqlite:///FILE, not {url!r}")
        path = self._path = path_of(url)
        with self._errors(), ExitStack() as opened:
            check_location(path)
            if not path.exists():
                create(path)
            self.file = OpenFile(path)
            opened.callback(self.file.release)
            db = self._db = connect(path)
            opened.callback(db.close)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            self._prepare(cluster, numbering)
            self.first = 0 if numbering is Numbering.LOG else self._first_counted()
            self.file.watch_wal()
            self._opened = opened.pop_all()

    def _prepare(self, cluster: str, numbering: Numbering) -> None:
        db = self._db
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            with transaction(db):
                for statement in _TABLES:
                    db.execute(statement)
                facts = {
                    "gateway": _FORMAT,
                    "cluster": cluster,
                    "folded": str(_ALL_INDEXED),
                    "numbering": numbering.value,
                }
                db.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
                # The attempts of several gateways may be loaded into one lake, where their numbers must differ.
                db.execute("INSERT INTO sqlite_sequence VALUES ('attempts', ?)", (randbits(40) << 22,))
        facts = dict(db.execute("SELECT key, value FROM meta"))
        if facts.get("gateway") != _FORMAT:
            raise StoreMismatch(f"{self._path} is not the journal of a gateway; use a separate file")
        if facts["cluster"] != cluster:
            raise StoreMismatch(
                f"{self._path} is the journal of cluster {facts['cluster']}, not of {cluster}; use a separate file"
            )
        if facts.get("numbering", Numbering.LOG) != numbering:
            raise StoreMismatch(f"{self._path} {_NUMBERED[numbering]}; use a separate file")

    def _first_counted(self) -> int:
        """The first revision that is counted here. It differs for each gateway, so that their revisions differ.

        A file of an earlier release continues at this number. It is below 2^53, which any JSON reader can represent.
        """
        found = _fact(self._db, "first")
        if not found:
            found = _random_first()
            self._db.execute("INSERT INTO meta VALUES ('first', ?)", (str(found),))
        return found

    def hashed(self, text: str) -> str:
        """A keyed hash of a secret, with a key stored in this file."""
        found = self._db.execute("SELECT value FROM meta WHERE key = 'secret'").fetchone()
        if found is None:
            found = (token_hex(32),)
            with self._writing():
                self._db.execute("INSERT INTO meta VALUES ('secret', ?)", found)
        return f"hmac:{digest(bytes.fromhex(found[0]), text.encode(), 'sha256').hex()}"

    @property
    def last(self) -> int:
        """The last revision, or 0 if there is none."""
        return int(self._db.execute("SELECT coalesce(max(number), 0) FROM journal").fetchone()[0])

    @property
    def begin(self) -> int:
        """The revision after which the journal is complete."""
        return _fact(self._db, "begin")

    def begin_at(self, revision: int) -> None:
        """Start the journal at this revision. Earlier changes are unknown."""
        with self._writing():
            self._write_begin(revision)

    def _write_begin(self, revision: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('begin', ?)", (str(revision),))

    @property
    def polled(self) -> int:
        """The start time of the last poll whose changes are all in the journal, or 0."""
        return _fact(self._db, "polled")

    @property
    def broker(self) -> int | None:
        """The broker that was polled."""
        return _fact(self._db, "broker") if self.polled else None

    def note_poll(self, time: int, broker: int) -> None:
        facts = [("polled", str(time)), ("broker", str(broker))]
        with self._writing(), transaction(self._db):
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts)

    def last_changes(self) -> dict[Resource, int]:
        """The last revision of each resource in the journal."""
        rows = self._db.execute("SELECT resource, max(number) FROM touched GROUP BY resource")
        return {read_resource(json.loads(text)): number for text, number in rows}

    @property
    def is_behind(self) -> bool:
        """Whether something could not be written yet. Safe to call from any thread, also during a write."""
        return self.has_gap or bool(self._unwritten or self._unclosed)

    @property
    def behind_reason(self) -> str | None:
        """Why something could not be written yet, or None."""
        if self.has_gap:
            return _HAS_GAP
        return _CANNOT_WRITE if self.is_behind else None

    def append(
        self, revisions: Iterable[Revision], outcomes: Mapping[int, IntentOutcome] | None = None
    ) -> list[Revision]:
        """Add new revisions and close intents in one transaction. Returns what was written.

        What cannot be written is kept for the next call, because it is not read again. If that is too much, it is
        dropped, and nothing is written anymore, so that the journal has no gap after the next start.
        """
        if self.has_gap:
            raise StoreUnavailable(_HAS_GAP)
        waiting = [*self._unwritten, *revisions]
        closed = {**self._unclosed, **(outcomes or {})}
        try:
            with self._writing(), self._without_sync(), transaction(self._db):
                written = self._insert(waiting)
                for id_, outcome in closed.items():
                    self._db.execute("UPDATE intents SET outcome = ? WHERE id = ?", (outcome, id_))
        except BaseException:
            self.has_gap = sum(len(each.changes) for each in waiting) > MAX_UNWRITTEN
            self._unwritten, self._unclosed = ([], {}) if self.has_gap else (waiting, closed)
            raise
        self._unwritten, self._unclosed = [], {}
        return written

    @contextmanager
    def _without_sync(self) -> Iterator[None]:
        """Do not wait for the disk in this block, if what is written can be read from the cluster again."""
        if not self._can_read_again:
            yield
            return
        self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            self._db.execute("PRAGMA synchronous = FULL")

    def _insert(self, revisions: Iterable[Revision]) -> list[Revision]:
        """Insert revisions. Returns those that are new: neither in the journal nor trimmed."""
        written = []
        begin = self.begin
        for each in revisions:
            if each.number <= begin:  # read again after a restart from an older image
                continue
            record = to_json(
                revision_record(each.time, each.caller, each.origin, each.changes, not_before=each.not_before)
            )
            row = (each.number, record)
            if self._db.execute("INSERT OR IGNORE INTO journal (number, record) VALUES (?, ?)", row).rowcount:
                written.append(each)
            self._db.executemany(
                "INSERT OR IGNORE INTO touched VALUES (?, ?)",
                {(to_json(change.resource), each.number) for change in each.changes},
            )
        return written

    def add_intents(self, batch: Sequence[PendingCommit], sent_after: int) -> list[int]:
        """Write intents durably before their requests are sent. Returns their ids."""
        ids = []
        with self._writing(), transaction(self._db):
            for each in batch:
                cursor = self._db.execute(
                    "INSERT INTO intents (record, sent_after) VALUES (?, ?)", (_intent_record(each), sent_after)
                )
                ids.append(int(cursor.lastrowid or 0))
            self._db.execute("DELETE FROM intents WHERE outcome IS NOT NULL AND id <= ?", (ids[-1] - _MAX_INTENTS,))
        return ids

    def narrow_intents(self, remaining: Sequence[Intent]) -> None:
        """Write which changes of intents are still open: those without a known outcome."""
        if remaining:
            with self._writing(), transaction(self._db):
                self._db.executemany(
                    "UPDATE intents SET record = ? WHERE id = ? AND outcome IS NULL",
                    [(_intent_record(each.planned), each.id) for each in remaining],
                )

    def open_intents(self) -> list[Intent]:
        """The intents that were open when the gateway stopped."""
        rows = self._db.execute("SELECT id, sent_after, record FROM intents WHERE outcome IS NULL ORDER BY id")
        return [Intent(id_, after, read_revision(0, record)) for id_, after, record in rows.fetchall()]

    def changes(self, after: int, limit: int) -> Sequence[Revision]:
        reader = self.reader()
        try:
            return reader.changes(after, limit)
        finally:
            reader.close()

    def all_after(self, number: int) -> Iterator[Revision]:
        """All revisions in the journal after this one."""
        number = max(number, self.begin)
        while page := self.changes(number, _PAGE):
            yield from page
            number = page[-1].number

    def reader(self) -> GatewayJournalReader:
        return GatewayJournalReader(self._path, self.file.note_damage)

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        with self._writing(), transaction(self._db):
            self._db.executemany(
                "INSERT INTO attempts (record) VALUES (?)", [(attempt_record(each),) for each in attempts]
            )
            self._db.execute(
                "DELETE FROM attempts WHERE number <= (SELECT max(number) - ? FROM attempts)", (MAX_ATTEMPTS,)
            )

    def oldest(self) -> int:
        with self._errors():
            return int(self._db.execute(FIRST).fetchone()[0] or 1)

    def trim(self, *, before_time: int | None, keep_last: int | None, up_to: int | None) -> int:
        """See Store.trim."""
        bounds = [0]
        with self._writing():
            if keep_last is not None:
                found = self._db.execute(
                    "SELECT number FROM journal ORDER BY number DESC LIMIT 1 OFFSET ?", (keep_last,)
                ).fetchone()
                bounds.append(0 if found is None else found[0])
            if before_time is not None:
                found = self._db.execute("SELECT max(number) FROM journal WHERE time < ?", (before_time,)).fetchone()
                bounds.append(found[0] or 0)
            limit = min(max(bounds), self.last - 1, self.last if up_to is None else up_to)
            rows = self._db.execute(
                "SELECT number FROM journal WHERE number <= ? ORDER BY number LIMIT ?", (limit, _MAX_TRIMMED)
            ).fetchall()
            if not rows:
                return 0
            with transaction(self._db):
                last = rows[-1][0]
                self._db.execute("DELETE FROM touched WHERE number <= ?", (last,))
                self._db.execute("DELETE FROM journal WHERE number <= ?", (last,))
                self._write_begin(last)
        return len(rows)

    # The image

    def read_image(self, cluster: str) -> Checkpoint | None:
        """The last image, or None. Raises an error if it is damaged, since starting without it would hide a gap."""
        facts = self.read_image_facts()
        return None if facts is None else self.checkpoint(facts, cluster)

    def read_image_facts(self) -> Mapping[str, Any] | None:
        """The last image as JSON, or None."""
        path = beside(self._path, IMAGE)
        try:
            facts: Mapping[str, Any] = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise StoreMismatch(
                f"{path} is damaged; delete it to start from the current state of the cluster"
            ) from None
        self._check_is_complete(int(facts.get("offset", 0)))
        return facts

    def _check_is_complete(self, imaged: int) -> None:
        """Raise an error if the journal ends before the image: the changes between them would be missing.

        Older gateways have written only the last revision (`imaged`), which is not compared.
        """
        known = dict(self._db.execute("SELECT key, value FROM meta WHERE key IN ('image', 'imaged')"))
        if imaged > int(known.get("image", 0)) and ("image" in known or "imaged" not in known):
            raise StoreMismatch(
                f"{beside(self._path, IMAGE)} is newer than the journal {self._path}, which was deleted or restored"
                " from a backup; delete the image to start a journal from the current state of the cluster"
            )

    def checkpoint(self, facts: Mapping[str, Any], cluster: str) -> Checkpoint:
        """Parse an image. Raises StoreMismatch if it belongs to another cluster."""
        path = beside(self._path, IMAGE)
        checkpoint = Checkpoint.from_json(facts, path)
        if checkpoint.cluster != cluster:
            raise StoreMismatch(f"{path} belongs to cluster {checkpoint.cluster}, not {cluster}")
        return checkpoint

    def write_image(self, image: Mapping[str, Any]) -> None:
        """Write an image (a Checkpoint as JSON), after all revisions up to it are on disk."""
        with self._writing(), transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('image', ?)", (str(image.get("offset", 0)),))
        with self._errors(), PartialFile(self._path.absolute().parent) as file:
            file.write(to_json(image).encode())
            file.publish(beside(self._path, IMAGE).name)

    def close(self) -> None:
        with self._errors():
            self._opened.close()

    def _errors(self) -> AbstractContextManager[None]:
        return store_errors(self._path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction. Raises an error if the file was deleted, moved or replaced."""
        with self._errors():
            self.file.check()
            yield


def _random_first() -> int:
    """10,000 to 99,999 times 10^9: 14 digits, since commands take a number of 13 digits for a time in milliseconds."""
    return (10_000 + randbelow(_FIRSTS)) * _COUNTED


def _fact(db: sqlite3.Connection, key: str) -> int:
    found = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return 0 if found is None else int(found[0])


def _intent_record(planned: PendingCommit | Revision) -> str:
    return to_json(revision_record(planned.time, planned.caller, "kconf", [_hidden(each) for each in planned.changes]))


def _hidden(change: Change) -> Change:
    """Hide a sensitive value. Only the fact that it is set is written."""
    if not change.sensitive:
        return change
    return change._replace(before=change.before and "", after=None if change.after is None else "")
