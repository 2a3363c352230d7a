from __future__ import annotations

import json

import pytest

from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext, Revision
from kconf.model.lines.fields import ATTEMPT_LINE, CHANGE_LINE, CLIENT_ONLY, REQUEST
from kconf.model.lines.journal import attempt_line, change_lines, read_revisions, to_json
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType

ALICE = RequestContext("User:alice", "cli", "127.0.0.1", "IncrementalAlterConfigs", 7, "ticket 12")
ORDERS = Resource.topic("orders")
QUOTA = QuotaEntity.of({"user": "alice", "client-id": None}).resource


def changed(key: str, before: str | None, after: str | None, resource: Resource = ORDERS) -> Change:
    return Change(ChangeKind.CONFIG, resource, key, before, after, "SET")


def test_a_line_contains_all_fields_of_its_revision() -> None:
    (line,) = change_lines("C", 2, Revision(17, 99, ALICE, (changed("retention.ms", None, "1"),), "kconf", 5))

    assert line == {
        "format": 1,
        "cluster": "C",
        "epoch": 2,
        "revision": 17,
        "sequence": 5,
        "line": 0,
        "lines": 1,
        "time": 99,
        "origin": "kconf",
        "principal": "User:alice",
        "client_id": "cli",
        "host": "127.0.0.1",
        "api": "IncrementalAlterConfigs",
        "request_id": 7,
        "reason": "ticket 12",
        "kind": "config",
        "resource_type": "topic",
        "resource_name": "orders",
        "op": "SET",
        "key": "retention.ms",
        "before": None,
        "after": "1",
        "sensitive": False,
    }


def test_the_sequence_is_the_revision_number_where_numbers_have_no_gaps() -> None:
    (line,) = change_lines("C", 1, Revision(17, 99, ALICE, (changed("a", None, "1"),)))

    assert line["sequence"] == 17


def test_a_quota_names_its_entity() -> None:
    (line,) = change_lines("C", 1, Revision(1, 0, ALICE, (changed("producer_byte_rate", None, "1.0", QUOTA),)))

    assert line["resource_type"] == "quota"
    assert line["entity"] == {"client-id": None, "user": "alice"}


def test_lines_are_read_back_as_the_same_revisions() -> None:
    client_metrics = Resource(ResourceType.CLIENT_METRICS, "ü\u0000\n")
    revisions = [
        Revision(3, 10, ALICE, (changed("a", "1", None), changed("b", None, "ü\n", client_metrics)), "outside", 1),
        Revision(9, 11, RequestContext(), (changed("a", None, "2"),), "kconf", 2),
    ]
    texts = [to_json(line) for each in revisions for line in change_lines("C", 1, each)]

    assert all("\n" not in text for text in texts)
    assert list(read_revisions(map(json.loads, texts))) == revisions


def test_an_attempt_has_no_values() -> None:
    line = attempt_line("C", 1, AuditEntry(5, ALICE, 17, ORDERS, ("a", "b"), 44, False, 3))

    assert line["keys"] == ["a", "b"]
    assert (line["number"], line["revision"], line["error"], line["dry_run"]) == (3, 17, 44, False)
    assert not {"before", "after"} & line.keys()


def test_lines_have_exactly_the_fields_that_are_defined() -> None:
    """Otherwise a field could be written and never read, or be null in the lake without notice."""
    (change,) = change_lines("C", 1, Revision(1, 0, ALICE, (changed("producer_byte_rate", None, "1.0", QUOTA),)))
    attempt = attempt_line("C", 1, AuditEntry(5, ALICE, 17, QUOTA, ("a",), 44, False, 3))

    by_client = {each.name for each in (*CLIENT_ONLY, *REQUEST)}
    assert change.keys() == {each.name for each in CHANGE_LINE} - by_client
    assert attempt.keys() == {each.name for each in ATTEMPT_LINE} - by_client


def test_a_field_has_the_same_type_in_both_kinds_of_lines() -> None:
    types = {each.name: each.type for each in CHANGE_LINE}

    assert [each for each in ATTEMPT_LINE if types.get(each.name, each.type) != each.type] == []


def test_a_line_from_before_a_field_was_added_is_read_with_its_default() -> None:
    (line,) = change_lines("C", 1, Revision(17, 99, ALICE, (changed("a", None, "1"),)))
    for name in ("host", "request_id", "reason"):
        del line[name]

    (revision,) = read_revisions([line])

    assert revision.caller == RequestContext("User:alice", "cli", "", "IncrementalAlterConfigs", 0, None)


def test_a_field_that_a_newer_version_added_is_ignored() -> None:
    known = Revision(17, 99, ALICE, (changed("a", None, "1"),), "kconf", 17)
    (line,) = change_lines("C", 1, known)

    assert list(read_revisions([{**line, "ip": "10.0.0.9"}])) == [known]


def test_a_line_without_an_entity_is_refused() -> None:
    (line,) = change_lines("C", 1, Revision(17, 99, ALICE, (changed("a", None, "1"),)))
    del line["principal"]

    with pytest.raises(KeyError, match="principal"):
        list(read_revisions([line]))
