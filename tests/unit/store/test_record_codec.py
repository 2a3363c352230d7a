"""Journal records: their fields by position, and records of older and newer versions."""

from __future__ import annotations

import json
from typing import Any

from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext, Revision
from kconf.model.lines.fields import CALLER_NAMES
from kconf.model.resource import Resource
from kconf.store.record_codec import attempt_record, read_attempt, read_revision, revision_record, to_json
from kconf.store.sqlite.schema import RECORD

ALICE = RequestContext("User:alice", "cli", "127.0.0.1", "IncrementalAlterConfigs", 7, "ticket 12")
ORDERS = Resource.topic("orders")
CHANGE = Change(ChangeKind.CONFIG, ORDERS, "a", None, "1", "set")
REVISION = Revision(3, 99, ALICE, (CHANGE,))
ATTEMPT = AuditEntry(99, ALICE, 3, ORDERS, ("a",), 44, False, 5)


def stored(record: list[Any]) -> list[Any]:
    found: list[Any] = json.loads(to_json(record))
    return found


def test_fields_of_a_record_are_at_the_positions_that_the_sql_reads() -> None:
    record = stored(revision_record(99, ALICE, "kconf", [CHANGE]))

    assert RECORD[1:7] == CALLER_NAMES[:6], (
        "stored records count by place: a new field goes to the end of RequestContext"
    )
    assert dict(zip(RECORD, record, strict=False)) == {
        "time": 99,
        "principal": "User:alice",
        "client_id": "cli",
        "host": "127.0.0.1",
        "api": "IncrementalAlterConfigs",
        "request_id": 7,
        "reason": "ticket 12",
        "origin": "kconf",
        "changes": [["config", [2, "orders"], "a", None, "1", "set", False]],
    }


def test_records_are_read_back_unchanged() -> None:
    assert read_revision(3, stored(revision_record(99, ALICE, "kconf", [CHANGE]))) == REVISION
    assert read_attempt(5, stored(attempt_record(ATTEMPT))) == ATTEMPT


def test_the_earliest_time_of_a_change_found_later_is_stored() -> None:
    record = stored(revision_record(99, ALICE, "outside", [CHANGE], not_before=90))

    assert read_revision(3, record) == Revision(3, 99, ALICE, (CHANGE,), "outside", not_before=90)


def test_fields_of_newer_versions_in_a_record_are_ignored() -> None:
    newer = "10.0.0.9"

    assert read_revision(3, [*stored(revision_record(99, ALICE, "kconf", [CHANGE])), newer]) == REVISION
    assert read_attempt(5, [*stored(attempt_record(ATTEMPT)), newer]) == ATTEMPT
