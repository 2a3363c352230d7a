"""A client records its changes to a real broker, which has no journal of its own."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kconf import (
    AclBinding,
    AclType,
    AdminClient,
    AlterConfigOp,
    ClientJournal,
    ConnectionFailed,
    Mechanism,
    NewTopic,
    Operation,
    OpType,
    QuotaEntity,
    RequestTimedOut,
    Resource,
    SyncAdminClient,
    UserScramCredentialDeletion,
    scram_upsertion,
)
from kconf.client.journal.files import JournalContents, read_journal
from kconf.errors import StoreUnavailable
from kconf.model.lines.journal import read_revisions
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import a_name, until
from tests.cli.declarative.conftest import AUTHORIZER

SECRET = "hunter2-planted"
INCREMENTAL_ALTER_CONFIGS = 44


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker(properties=AUTHORIZER) as found:
        yield found


@pytest.fixture
def journal(tmp_path: Path) -> ClientJournal:
    return ClientJournal(tmp_path / "journal", reason="ticket 12")


@pytest.fixture
def admin(broker: KafkaBroker, journal: ClientJournal) -> Iterator[SyncAdminClient]:
    with SyncAdminClient(broker.bootstrap, journal=journal) as client:
        yield client


def recorded(broker: KafkaBroker, journal: ClientJournal) -> JournalContents:
    return read_journal(journal.directory, broker.cluster_id)


def told(lines: list[dict[str, Any]]) -> list[tuple[str, str, str | None, str | None]]:
    return [(line["op"], line["key"], line["before"], line["after"]) for line in lines]


def test_a_change_is_recorded_with_the_old_value_and_the_caller(
    broker: KafkaBroker, journal: ClientJournal, admin: SyncAdminClient
) -> None:
    name = a_name()
    topic = Resource.topic(name)
    admin.create_topics([NewTopic(name, 2, 1, configs=[("cleanup.policy", "compact")])]).raise_for_failures()
    until(lambda: name in admin.list_topics(), True)
    requests = [
        AlterConfigOp(OpType.SET, "retention.ms", "7200000"),
        AlterConfigOp(OpType.APPEND, "cleanup.policy", "delete"),
    ]
    admin.incremental_alter_configs({topic: requests}, reason="for once").raise_for_failures()
    until(lambda: admin.describe_configs([topic])[topic]["retention.ms"].value, "7200000")
    admin.incremental_alter_configs(
        {topic: [AlterConfigOp(OpType.SET, "retention.ms", "7200000")]}
    ).raise_for_failures()
    admin.create_partitions({name: 3}).raise_for_failures()
    until(lambda: admin.list_topics()[name].partitions, 3)
    admin.delete_topics([name]).raise_for_failures()

    found = recorded(broker, journal)

    made, configured, retention, policy, grown, *gone = found.changes
    assert json.loads(made["after"]).keys() == {"id", "replicas"}
    assert told([configured, retention, policy]) == [
        ("set", "cleanup.policy", None, "compact"),
        ("set", "retention.ms", None, "7200000"),
        ("append", "cleanup.policy", "compact", "compact,delete"),
    ]
    assert [len(json.loads(grown[side])["replicas"]) for side in ("before", "after")] == [2, 3]
    assert sorted(each["key"] for each in gone) == ["", "cleanup.policy", "retention.ms"]
    assert {each["after"] for each in gone} == {None}
    assert (retention["principal"], retention["reason"], retention["outcome"]) == ("User:ANONYMOUS", "for once", "done")
    assert (made["reason"], made["origin"], made["epoch"], made["api"]) == ("ticket 12", "client", 0, "CreateTopics")
    assert retention["os_user"]
    assert (found.attempts, found.unknown) == ([], [])
    revisions = list(read_revisions(found.changes))
    assert [len(each.changes) for each in revisions] == [2, 2, 1, 3]


def test_quotas_credentials_and_acls_are_recorded_and_no_secret_is(
    broker: KafkaBroker, journal: ClientJournal, admin: SyncAdminClient
) -> None:
    user = a_name("u")
    entity = QuotaEntity.of({"user": user})
    acl = AclBinding(AclType.TOPIC, user, f"User:{user}", Operation.READ)
    brokers = Resource.broker(broker.node_id)
    admin.alter_client_quotas({entity: {"producer_byte_rate": 1024.0}}).raise_for_failures()
    admin.alter_user_scram_credentials([scram_upsertion(user, Mechanism.SCRAM_SHA_256, SECRET)]).raise_for_failures()
    until(lambda: user in admin.describe_user_scram_credentials(), True)
    admin.alter_user_scram_credentials(
        [UserScramCredentialDeletion(user, Mechanism.SCRAM_SHA_256)]
    ).raise_for_failures()
    admin.create_acls([acl]).raise_for_failures()
    until(lambda: admin.describe_acls(acl.filter()), [acl])
    admin.create_acls([acl]).raise_for_failures()  # already set: no change, no line
    admin.delete_acls([acl.filter()]).raise_for_failures()
    password = [AlterConfigOp(OpType.SET, "listener.name.plaintext.ssl.key.password", SECRET)]
    admin.incremental_alter_configs({brokers: password}).raise_for_failures()

    quota, made, gone, allowed, removed, hidden = recorded(broker, journal).changes

    assert told([quota]) == [("set", "producer_byte_rate", None, "1024")]
    assert quota["entity"] == {"user": user}
    assert (made["before"], made["after"][:21]) == (None, "iterations=4096 hmac:")
    assert (gone["before"][:21], gone["after"]) == ("iterations=4096 hmac:", None)
    assert told([allowed]) == [("set", f'["User:{user}","*",3,3]', None, "")]
    assert (removed["before"], removed["after"]) == ("", None)
    assert (hidden["sensitive"], hidden["after"][:5]) == (True, "hmac:")
    files = [each for each in journal.directory.rglob("*") if each.is_file()]
    assert {each.stat().st_mode & 0o777 for each in files} == {0o600}
    assert not [each for each in files if SECRET.encode() in each.read_bytes()]
    admin.incremental_alter_configs(
        {brokers: [AlterConfigOp(OpType.DELETE, "listener.name.plaintext.ssl.key.password")]}
    ).raise_for_failures()


def test_a_refused_change_is_an_attempt_without_a_value(
    broker: KafkaBroker, journal: ClientJournal, admin: SyncAdminClient
) -> None:
    name = a_name()
    admin.create_topics([NewTopic(name, 1, 1)]).raise_for_failures()
    topic = Resource.topic(name)
    until(lambda: name in admin.list_topics(), True)
    bad = admin.incremental_alter_configs({topic: [AlterConfigOp(OpType.SET, "segment.bytes", "14")]})
    dry = admin.incremental_alter_configs({topic: [AlterConfigOp(OpType.SET, "segment.ms", "1")]}, validate_only=True)

    assert (list(bad.failures), dict(dry.failures)) == ([topic], {})
    found = recorded(broker, journal)
    assert [each["kind"] for each in found.changes] == ["topic"]
    (attempt,) = found.attempts
    assert (attempt["keys"], attempt["error"], attempt["dry_run"]) == (["segment.bytes"], 40, False)
    assert "14" not in (attempt.get("after"), attempt.get("before"))
    assert found.unknown == []


def test_the_async_client_records_too(broker: KafkaBroker, journal: ClientJournal) -> None:
    name = a_name()

    async def change() -> None:
        async with AdminClient(broker.bootstrap, journal=journal) as admin:
            (await admin.create_topics([NewTopic(name, 1, 1)])).raise_for_failures()

    asyncio.run(change())

    (line,) = recorded(broker, journal).changes
    assert (line["resource_name"], line["op"]) == (name, "create")


def test_a_journal_that_cannot_be_written_prevents_the_change(broker: KafkaBroker, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with SyncAdminClient(broker.bootstrap, journal=ClientJournal(tmp_path / "file")) as admin:
        name = a_name()
        with pytest.raises(StoreUnavailable, match="cannot write the journal"):
            admin.create_topics([NewTopic(name, 1, 1)])
        assert name not in admin.list_topics()


@contextmanager
def mute_from(target: str, api: int) -> Iterator[tuple[str, threading.Event]]:
    """A proxy to a broker that drops responses after a request of this API, and an event for that moment."""
    host, _, port = target.rpartition(":")
    passed = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_serve, args=(server, (host, int(port)), api, passed), daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}", passed


def _serve(server: socket.socket, target: tuple[str, int], api: int, passed: threading.Event) -> None:
    while True:
        try:
            near, _ = server.accept()
        except OSError:
            return
        far = socket.create_connection(target)
        threading.Thread(target=_requests, args=(near, far, api, passed), daemon=True).start()
        threading.Thread(target=_answers, args=(far, near, passed), daemon=True).start()


def _requests(near: socket.socket, far: socket.socket, api: int, passed: threading.Event) -> None:
    stream = near.makefile("rb")
    while head := stream.read(4):
        body = stream.read(struct.unpack(">i", head)[0])
        if struct.unpack_from(">h", body)[0] == api:
            passed.set()
        far.sendall(head + body)


def _answers(far: socket.socket, near: socket.socket, passed: threading.Event) -> None:
    while (data := far.recv(1 << 16)) and not passed.is_set():
        near.sendall(data)


CHANGE = """
import sys
from kconf import AlterConfigOp, ClientJournal, OpType, Resource, SyncAdminClient
address, directory, name = sys.argv[1:]
with SyncAdminClient(address, journal=ClientJournal(directory)) as admin:
    admin.incremental_alter_configs({Resource.topic(name): [AlterConfigOp(OpType.SET, "retention.ms", "7200000")]})
