"""`kconf serve --upstream` in front of a real KRaft cluster that other tools change too."""

from __future__ import annotations

import asyncio
import json
import random
import shlex
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from kconf.client.admin import AdminClient
from kconf.client.admin_sync import SyncAdminClient
from kconf.client.auth.sasl import Plain
from kconf.errors import (
    InvalidConfig,
    InvalidUpdateVersion,
    JournalTrimmed,
    PolicyViolation,
    TopicExists,
    TopicNotAuthorized,
)
from kconf.model.acl import AclBinding, AclType, Operation, PatternType, Permission
from kconf.model.alteration import AlterConfigOp, NewTopic, OpType
from kconf.model.entry import Source
from kconf.model.journal import ChangeKind
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import Mechanism, UserScramCredentialUpsertion
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kconf.store.sqlite.rows import read_revision
from lab.broker import KafkaBroker
from lab.cluster import KafkaCluster, SeparateNodes
from lab.tools import ToolServer
from tests.cli.commands.scenarios import a_name, until
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.side import Side
from tests.support.process import free_port

KEY = "retention.ms"


def kconf(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kconf", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def setting(value: object, key: str = KEY) -> list[AlterConfigOp]:
    return [AlterConfigOp(OpType.SET, key, str(value))]


@contextmanager
def gateway(
    kafka: KafkaBroker | KafkaCluster | SeparateNodes,
    store: Path,
    *options: str,
    listen: bool = True,
    polls: bool = False,
    program: Sequence[str] = ("kconf",),
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a gateway as a process; returns its address. With `polls` it does not know the controllers."""
    controllers = kafka.address("CONTROLLER") if isinstance(kafka, KafkaBroker) else kafka.controllers
    upstream = ["--upstream", kafka.bootstrap]
    upstream += ["--override", "gateway.poll.interval.ms=1000"] if polls else ["--controllers", controllers]
    command = [sys.executable, "-m", *program, "serve", "--store", f"sqlite:///{store}"]
    if listen:
        command += ["--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, *upstream, "--log-level", "WARN", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        ready = process.stdout.readline()
        assert " ready: listening on " in ready, process.stderr.read()
        yield ready.split("listening on ")[1].split()[0], process
    finally:
        process.terminate()
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


@pytest.fixture
def topic(kafka_431: KafkaBroker) -> Iterator[str]:
    name = a_name("gw")
    with SyncAdminClient(kafka_431.bootstrap) as direct:
        direct.create_topics([NewTopic(name, 2, 1)]).raise_for_failures()
        yield name
        direct.delete_topics([name]).raise_for_failures()


def metrics_of(port: int) -> dict[str, float]:
    """The metrics without labels, by name."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = [each.split() for each in answer.read().decode().splitlines() if not each.startswith("#")]
    return {name: float(value) for name, value in lines if "{" not in name}


OUTSIDE = "kconf_outside_revisions_total"


def test_changes_of_all_tools_are_journaled_and_those_through_kconf_have_an_author(
    kafka_431: KafkaBroker, tools: ToolServer, topic: str, tmp_path: Path
) -> None:
    resource, port = Resource.topic(topic), free_port()
    metrics = ("--metrics", f"127.0.0.1:{port}")
    with gateway(kafka_431, tmp_path / "gw.db", *metrics) as (address, _), SyncAdminClient(address) as admin:
        admin.incremental_alter_configs({resource: setting(1)}, reason="ours").raise_for_failures()
        before = metrics_of(port)[OUTSIDE]
        where = ("--alter", "--entity-type", "topics", "--entity-name", topic)
        assert tools.kafka_configs(kafka_431.bootstrap, *where, "--add-config", f"{KEY}=2").returncode == 0
        admin.incremental_alter_configs({resource: setting(3)}, reason="ours again").raise_for_failures()
        assert metrics_of(port)[OUTSIDE] == before + 1
        with SyncAdminClient(kafka_431.bootstrap) as direct:
            assert direct.describe_configs([resource])[resource][KEY].value == "3"
        found = [
            (change.before, change.after, each.caller.principal, each.caller.reason)
            for each in admin.list_changes(begin(admin), about=[resource]).revisions
            for change in each.changes
        ]
    assert found == [
        (None, "1", "User:ANONYMOUS", "ours"),
        ("1", "2", "", None),
        ("2", "3", "User:ANONYMOUS", "ours again"),
    ]


@pytest.mark.parametrize("release", ["4.3.1", "3.9.2"])
def test_the_gateway_returns_the_same_responses_as_the_cluster(
    release: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    kafka: KafkaBroker = request.getfixturevalue("kafka_431" if release == "4.3.1" else "kafka_392")
    topic = a_name("gw")
    with SyncAdminClient(kafka.bootstrap) as direct:
        direct.create_topics([NewTopic(topic, 2, 1)]).raise_for_failures()
    user, other = a_name("user"), a_name("made")
    quota = QuotaEntity.of({"user": user})
    resources = [Resource.topic(topic), Resource.broker(kafka.node_id), Resource.brokers()]
    with gateway(kafka, tmp_path / "gw.db") as (address, _), SyncAdminClient(address) as admin:
        admin.incremental_alter_configs(
            {resources[0]: [*setting(5), AlterConfigOp(OpType.APPEND, "cleanup.policy", "compact")]}
        ).raise_for_failures()
        admin.alter_client_quotas({quota: {"producer_byte_rate": 1000.0}}).raise_for_failures()
        credential = UserScramCredentialUpsertion(user, Mechanism.SCRAM_SHA_256, 4096, b"salt", b"p" * 32)
        admin.alter_user_scram_credentials([credential]).raise_for_failures()
        made = admin.create_topics([NewTopic(other, 3, 1, configs=[(KEY, "7")])])[other]
        admin.create_partitions({other: 5}).raise_for_failures()
        with SyncAdminClient(kafka.bootstrap) as direct:
            for each in (admin, direct):
                assert each.describe_client_quotas()[quota] == {"producer_byte_rate": 1000.0}
            infos = [each.describe_user_scram_credentials([user])[user] for each in (admin, direct)]
            assert infos[0] == infos[1]
            views = [each.describe_configs(resources, synonyms=True) for each in (admin, direct)]
            for resource in resources:
                ours, theirs = (dict(each[resource]) for each in views)
                assert ours.keys() == theirs.keys()
                for name, entry in theirs.items():
                    if name not in ("listeners", "advertised.listeners"):
                        assert ours[name] == entry, (resource, name)
            described = [each.describe_topics([topic, other]) for each in (admin, direct)]
            for name in (topic, other):
                ours_topic, their_topic = described[0][name], described[1][name]
                assert ours_topic == their_topic
            assert made.topic_id == described[1][other].topic_id
            assert admin.list_groups() == direct.list_groups()
            admin.delete_topics([other]).raise_for_failures()
            assert other not in direct.list_topics()
            assert other not in admin.list_topics()


def test_a_refusal_has_the_error_of_the_cluster_and_changes_nothing(
    kafka_431: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "version: 1\nrules:\n  - id: short\n    selector: topic\n    key: retention.ms\n    condition: {max: 1000}\n"
    )
    resource = Resource.topic(topic)
    options = ("--override", f"policy.file={rules}")
    with gateway(kafka_431, tmp_path / "gw.db", *options) as (address, _), SyncAdminClient(address) as admin:
        with pytest.raises(PolicyViolation):
            admin.incremental_alter_configs({resource: setting(2000)})[resource]
        with pytest.raises(InvalidConfig):
            admin.incremental_alter_configs({resource: setting("abc")})[resource]
        with pytest.raises(TopicExists):
            admin.create_topics([NewTopic(topic, 1, 1)])[topic]
        dry = admin.incremental_alter_configs({resource: setting(500)}, validate_only=True)
        assert not dry.failures
        with SyncAdminClient(kafka_431.bootstrap) as direct:
            assert direct.describe_configs([resource])[resource][KEY].source is Source.DEFAULT
            admin.incremental_alter_configs({resource: setting(500)}).raise_for_failures()
            assert direct.describe_configs([resource])[resource][KEY].value == "500"


def test_a_broker_config_that_is_set_again_reaches_the_broker(kafka_431: KafkaBroker, tmp_path: Path) -> None:
    """Brokers reload their key stores when the same value is set again."""
    resource, key = Resource.broker(kafka_431.node_id), "log.cleaner.backoff.ms"
    with gateway(kafka_431, tmp_path / "gw.db") as (address, _), SyncAdminClient(address) as admin:
        for reason in ("first", "again"):
            admin.incremental_alter_configs({resource: setting(15001, key)}, reason=reason).raise_for_failures()
        delete = [AlterConfigOp(OpType.DELETE, key)]
        admin.incremental_alter_configs({resource: delete}, reason="last").raise_for_failures()
        found = [
            (change.op, change.before, change.after, each.caller.reason)
            for each in admin.list_changes(begin(admin), about=[resource]).revisions
            for change in each.changes
        ]
    assert found == [
        ("set", None, "15001", "first"),
        ("rewrite", "15001", "15001", "again"),
        ("delete", "15001", None, "last"),
    ]


def test_a_number_is_sent_as_the_client_has_written_it(kafka_431: KafkaBroker, topic: str, tmp_path: Path) -> None:
    """Kafka stores the text, by which the gateway finds its change in the log. kconf's own client would convert it."""
    key = "min.cleanable.dirty.ratio"
    config = IncrementalAlterableConfig(key, OpType.SET, "5e-1")
    request = IncrementalAlterConfigsRequest([IncrementalAlterConfigsResource(ResourceType.TOPIC, topic, [config])])
    with gateway(kafka_431, tmp_path / "gw.db") as (address, _), SyncAdminClient(address) as admin:
        host, port = address.rsplit(":", 1)
        side = Side("gateway", host, int(port))
        altered: Any = side.ask(Ask("IncrementalAlterConfigs", 1, request))
        side.close()
        assert [each.error_code for each in altered.responses] == [0]
        found = [
            (change.after, each.caller.principal)
            for each in admin.list_changes(begin(admin), about=[Resource.topic(topic)]).revisions
            for change in each.changes
        ]
    assert found == [("5e-1", "User:ANONYMOUS")]


def test_compare_and_set_sees_changes_made_outside(kafka_431: KafkaBroker, topic: str, tmp_path: Path) -> None:
    resource = Resource.topic(topic)
    with gateway(kafka_431, tmp_path / "gw.db") as (address, _), SyncAdminClient(address) as admin:
        admin.incremental_alter_configs({resource: setting(1)}).raise_for_failures()
        seen = admin.required_revision
        with SyncAdminClient(kafka_431.bootstrap) as direct:
            direct.incremental_alter_configs({resource: setting(2)}).raise_for_failures()
        wait_for(admin, resource, "2")
        with pytest.raises(InvalidUpdateVersion):
            admin.incremental_alter_configs({resource: setting(3)}, expected={resource: seen})[resource]
        admin.incremental_alter_configs(
            {resource: setting(3)}, expected={resource: revision(admin)}
        ).raise_for_failures()
        assert admin.describe_configs([resource])[resource][KEY].value == "3"


def wait_for(admin: SyncAdminClient, resource: Resource, value: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if admin.describe_configs([resource])[resource][KEY].value == value:
            return
        time.sleep(0.01)
    raise AssertionError(f"{resource} did not become {value}")


def begin(admin: SyncAdminClient) -> int:
    """The revision after which the journal begins: earlier states of the cluster are unknown."""
    try:
        admin.list_changes(0)
    except JournalTrimmed as error:
        return error.oldest - 1
    return 0


def revision(admin: SyncAdminClient) -> int:
    return admin.list_changes(begin(admin)).current


def test_a_client_that_sends_its_revision_sees_its_change_through_another_gateway(
    kafka_431: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    resource = Resource.topic(topic)
    with (
        gateway(kafka_431, tmp_path / "one.db") as (one, _),
        gateway(kafka_431, tmp_path / "two.db") as (two, _),
        SyncAdminClient(one) as writer,
        SyncAdminClient(two) as reader,
    ):
        for value in map(str, range(1000, 1020)):
            writer.incremental_alter_configs({resource: setting(value)}).raise_for_failures()
            reader.required_revision = writer.required_revision
            assert reader.describe_configs([resource])[resource][KEY].value == value
        assert revision(reader) == revision(writer)


def test_every_acknowledged_write_is_in_both_journals_if_a_gateway_is_killed(
    kafka_431: KafkaBroker, tmp_path: Path
) -> None:
    """Two gateways and another tool write. Each write is in both journals once, with the same revision."""
    names = [a_name("race") for _ in range(4)]
    acknowledged: dict[tuple[str, str], str] = {}  # the writer by topic and value
    sent: set[tuple[str, str]] = set()
    stores = [tmp_path / "one.db", tmp_path / "two.db"]
    with SyncAdminClient(kafka_431.bootstrap) as direct:
        direct.create_topics([NewTopic(name, 1, 1) for name in names]).raise_for_failures()

    async def write(address: str, writer: str, seed: int, writes: int) -> None:
        draw = random.Random(seed)
        async with AdminClient(address, timeout=20, connect_attempts=1) as admin:
            for number in range(writes):
                name, value = draw.choice(names), str(1_000_000 * (seed + 1) + number)
                sent.add((name, value))
                try:
                    reason = None if writer == "tool" else writer
                    answer = await admin.incremental_alter_configs(
                        {Resource.topic(name): setting(value)}, reason=reason
                    )
                    answer.raise_for_failures()
                except Exception:  # the gateway was killed: the outcome is not known
                    if writer != "killed":
                        raise
                    return
                acknowledged[name, value] = writer

    async def race(one: str, two: str, process: subprocess.Popen[str]) -> None:
        killed = [asyncio.create_task(write(one, "killed", seed, 1000)) for seed in (1, 2)]
        others = [asyncio.create_task(write(two, "two", seed, 40)) for seed in (3, 4)]
        others.append(asyncio.create_task(write(kafka_431.bootstrap, "tool", 5, 40)))
        await asyncio.gather(*others)
        process.kill()
        await asyncio.gather(*killed)

    with gateway(kafka_431, stores[1]) as (two, _):
        with gateway(kafka_431, stores[0]) as (one, process):
            asyncio.run(race(one, two, process))
        with gateway(kafka_431, stores[0]) as (one, _):
            states, journals = [], []
            for address in (one, two, kafka_431.bootstrap):
                with SyncAdminClient(address) as admin:
                    resources = [Resource.topic(name) for name in names]
                    found = admin.describe_configs(resources)
                    states.append({each.name: found[each][KEY].value for each in resources})
                    if address != kafka_431.bootstrap:
                        journals.append(_journal(admin, names))
    assert states[0] == states[1] == states[2]
    assert [each[:4] for each in journals[0]] == [each[:4] for each in journals[1]]
    by_writer = {"killed": 0, "two": 1}
    for journal in journals:
        values = [(name, after) for _, name, _, after, _ in journal]
        assert len(values) == len(set(values))
        assert acknowledged.keys() <= set(values) <= sent
    for place, journal in enumerate(journals):
        for _, name, _, after, reason in journal:
            writer = acknowledged.get((name, str(after)))
            if writer is not None:
                assert reason == (writer if by_writer.get(writer) == place else None)
    with sqlite3.connect(stores[0]) as db:  # what was killed before it was sent stays open for as long as it may arrive
        rows = db.execute("SELECT record FROM intents WHERE outcome IS NULL").fetchall()
    for (record,) in rows:
        for change in read_revision(0, record).changes:
            assert (change.resource.name, change.after) not in values


@pytest.mark.faults
def test_no_change_is_lost_when_the_leader_is_killed(tmp_path: Path) -> None:
    """The leader of three controllers is killed while a writer continues through the gateway."""
    acknowledged: list[str] = []
    sent: list[str] = []
    stop = threading.Event()
    resource = Resource.topic("orders")
    with KafkaCluster() as cluster, SyncAdminClient(cluster.bootstrap) as direct:
        direct.create_topics([NewTopic("orders", 1, 1)]).raise_for_failures()
        with gateway(cluster, tmp_path / "gw.db") as (address, _), SyncAdminClient(address) as admin:

            def write() -> None:
                while not stop.is_set():
                    sent.append(str(1000 + len(sent)))
                    answer = admin.incremental_alter_configs({resource: setting(sent[-1])}, reason="ours")
                    if not answer.failures:
                        acknowledged.append(sent[-1])

            writer = threading.Thread(target=write, daemon=True)
            writer.start()
            until(lambda: len(acknowledged) > 20, True)
            with SyncAdminClient(bootstrap_controllers=cluster.controllers) as controllers, controllers.follow() as log:
                leader = str(log.follower.leader)
            (node,) = [each for each in cluster.nodes if each.address("CONTROLLER") == leader]
            node.kill()
            before = len(acknowledged)
            until(lambda: len(acknowledged) > before + 20, True)
            node.start()
            stop.set()
            writer.join(60)
            assert not writer.is_alive()
            until(
                lambda: direct.describe_configs([resource])[resource][KEY].value in sent[-1:] + acknowledged[-1:], True
            )
            until(
                lambda: (
                    admin.describe_configs([resource])[resource][KEY].value
                    == direct.describe_configs([resource])[resource][KEY].value
                ),
                True,
            )
            journal = _journal(admin, ["orders"])
    values = [str(after) for _, _, _, after, _ in journal]
    assert [each for each in values if each in set(acknowledged)] == acknowledged
    assert set(values) <= set(sent)
    assert {reason for _, _, _, after, reason in journal if after in set(acknowledged)} == {"ours"}


Line = tuple[int, str, str | None, str | None, str | None]


def _journal(admin: SyncAdminClient, names: list[str]) -> list[Line]:
    found: list[Line] = []
    after = begin(admin)
    while True:
        page = admin.list_changes(after, about=[Resource.topic(name) for name in names])
        found += [
            (each.number, change.resource.name, change.before, change.after, each.caller.reason)
            for each in page.revisions
            for change in each.changes
            if change.kind is ChangeKind.CONFIG
        ]
        if page.next_after >= page.current:
            return found
        after = page.next_after


AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def test_users_of_a_gateway_have_the_rights_of_the_clusters_acls(tmp_path: Path) -> None:
    """The gateway's own account may do everything."""
    rights = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
    resource = Resource.topic("orders")
    alice = Plain("alice", "alice-secret")
    users = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice-secret";'
    own = {
        **rights,
        "allow.everyone.if.no.acl.found": "false",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": users,
    }
    options = [each for key, value in own.items() for each in ("--override", f"{key}={value}")]
    with KafkaBroker(properties=rights) as kafka, SyncAdminClient(kafka.bootstrap) as direct:
        direct.create_topics([NewTopic("orders", 1, 1)]).raise_for_failures()
        command = [sys.executable, "-m", "kconf", "serve", "--upstream", kafka.bootstrap]
        place = ["--controllers", kafka.address("CONTROLLER"), "--store", f"sqlite:///{tmp_path / 'no.db'}"]
        refused = subprocess.run([*command, *place], capture_output=True, text=True, check=False, timeout=120)
        assert refused.returncode == 1, refused.stderr
        assert "super.users" in refused.stderr
        listen = ("--listen", "SASL_PLAINTEXT://127.0.0.1:0")
        with (
            gateway(kafka, tmp_path / "gw.db", *listen, *options, listen=False) as (address, _),
            SyncAdminClient(address, sasl=alice) as admin,
        ):
            with pytest.raises(TopicNotAuthorized):
                admin.incremental_alter_configs({resource: setting(1)})[resource]
            allowed = AclBinding(
                AclType.TOPIC,
                "orders",
                "User:alice",
                Operation.ALTER_CONFIGS,
                Permission.ALLOW,
                PatternType.LITERAL,
                "*",
            )
            direct.create_acls([allowed]).raise_for_failures()
            until(lambda: admin.incremental_alter_configs({resource: setting(1)}).failures, {})
            found = kconf("check", "--upstream", "User:ANONYMOUS", "-b", kafka.bootstrap, "-o", "json")
            assert found.returncode == 3, found.stderr
            (right,) = [each for each in json.loads(found.stdout)["items"] if each["finding"] == "direct right"]
            assert "User:alice can alter-configs on topic:orders" in right["detail"]
            cure = shlex.split(right["cure"].removeprefix("kconf "))
            assert kconf(*cure, "--yes", "-b", kafka.bootstrap).returncode == 0
            until(lambda: bool(admin.incremental_alter_configs({resource: setting(2)}).failures), True)
            assert direct.describe_configs([resource])[resource][KEY].value == "1"
