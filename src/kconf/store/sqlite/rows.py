"""Encodes values as rows of a SQLite store, and decodes them. schema.py defines the tables.

Only `fold_columns` writes values to the state, and only `read_snapshot` reads them. They encrypt and decrypt broker
passwords (security/value_cipher.py).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from logging import getLogger
from typing import Any, NamedTuple

from immutables import Map

from kconf.configdef.dynamic import is_broker_secret
from kconf.model.journal import AuditEntry, Change, ChangeKind, Revision, redact_change
from kconf.model.plan import PendingCommit
from kconf.model.resource import Overrides, Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot, decode_id, topic_from_json
from kconf.security.value_cipher import EncryptedValue, ValueCipher
from kconf.store import record_codec as records
from kconf.store.record_codec import DamagedRecord, read_resource, revision_record, to_json
from kconf.store.sqlite.schema import FOLDED
from kconf.util.memory import gc_paused

log = getLogger(__name__)

_BROKER = ResourceType.BROKER
DAMAGE = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
"""Exceptions that decoding a damaged row may raise."""


@contextmanager
def damage_of(part: str) -> Iterator[None]:
    """Convert the exceptions in `DAMAGE` to DamagedRecord."""
    try:
        yield
    except DamagedRecord:
        raise
    except DAMAGE as error:
        raise DamagedRecord(f"{part} cannot be read ({type(error).__name__})") from error


class RowWrites:
    """The contents of one transaction: journal records, and the changes to the state."""

    def __init__(self, number: int, time: int, changed: Map[Resource, int], store_key: bytes) -> None:
        self.number, self.time = number, time  # time of the last revision
        self.steps: list[int] = []  # revisions with an earlier time than the previous one: the clock was set back
        self.changed = changed.mutate()
        self.changes: list[Change] = []
        self.sensitive = False
        self._first = number + 1
        self._store_key = store_key
        self._records: list[object] = []

    def __bool__(self) -> bool:
        return bool(self._records)

    def add(self, pending: PendingCommit) -> None:
        """Add a revision."""
        self.number += 1
        if pending.time < self.time:
            self.steps.append(self.number)
        self.time = pending.time
        redacted: Sequence[Change] = pending.changes
        for change in redacted:
            self.changed[change.resource] = self.number
        if any(change.sensitive for change in redacted):
            self.sensitive = True
            redacted = [redact_change(change, self._store_key) for change in redacted]
        self.changes += pending.changes
        self._records.append(revision_record(pending.time, pending.caller, "kconf", redacted))

    def journal(self) -> tuple[int, str]:
        """The first two columns of `intake`."""
        return self._first, to_json(self._records)


def fold_columns(
    changes: Iterable[Change],
    stored: Mapping[Resource, int],
    changed: Mapping[Resource, int],
    revision: int,
    cipher: ValueCipher,
) -> tuple[int, str, str, str]:
    """The other columns of `intake`: the effect of `changes` on tables that contain the resources `stored`.

    The tables then have the state at `revision`, with the last changes `changed`. A stored resource gets an RFC 7396
    merge patch, in which null removes an override. A new resource gets its overrides without nulls.
    """
    patches: dict[Resource, dict[str, str | EncryptedValue | None]] = {}
    topics: dict[Resource, str | None] = {}
    for change in changes:
        patch = patches.get(change.resource)
        if patch is None:
            patch = patches[change.resource] = {}
        if change.kind is ChangeKind.CONFIG:
            secret = change.sensitive and change.after is not None and change.resource.type == _BROKER
            patch[change.key] = (
                cipher.encrypt(_context(change.resource, change.key), change.after or "") if secret else change.after
            )
        else:
            topics[change.resource] = change.after
    altered = [
        (resource, changed[resource], patch if resource in stored else _set_only(patch))
        for resource, patch in patches.items()
    ]
    created = [(resource, topic) for resource, topic in topics.items() if topic is not None]
    deleted = [resource for resource, topic in topics.items() if topic is None]
    return revision, to_json(altered), to_json(created), to_json(deleted)


def _context(resource: Resource, key: str) -> str:
    return f"{resource.name}\0{key}"


def _set_only(patch: Mapping[str, str | EncryptedValue | None]) -> Mapping[str, str | EncryptedValue]:
    return {key: value for key, value in patch.items() if value is not None}


def read_revision(number: int, record: str) -> Revision:
    """Raises DamagedRecord."""
    try:
        return records.read_revision(number, json.loads(record))
    except DAMAGE as error:
        raise DamagedRecord(f"revision {number} of the journal cannot be read") from error


def attempt_record(attempt: AuditEntry) -> str:
    """An attempt as the text of a row. It contains no values."""
    return to_json(records.attempt_record(attempt))


def read_attempt(number: int, record: str) -> AuditEntry:
    """Raises DamagedRecord."""
    try:
        return records.read_attempt(number, json.loads(record))
    except DAMAGE as error:
        raise DamagedRecord(f"entry {number} of the audit log cannot be read") from error


def resource_text(resource: Resource) -> str:
    """The key of a resource in the tables."""
    return to_json(resource)


def re_encrypt(db: sqlite3.Connection, cipher: ValueCipher) -> bool:
    """Encrypt values in clear text or with an older key with the current key. Returns whether there were any."""
    found = False
    for text, resource, overrides in _broker_rows(db):
        updated: dict[str, str | EncryptedValue] = {}
        for key, stored in overrides.items():
            value = stored if isinstance(stored, str) else cipher.decrypt(_context(resource, key), stored)
            stale = is_broker_secret(key) if isinstance(stored, str) else not cipher.is_current(stored)
            updated[key] = cipher.encrypt(_context(resource, key), value) if stale and value is not None else stored
        if updated != overrides:
            db.execute("UPDATE resources SET overrides = ? WHERE resource = ?", (to_json(updated), text))
            found = True
    return found


def _broker_rows(db: sqlite3.Connection) -> list[tuple[str, Resource, dict[str, Any]]]:
    rows = db.execute("SELECT resource, overrides FROM resources WHERE resource LIKE ?", (f"[{int(_BROKER)},%",))
    return [(text, read_resource(json.loads(text)), json.loads(overrides)) for text, overrides in rows.fetchall()]


def _decrypted(resource: Resource, overrides: Mapping[str, Any], cipher: ValueCipher) -> dict[str, str]:
    """Decrypt overrides. Values that cannot be decrypted are ignored, as in Kafka, and stay in the file."""
    decrypted: dict[str, str] = {}
    for key, stored in overrides.items():
        value = stored if isinstance(stored, str) else cipher.decrypt(_context(resource, key), stored)
        if value is None:
            cipher.undecryptable.add(f"{key} of {resource}")
            log.error("%s of %s cannot be decrypted; check password.encoder.secret", key, resource)
        else:
            decrypted[key] = value
    return decrypted


def read_snapshot(db: sqlite3.Connection, revision: int, cipher: ValueCipher) -> Snapshot:
    """The state in the tables, at `revision`. Equal overrides, replicas and names share one object."""
    with gc_paused():
        rows = db.execute("SELECT resource, revision, overrides FROM resources").fetchall()
        resources = {
            row[0]: read_resource(pair) for row, pair in zip(rows, _parse(row[0] for row in rows), strict=True)
        }
        return Snapshot.of(
            revision,
            Map(_read_topics(db, resources)),
            Map(
                _read_configs({resources[text]: overrides for text, _, overrides in rows if overrides != "{}"}, cipher)
            ),
            Map({resources[text]: changed for text, changed, _ in rows}),
        )


def read_folded(db: sqlite3.Connection) -> int:
    """The revision of the tables. In the first schema they are always up to date."""
    found = db.execute(FOLDED).fetchone() or db.execute("SELECT coalesce(max(number), 0) FROM journal").fetchone()
    return int(found[0])


class StateRows(NamedTuple):
    """The tables of the state by resource, with values as stored, possibly encrypted."""

    revisions: Mapping[Resource, int]
    overrides: Mapping[Resource, Mapping[str, Any]]
    topics: Mapping[Resource, str]


def read_snapshot_rows(db: sqlite3.Connection) -> StateRows:
    """Decode every row, without decryption. Damaged rows raise one of `DAMAGE`."""
    rows = db.execute("SELECT resource, revision, overrides FROM resources").fetchall()
    named = {text: read_resource(json.loads(text)) for text, _, _ in rows}
    overrides = {named[text]: dict(json.loads(stored)) for text, _, stored in rows}
    topics = {named[text]: topic for text, topic in db.execute("SELECT resource, topic FROM topics")}
    for resource, topic in topics.items():
        topic_from_json(resource.name, topic)
    return StateRows({named[text]: int(revision) for text, revision, _ in rows}, overrides, topics)


def _read_configs(texts: Mapping[Resource, str], cipher: ValueCipher) -> dict[Resource, Overrides]:
    different = set(texts.values())
    sets: dict[str, Overrides] = dict(zip(different, _parse(different), strict=True))
    found = {resource: sets[text] for resource, text in texts.items()}
    for resource in [each for each in found if each.type == _BROKER]:
        found[resource] = _decrypted(resource, found[resource], cipher)
    return found


def _read_topics(db: sqlite3.Connection, resources: Mapping[str, Resource]) -> dict[str, Topic]:
    """Like topic_from_json, for all topics at once."""
    rows = db.execute("SELECT resource, topic FROM topics").fetchall()
    topics: dict[str, Topic] = {}
    assignments: dict[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]] = {}
    for (text, _), facts in zip(rows, _parse(row[1] for row in rows), strict=True):
        name = resources[text].name
        replicas = tuple(map(tuple, facts["replicas"]))
        topics[name] = Topic(name, decode_id(facts["id"]), assignments.setdefault(replicas, replicas))
    return topics


def _parse(texts: Iterable[str]) -> list[Any]:
    """Parse many JSON texts at once, so that equal keys share one string."""
    found: list[Any] = json.loads(f"[{','.join(texts)}]")
    return found
