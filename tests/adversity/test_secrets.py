"""Secrets sent in every way, accepted and refused, appear in no output, log, file or response."""

from __future__ import annotations

import sqlite3
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconf.protocol.messages.alter_config import AddedConfigEntry, AlterConfigRequest, AlteredEntity
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from kconf.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kconf.protocol.messages.describe_config import DescribeConfigRequest, DescribedEntity
from kconf.protocol.messages.describe_configs_at import DescribeConfigsAtRequest, ResourceAt
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kconf.protocol.messages.list_attempts import ListAttemptsRequest
from kconf.protocol.messages.list_config_changes import ListConfigChangesRequest
from tests.adversity.alterations import BROKER, BROKERS, create, describing, topic
from tests.adversity.lines import Line, complaints, frame
from tests.support.process import KconfProcess

SECRET = "Tr0ub4dor"
PASSWORD = "listener.name.external.ssl.keystore.password"
STATIC = {"ssl.truststore.password": f"{SECRET}-static", "my.own.thing": f"{SECRET}-static-unknown"}


def _secret(word: str) -> str:
    return f"{SECRET}-{word}"


def _incremental(kind: int, name: str, key: str, value: str, *, operation: int = 0, dry: bool = False) -> bytes:
    configs = [IncrementalAlterableConfig(key, operation, value)]
    requested = IncrementalAlterConfigsRequest([IncrementalAlterConfigsResource(kind, name, configs)], dry)
    return frame("IncrementalAlterConfigs", 1, requested)


def _replacing(kind: int, name: str, key: str, value: str) -> bytes:
    requested = AlterConfigsResource(kind, name, [AlterableConfig(key, value)])
    return frame("AlterConfigs", 2, AlterConfigsRequest([requested]))


def _creating(key: str, value: str) -> bytes:
    requested = CreatableTopic("made", 1, 1, [], [CreatableTopicConfig(key, value)])
    return frame("CreateTopics", 7, CreateTopicsRequest([requested]))


def _kip21(kind: str, name: str, key: str, value: str) -> bytes:
    return frame("AlterConfig", 0, AlterConfigRequest([AlteredEntity(kind, name, [AddedConfigEntry(key, value)], [])]))


SENT = {
    "a password": _incremental(4, "1", PASSWORD, _secret("a")),
    "another password": _incremental(4, "1", PASSWORD, _secret("b")),
    "a password, only tried": _incremental(4, "1", PASSWORD, _secret("dry"), dry=True),
    "an unknown broker key": _incremental(4, "1", "my.custom.token", _secret("custom")),
    "an unknown key of all brokers": _incremental(4, "", "my.custom.token", _secret("everywhere")),
    "a password for all brokers": _incremental(4, "", PASSWORD, _secret("refused")),
    "a password that is read-only": _incremental(4, "1", "password.encoder.secret", _secret("read-only")),
    "an appended password": _incremental(4, "1", PASSWORD, _secret("appended"), operation=2),
    "a password for another broker": _incremental(4, "7", PASSWORD, _secret("other")),
    "an unknown operation": _incremental(4, "1", PASSWORD, _secret("operation"), operation=9),
    "a password, replaced": _replacing(4, "1", PASSWORD, _secret("replaced")),
    "a password, replaced and refused": _replacing(4, "", PASSWORD, _secret("refused-too")),
    "a number that is none": _incremental(4, "1", "log.cleaner.threads", _secret("number")),
    "an unknown topic key": _incremental(2, "orders", "my.token", _secret("topic")),
    "an unknown group key": _incremental(32, "group", "my.token", _secret("group")),
    "an unknown metrics key": _incremental(16, "metrics", "my.token", _secret("metrics")),
    "a logger": _incremental(8, "1", "root", _secret("logger")),
    "an unknown topic key at creation": _creating("my.token", _secret("created")),
    "a type that is none": _incremental(77, "1", PASSWORD, _secret("type")),
    "KIP-21's way": _kip21("broker", "1", PASSWORD, _secret("kip21")),
    "KIP-21's way, refused": _kip21("topic", "orders", "my.token", _secret("kip21-topic")),
}

