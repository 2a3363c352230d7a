"""Committed changes in the server's log: keys and callers, no values, at a limited rate."""

from __future__ import annotations

import logging

import pytest

from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource
from kconf.server.journal.change_log import BURST, ChangeLog

ALICE = RequestContext("User:alice", "tool", "10.0.0.7", "IncrementalAlterConfigs")
LOGGER = "kconf.server.journal.change_log"


def change(resource: Resource, key: str, after: str | None, op: str = "set", *, sensitive: bool = False) -> Change:
    return Change(ChangeKind.CONFIG, resource, key, None, after, op, sensitive)


def test_a_log_line_has_the_principal_and_the_keys_and_no_values(caplog: pytest.LogCaptureFixture) -> None:
    orders = Resource.topic("orders")
    changes = [
        change(orders, "retention.ms", "777777"),
        change(Resource.broker(1), "ssl.key.password", "the-password", sensitive=True),
        change(orders, "flush.ms", None, "delete"),
    ]

    with caplog.at_level(logging.INFO, LOGGER):
        ChangeLog().on_commit([Revision(12, 0, ALICE, changes)])

    caller = "principal=User:alice host=10.0.0.7 api=IncrementalAlterConfigs"
    assert [record.getMessage() for record in caplog.records] == [
        f"changed revision=12 resource=topic:orders set=retention.ms delete=flush.ms {caller}",
        f"changed revision=12 resource=broker:1 set=ssl.key.password {caller}",
    ]


def test_many_keys_and_long_names_are_truncated(caplog: pytest.LogCaptureFixture) -> None:
    changes = [change(Resource.group("g" * 5000), f"key{number}", "1") for number in range(12)]

    with caplog.at_level(logging.INFO, LOGGER):
        ChangeLog().on_commit([Revision(1, 0, ALICE, changes)])

    (line,) = [record.getMessage() for record in caplog.records]
    assert "key9 and 2 more" in line
    assert len(line) < 600


def test_lines_beyond_the_rate_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    log = ChangeLog(lambda: now[0])
    many = [change(Resource.topic(f"t{number}"), "retention.ms", "1") for number in range(BURST + 30)]

    with caplog.at_level(logging.INFO, LOGGER):
        log.on_commit([Revision(1, 0, ALICE, many)])
        log.on_commit([Revision(2, 0, ALICE, many[:1]), Revision(3, 0, ALICE, [*many[:2], *many[:2]])])
        now[0] = 60.0
        log.on_commit([Revision(4, 0, ALICE, many[:1])])

    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == BURST + 2
    assert lines[BURST] == "suppressed 33 similar messages"
    assert "revision=4" in lines[-1]
