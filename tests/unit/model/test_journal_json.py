from __future__ import annotations

import json

from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext, Revision
from kconf.model.journal_json import attempt_line, change_lines, read_revisions, to_json
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType

ALICE = RequestContext("User:alice", "cli", "127.0.0.1", "IncrementalAlterConfigs", 7, "ticket 12")
ORDERS = Resource.topic("orders")


def changed(key: str, before: str | None, after: str | None, resource: Resource = ORDERS) -> Change:
    return Change(ChangeKind.CONFIG, resource, key, before, after, "SET")


def test_a_line_is_whole_in_itself() -> None:
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


def test_where_numbers_have_no_gaps_they_are_the_sequence() -> None:
    (line,) = change_lines("C", 1, Revision(17, 99, ALICE, (changed("a", None, "1"),)))

    assert line["sequence"] == 17


def test_a_quota_names_its_entity() -> None:
    quota = QuotaEntity.of({"user": "alice", "client-id": None}).resource

    (line,) = change_lines("C", 1, Revision(1, 0, ALICE, (changed("producer_byte_rate", None, "1.0", quota),)))

    assert line["resource_type"] == "quota"
    assert line["entity"] == {"client-id": None, "user": "alice"}


def test_lines_become_the_revisions_that_they_were() -> None:
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