ASKED = {
    "the broker": describing(BROKER),
    "all brokers": describing(BROKERS),
    "the topic": describing(topic("orders")),
    "the journal": frame("ListConfigChanges", 0, ListConfigChangesRequest(0, 0, 10_000)),
    "the attempts": frame("ListAttempts", 0, ListAttemptsRequest(0, 10_000)),
    "how it was": frame(
        "DescribeConfigsAt", 0, DescribeConfigsAtRequest(3, -1, [ResourceAt(4, "1"), ResourceAt(4, "")])
    ),
    "KIP-21's way": frame("DescribeConfig", 0, DescribeConfigRequest([DescribedEntity("broker", "1")])),
}


@pytest.fixture(scope="module")
def kconf() -> Iterator[KconfProcess]:
    """A server that has received all the secrets."""
    with KconfProcess(properties=STATIC, args=["--metrics", "127.0.0.1:0", "--log-level", "DEBUG"]) as process:
        with Line(process) as line:
            create(line, "orders")
            for asked in SENT.values():
                line.send(asked)
                line.receive()
        yield process


QUOTED = ("a number that is none", "a logger")
"""Refused values of keys that are not sensitive: the response quotes them, as Kafka's does."""


@pytest.mark.parametrize("what", SENT)
def test_only_the_refused_value_of_a_key_that_is_not_sensitive_is_repeated(kconf: KconfProcess, what: str) -> None:
    with Line(kconf) as line:
        line.send(SENT[what])
        answer = line.receive()

    assert len(answer) > 10
    assert (SECRET.encode() in answer) == (what in QUOTED)


@pytest.mark.parametrize("what", ASKED)
def test_no_response_contains_a_secret(kconf: KconfProcess, what: str) -> None:
    with Line(kconf) as line:
        line.send(ASKED[what])
        answer = line.receive()

    assert len(answer) > 20
    assert SECRET.encode() not in answer


def test_neither_metrics_nor_health_contain_a_secret(kconf: KconfProcess) -> None:
    assert kconf.metrics_url is not None
    for path in ("/metrics", "/health"):
        with urllib.request.urlopen(kconf.metrics_url.replace("/metrics", path)) as answer:
            assert SECRET.encode() not in answer.read()


def test_the_stored_state_has_the_keys_and_no_secret(kconf: KconfProcess) -> None:
    with KconfProcess(properties=STATIC, args=["--log-level", "DEBUG"]) as own:
        with Line(own) as line:
            create(line, "orders")
            line.send(*SENT.values())
            for _ in SENT:
                line.receive()
            line.send(ASKED["the attempts"])
            line.receive()
        assert own.stop() == 0

        rows = list(_rows(own.directory / "kconf.db"))
        for key in (PASSWORD, "my.custom.token"):
            assert {"overrides", "journal"} <= {table for table, text in rows if key in text}, key
        assert [table for table, text in rows if SECRET in text] == []
        assert SECRET not in own.log()


def _rows(file: Path) -> Iterator[tuple[str, str]]:
    db = sqlite3.connect(file)
    try:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
        assert "journal" in names
        for name in names:
            for row in db.execute(f"SELECT * FROM {name}"):
                yield name, repr(row)
    finally:
        db.close()


def test_the_log_has_one_line_per_event_and_no_secret(kconf: KconfProcess) -> None:
    with Line(kconf) as line:
        line.send(b"\x00\x00\x00\x10" + bytes(16))
        assert line.is_closed()

    log = kconf.log()
    assert SECRET not in log
    lines = log.splitlines()
    assert [each for each in lines if not each.startswith(("kconf ", "time="))] == []
    assert any("level=INFO logger=kconf.server." in each and "connection closed" in each for each in lines)
    assert complaints(kconf) == []
