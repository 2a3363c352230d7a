"""The tables of a SQLite store, and the migrations of older files.

    meta        metadata of the file: schema, cluster_id, epoch (unless it is 1), the version of kconf that wrote it,
                folded, eligible.leader.replicas.version if it was chosen
    journal     one row per committed plan: its number and its record, a JSON array that includes the changes
    resources   one row per resource ever changed: the revision of its last change, and its overrides as a JSON object
    topics      one row per topic: its id and replicas, as in the journal
    touched     an index: the revisions that changed a resource, up to `folded`
    attempts    refused requests and dry runs, without values; the oldest are deleted

The state is `resources` and `topics`, which are as of revision `folded`, plus the journal after it. No change after
`folded` is sensitive: the journal does not have the clear text.

A resource is named by the JSON array [type, name]. User-supplied texts stay JSON inside the database (SQLite's JSON
functions cut a string at U+0000 when they unpack it), and a change costs two rows rather than five. The views
`revisions`, `changes` and `overrides` show the same as plain columns in a SQLite shell.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from kconf.errors import StoreDamaged, StoreMismatch
from kconf.model.snapshot import encode_id
from kconf.store.base import InitialIdentity
from kconf.store.sqlite.files import KEY
from kconf.util.atomic_files import beside
from kconf.version import __version__

VERSION = 3

TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE journal (
        number INTEGER PRIMARY KEY,
        record TEXT NOT NULL,
        time INTEGER AS (json_extract(record, '$[0]')) VIRTUAL
    )""",
    """CREATE TABLE resources (
        resource TEXT PRIMARY KEY, revision INTEGER NOT NULL, overrides TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE TABLE topics (resource TEXT PRIMARY KEY, topic TEXT NOT NULL) WITHOUT ROWID",
)

RECORD = ("time", "principal", "client_id", "host", "api", "request_id", "reason", "origin", "changes")
CHANGE = ("kind", "resource", "key", "before", "after", "op", "sensitive")


def _columns(source: str, names: Sequence[str]) -> str:
    return ", ".join(f"json_extract({source}, '$[{place}]') AS {name}" for place, name in enumerate(names))


VIEWS = (
    f"CREATE VIEW revisions AS SELECT number, {_columns('record', RECORD[:-1])} FROM journal",
    f"""CREATE VIEW changes AS SELECT number AS revision, line.key AS line, {_columns("line.value", CHANGE)}
        FROM journal, json_each(record, '$[{len(RECORD) - 1}]') AS line""",
    f"""CREATE VIEW overrides AS SELECT {_columns("resource", ("type", "name"))}, entry.key AS key, entry.value AS value
        FROM resources, json_each(overrides) AS entry""",
)

FOLDED = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'folded'"
FIRST = "SELECT min(number) FROM journal"
LAST = "SELECT max(number) FROM journal"  # separate from FIRST, since one statement would read the whole table
TOUCHED = f"""SELECT json_extract(line.value, '$[1]') AS resource, number
        FROM journal, json_each(record, '$[{len(RECORD) - 1}]') AS line"""

MIGRATIONS: Mapping[int, Sequence[str]] = {
    0: TABLES,
    1: (*VIEWS, "INSERT INTO meta SELECT 'folded', coalesce(max(number), 0) FROM journal"),
    2: (
        "CREATE TABLE touched (resource TEXT, number INTEGER, PRIMARY KEY (resource, number)) WITHOUT ROWID",
        f"INSERT OR IGNORE INTO touched {TOUCHED} WHERE number <= ({FOLDED})",
        "CREATE TABLE attempts (number INTEGER PRIMARY KEY AUTOINCREMENT, record TEXT NOT NULL)",
    ),
}
"""The statements that migrate each version to the next. 0 is an empty file. A released migration is never edited."""

INTAKE = (
    """CREATE TEMP VIEW intake AS
        SELECT 0 AS first, '' AS records, 0 AS folded, '' AS moved, '' AS made, '' AS gone""",
    """CREATE TEMP TRIGGER take_in INSTEAD OF INSERT ON intake WHEN new.folded IS NULL BEGIN
        INSERT INTO journal (number, record) SELECT new.first + key, value FROM json_each(new.records);
    END""",
    f"""CREATE TEMP TRIGGER take_in_and_fold INSTEAD OF INSERT ON intake WHEN new.folded IS NOT NULL BEGIN
        INSERT INTO journal (number, record) SELECT new.first + key, value FROM json_each(new.records);
        INSERT INTO resources (resource, revision, overrides)
            SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
            FROM json_each(new.moved) WHERE true
            ON CONFLICT DO UPDATE SET
                revision = excluded.revision, overrides = json_patch(overrides, excluded.overrides);
        INSERT OR REPLACE INTO topics (resource, topic)
            SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(new.made);
        DELETE FROM topics WHERE resource IN (SELECT value FROM json_each(new.gone));
        INSERT OR IGNORE INTO touched {TOUCHED}
            WHERE number > ({FOLDED}) AND number <= new.folded;
        UPDATE meta SET value = new.folded WHERE key = 'folded';
    END""",
)
"""A whole commit is one statement, INSERT INTO intake. sqlite3 releases the GIL for each step of a statement, and with
a busy event loop acquiring it again takes up to 5 ms.

Inserting one row at a time was ten times slower.
"""


def is_empty(db: sqlite3.Connection, path: Path) -> bool:
    """Whether a file has no tables yet. Raises StoreMismatch if it is not a supported kconf store."""
    if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return True
    check(db, path)
    return False


def check(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a kconf store, or that a newer kconf wrote."""
    facts = read_meta(db)
    if not str(facts.get("schema", "")).isdecimal():
        if beside(path, KEY).exists():
            raise StoreDamaged(f"{path} is damaged: its table meta cannot be read")
        raise StoreMismatch(f"{path} is a SQLite database, but not a kconf store")
    if int(facts["schema"]) > VERSION:
        raise StoreMismatch(
            f"{path} was written by a newer version of kconf ({facts.get('written_by', 'unknown')}): its schema "
            f"version is {facts['schema']}, supported is {VERSION}"
        )


def prepare(db: sqlite3.Connection, identity: InitialIdentity | None = None) -> None:
    """Create the tables, or migrate an older file, in one transaction."""
    with transaction(db):
        found = int(read_meta(db).get("schema", 0))
        for version in range(found, VERSION):
            _run(db, MIGRATIONS[version])
        if found == 0 and identity is not None:
            _write(db, cluster_id=identity.cluster_id, epoch=str(identity.epoch))
        elif found == 0:
            _write(db, cluster_id=encode_id(uuid4()))
        if found == 0:
            _write(db, **{ELR_VERSION: UNDECIDED})
        if found < VERSION:
            _write(db, schema=str(VERSION), written_by=__version__)
    _run(db, INTAKE)


def read_meta(db: sqlite3.Connection) -> dict[str, str]:
    """The table meta. Empty if the file is not a kconf store."""
    try:
        return dict(db.execute("SELECT key, value FROM meta"))
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # no such table or column
            return {}
        raise


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run the block in one transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _run(db: sqlite3.Connection, statements: Sequence[str]) -> None:
    for statement in statements:
        db.execute(statement)


ELR_VERSION = "eligible.leader.replicas.version"
UNDECIDED = ""
"""The level in a store that was created before its first server started, as by `kconf scram --store`."""


def record_feature(db: sqlite3.Connection, level: int) -> None:
    with transaction(db):
        _write(db, **{ELR_VERSION: str(level)})


def _write(db: sqlite3.Connection, **facts: str) -> None:
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
