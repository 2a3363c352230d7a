"""Values as the rows of a SQLite store, and back. sqlite_schema.py says what the tables are.

A value enters the state in `folded` and leaves it in `read_snapshot`, nowhere else: a broker's secrets are locked and
opened in those two places (vault.py).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from logging import getLogger
from typing import Any

from immutables import Map

from kconf.configdef.dynamic import is_broker_secret
from kconf.model.journal import AuditEntry, Change, ChangeKind, Revision, redacted
from kconf.model.plan import PendingCommit
from kconf.model.resource import Overrides, Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot, decode_id
from kconf.security.value_cipher import Locked, ValueCipher
from kconf.store import record_codec as records
from kconf.store.record_codec import read_resource, revision_record, to_json
from kconf.util.gc_tuning import gc_paused

log = getLogger(__name__)

_BROKER = ResourceType.BROKER


class RowWrites:
    """What one transaction will hold: the records of the journal, and what they do to the state."""

    def __init__(self, number: int, changed: Map[Resource, int], seal: bytes) -> None:
        self.number = number
        self.changed = changed.mutate()
        self.lines: list[Change] = []
        self.sensitive = False
        self._first = number + 1
        self._seal = seal
        self._records: list[object] = []

    def __bool__(self) -> bool:
        return bool(self._records)

    def add(self, draft: PendingCommit) -> None:
        """One more revision."""
        self.number += 1
        sealed: Sequence[Change] = draft.changes
        for change in sealed:
            self.changed[change.resource] = self.number
        if any(change.sensitive for change in sealed):
            self.sensitive = True
            sealed = [redacted(change, self._seal) for change in sealed]
        self.lines += draft.changes
        self._records.append(revision_record(draft.time, draft.caller, "kconf", sealed))

    def journal(self) -> tuple[int, str]:
        """The first two columns of `intake`."""
        return self._first, to_json(self._records)


def folded(
    lines: Iterable[Change],
    stored: Mapping[Resource, int],
    changed: Mapping[Resource, int],
    revision: int,
    vault: ValueCipher,
) -> tuple[int, str, str, str]:
    """The other columns of `intake`: what `lines` do to the tables, which have the resources `stored`.

    After them the state is that of `revision`, with the last changes `changed`. A resource that is there gets an RFC
    7396 merge patch, where null takes an override away; a new one has nothing to take away.
    """
    patches: dict[Resource, dict[str, str | Locked | None]] = {}
    topics: dict[Resource, str | None] = {}
    for change in lines:
        patch = patches.get(change.resource)
        if patch is None:
            patch = patches[change.resource] = {}
        if change.kind is ChangeKind.CONFIG:
            secret = change.sensitive and change.after is not None and change.resource.type == _BROKER
            patch[change.key] = (
                vault.lock(_place(change.resource, change.key), change.after or "") if secret else change.after
            )
        else:
            topics[change.resource] = change.after
    moved = [
        (resource, changed[resource], patch if resource in stored else _set_only(patch))
        for resource, patch in patches.items()
    ]
    made = [(resource, topic) for resource, topic in topics.items() if topic is not None]
    gone = [resource for resource, topic in topics.items() if topic is None]
    return revision, to_json(moved), to_json(made), to_json(gone)


def _place(resource: Resource, key: str) -> str:
    return f"{resource.name}\0{key}"


def _set_only(patch: Mapping[str, str | Locked | None]) -> Mapping[str, str | Locked]:
    return {key: value for key, value in patch.items() if value is not None}


def read_revision(number: int, record: str) -> Revision:
    return records.read_revision(number, json.loads(record))


def attempt_record(attempt: AuditEntry) -> str:
    """An attempt as a row has it. It holds no values."""
    return to_json(records.attempt_record(attempt))


def read_attempt(number: int, record: str) -> AuditEntry:
    return records.read_attempt(number, json.loads(record))


def resource_text(resource: Resource) -> str:
    """How the tables name a resource."""
    return to_json(resource)


def lock_again(db: sqlite3.Connection, vault: ValueCipher) -> bool:
    """Lock what the current key has not locked: from before there was one, or by the old secret. Whether any was."""
    found = False
    for text, resource, overrides in _broker_rows(db):
        again: dict[str, str | Locked] = {}
        for key, kept in overrides.items():
            value = kept if isinstance(kept, str) else vault.open(_place(resource, key), kept)
            stale = is_broker_secret(key) if isinstance(kept, str) else not vault.is_current(kept)
            again[key] = vault.lock(_place(resource, key), value) if stale and value is not None else kept
        if again != overrides:
            db.execute("UPDATE resources SET overrides = ? WHERE resource = ?", (to_json(again), text))
            found = True
    return found


def _broker_rows(db: sqlite3.Connection) -> list[tuple[str, Resource, dict[str, Any]]]:
    rows = db.execute("SELECT resource, overrides FROM resources WHERE resource LIKE ?", (f"[{int(_BROKER)},%",))
    return [(text, read_resource(json.loads(text)), json.loads(overrides)) for text, overrides in rows.fetchall()]


def _opened(resource: Resource, overrides: Mapping[str, Any], vault: ValueCipher) -> dict[str, str]:
    """What cannot be opened is left out, as in Kafka, and stays in the file."""
    opened: dict[str, str] = {}
    for key, kept in overrides.items():
        value = kept if isinstance(kept, str) else vault.open(_place(resource, key), kept)
        if value is None:
            vault.refused.add(f"{key} of {resource}")
            log.error("%s of %s cannot be unlocked: is password.encoder.secret the one it was set with?", key, resource)
        else:
            opened[key] = value
    return opened


def read_snapshot(db: sqlite3.Connection, revision: int, vault: ValueCipher) -> Snapshot:
    """What the tables say, the state at `revision`. Equal overrides, replicas and names are one object each."""
    with gc_paused():
        rows = db.execute("SELECT resource, revision, overrides FROM resources").fetchall()
        resources = {
            row[0]: read_resource(pair) for row, pair in zip(rows, _parse(row[0] for row in rows), strict=True)
        }
        return Snapshot.of(
            revision,
            Map(_read_topics(db, resources)),
            Map(_read_configs({resources[text]: overrides for text, _, overrides in rows if overrides != "{}"}, vault)),
            Map({resources[text]: changed for text, changed, _ in rows}),
        )


def _read_configs(texts: Mapping[Resource, str], vault: ValueCipher) -> dict[Resource, Overrides]:
    different = set(texts.values())
    sets: dict[str, Overrides] = dict(zip(different, _parse(different), strict=True))
    found = {resource: sets[text] for resource, text in texts.items()}
    for resource in [each for each in found if each.type == _BROKER]:
        found[resource] = _opened(resource, found[resource], vault)
    return found


def _read_topics(db: sqlite3.Connection, resources: Mapping[str, Resource]) -> dict[str, Topic]:
    """As topic_from_json does, for all at once."""
    rows = db.execute("SELECT resource, topic FROM topics").fetchall()
    topics: dict[str, Topic] = {}
    assignments: dict[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]] = {}
    for (text, _), facts in zip(rows, _parse(row[1] for row in rows), strict=True):
        name = resources[text].name
        replicas = tuple(map(tuple, facts["replicas"]))
        topics[name] = Topic(name, decode_id(facts["id"]), assignments.setdefault(replicas, replicas))
    return topics


def _parse(texts: Iterable[str]) -> list[Any]:
    """Many texts at once, so that equal keys are one string."""
    found: list[Any] = json.loads(f"[{','.join(texts)}]")
    return found