"""


def test_a_crash_before_the_response_is_recorded_but_not_as_a_change(broker: KafkaBroker, tmp_path: Path) -> None:
    """The broker makes the change, and the client is killed before the response. The journal has only the request."""
    name = a_name()
    topic = Resource.topic(name)
    with (
        SyncAdminClient(broker.bootstrap) as admin,
        mute_from(broker.bootstrap, INCREMENTAL_ALTER_CONFIGS) as (address, passed),
    ):
        admin.create_topics([NewTopic(name, 1, 1)]).raise_for_failures()
        until(lambda: name in admin.list_topics(), True)
        process = subprocess.Popen([sys.executable, "-c", CHANGE, address, str(tmp_path), name])
        try:
            assert passed.wait(60)
            until(lambda: admin.describe_configs([topic])[topic]["retention.ms"].value, "7200000")
        finally:
            process.kill()
            process.wait()

    found = read_journal(tmp_path, broker.cluster_id)
    assert found.changes == []
    (begun,) = found.unknown
    assert (begun["key"], begun["after"], begun["outcome"]) == ("retention.ms", "7200000", "unknown")


def test_a_response_that_never_arrives_leaves_the_result_unknown(broker: KafkaBroker, journal: ClientJournal) -> None:
    name = a_name()
    with (
        SyncAdminClient(broker.bootstrap) as plain,
        mute_from(broker.bootstrap, INCREMENTAL_ALTER_CONFIGS) as (address, _),
        SyncAdminClient(address, journal=journal, request_timeout=8.0) as admin,
    ):
        plain.create_topics([NewTopic(name, 1, 1)]).raise_for_failures()
        until(lambda: name in plain.list_topics(), True)
        with pytest.raises((RequestTimedOut, ConnectionFailed)):
            admin.incremental_alter_configs(
                {Resource.topic(name): [AlterConfigOp(OpType.SET, "retention.ms", "7200000")]}, timeout=8.0
            )

    found = recorded(broker, journal)
    assert (found.changes, [each["key"] for each in found.unknown]) == ([], ["retention.ms"])
