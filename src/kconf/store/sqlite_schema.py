"""The tables of a SQLite store, and how an older file becomes a current one.

    meta        what the file is: schema, cluster_id, the kconf that wrote it
    journal     one row per committed plan: its number and its record, a JSON array that holds the changes too
    resources   one row per resource ever changed: the revision of its last change, and its overrides as a JSON object
    topics      one row per topic: its id and replicas, as in the journal

A resource is named by the JSON array [type, name]. Texts from outside stay JSON inside the database (SQLite's JSON
functions cut a string at U+0000 when they unpack it), and a change costs two rows rather than five. The views
`revisions`, `changes` and `overrides` show the same as plain columns to people with a SQLite shell.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from kconf.errors import StoreMismatch
from kconf.model.snapshot import encode_id
from kconf.version import __version__

VERSION = 2

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

MIGRATIONS: Mapping[int, Sequence[str]] = {
    1: VIEWS,  # version 1 had the tables only
}
"""What leads from each version to the next. A step is never edited once it has been released."""

INTAKE = (
    "CREATE TEMP VIEW intake AS SELECT 0 AS first, '' AS records, '' AS moved, '' AS made, '' AS gone",
    """CREATE TEMP TRIGGER take_in INSTEAD OF INSERT ON intake BEGIN
        INSERT INTO journal (number, record)
            SELECT new.first + key, value FROM json_each(new.records);
        INSERT INTO resources (resource, revision, overrides)
            SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
            FROM json_each(new.moved) WHERE true
            ON CONFLICT DO UPDATE SET
                revision = excluded.revision, overrides = json_patch(overrides, excluded.overrides);
        INSERT OR REPLACE INTO topics (resource, topic)
            SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(new.made);
        DELETE FROM topics WHERE resource IN (SELECT value FROM json_each(new.gone));
    END""",
)
"""A whole commit as one statement, INSERT INTO intake. sqlite3 lets go of the GIL around each step of a statement, and
beside a busy event loop every return costs up to 5 ms: one row at a time was ten times slower there."""


def prepare(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables in an empty file; bring an older file up to date; refuse a newer or a foreign one."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        with transaction(db):
            _run(db, (*TABLES, *VIEWS))
            _write(db, schema=str(VERSION), cluster_id=encode_id(uuid4()), written_by=__version__)
        return
    found = check(db, path)
    if found < VERSION:
        with transaction(db):
            for version in range(found, VERSION):
                _run(db, MIGRATIONS[version])
            _write(db, schema=str(VERSION), written_by=__version__)


def check(db: sqlite3.Connection, path: Path) -> int:
    """The schema version of a file that this kconf can read."""
    facts = read_meta(db)
    try:
        version = int(facts["schema"])
    except (KeyError, ValueError):
        raise StoreMismatch(f"{path} is a SQLite database, but not a kconf store") from None
    if version > VERSION:
        writer = facts.get("written_by", "unknown")
        raise StoreMismatch(f"{path} was written by a newer kconf, {writer}: its schema is {version}, ours {VERSION}")
    return version


def read_meta(db: sqlite3.Connection) -> dict[str, str]:
    """The facts about a file; none where it is not ours."""
    try:
        return dict(db.execute("SELECT key, value FROM meta"))
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # no such table or column
            return {}
        raise


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
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


def _write(db: sqlite3.Connection, **facts: str) -> None:
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
