"""Compares the state of a store with its journal: the state must match the last changes in the journal."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource
from kconf.store.sqlite.rows import StateRows, read_folded, read_revision, read_snapshot_rows


class _LastChanges:
    """The last changes in a journal, up to a revision."""

    def __init__(self) -> None:
        self.overrides: dict[Resource, dict[str, str | None]] = {}
        self.sensitive: set[tuple[Resource, str]] = set()
        self.topics: dict[Resource, str | None] = {}
        self.revisions: dict[Resource, int] = {}


def disagreements(db: sqlite3.Connection) -> Iterator[str]:
    """The differences, without values.

    Sensitive values are not compared, since the journal contains only their hashes.
    """
    folded = read_folded(db)
    (first,) = db.execute("SELECT coalesce(min(number), 1) FROM journal").fetchone()
    rows = read_snapshot_rows(db)
    last = _last_changes(db, folded)
    for resource, revision in last.revisions.items():
        stored = rows.revisions.get(resource)
        if stored != revision:
            yield f"{resource}: its last change is revision {revision} in the journal, {stored} in the state"
        yield from _overrides(resource, last, rows.overrides.get(resource, {}))
        if resource in last.topics and rows.topics.get(resource) != last.topics[resource]:
            yield f"{resource}: the topic differs from the journal"
    if first == 1:
        yield from _unknown_to_journal(rows, last)


def _last_changes(db: sqlite3.Connection, folded: int) -> _LastChanges:
    last = _LastChanges()
    for number, record in db.execute("SELECT number, record FROM journal WHERE number <= ? ORDER BY number", (folded,)):
        for change in read_revision(number, record).changes:
            last.revisions[change.resource] = number
            if change.kind is ChangeKind.CONFIG:
                last.overrides.setdefault(change.resource, {})[change.key] = change.after
                place = (change.resource, change.key)
                (last.sensitive.add if change.sensitive else last.sensitive.discard)(place)
            else:
                last.topics[change.resource] = change.after
    return last


def _overrides(resource: Resource, last: _LastChanges, stored: Mapping[str, Any]) -> Iterator[str]:
    for key, value in last.overrides.get(resource, {}).items():
        if (value is None) != (key not in stored):
            present, absent = ("state", "journal") if value is None else ("journal", "state")
            yield f"{resource}: {key} is set in the {present} but not in the {absent}"
        elif value is not None and (resource, key) not in last.sensitive and stored[key] != value:
            yield f"{resource}: {key} has different values in the state and in the journal"


def _unknown_to_journal(rows: StateRows, last: _LastChanges) -> Iterator[str]:
    """What is in the state but not in the journal, if the journal is complete."""
    for resource, overrides in rows.overrides.items():
        for key in overrides:
            if key not in last.overrides.get(resource, {}):
                yield f"{resource}: {key} is in the state, but the journal has no change that set it"
    for resource in rows.topics:
        if resource not in last.topics:
            yield f"{resource}: the topic is in the state, but the journal has no change that created it"
