"""`kconf serve --upstream` without controllers, which polls a broker of a real cluster that other tools change too."""

from __future__ import annotations

import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import InvalidUpdateVersion, KafkaError, NotAuthorized, SecurityDisabled, TopicNotAuthorized
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclType, Operation, Permission
from kconf.model.alteration import AlterConfigOp, NewTopic, OpType
from kconf.model.journal import ChangeKind
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource
from kconf.model.scram import Mechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kconf.store.sqlite.rows import read_revision
from lab.broker import KafkaBroker
from lab.cluster import KafkaCluster
from lab.tools import ToolServer
from tests.cli.commands.scenarios import a_name, until
from tests.conformance.test_gateway import AUTHORIZER, KEY, OUTSIDE, begin, gateway, kconf, metrics_of, setting
from tests.docs.test_dashboard import OF_GATEWAYS
from tests.support.process import free_port

Line = tuple[str, str | None, str | None, str, str | None]


def journal(admin: SyncAdminClient, *resources: Resource) -> list[Line]:
    return [
        (change.key or change.op, change.before, change.after, each.caller.principal, each.caller.reason)
        for each in admin.list_changes(begin(admin), about=resources).revisions
        for change in each.changes
        if change.kind is ChangeKind.CONFIG
    ]


def test_changes_of_all_tools_are_seen_and_those_through_kconf_have_an_author(
    kafka_431: KafkaBroker, tools: ToolServer, tmp_path: Path
) -> None:
    topic, port = a_name("polled"), free_port()
    resource = Resource.topic(topic)
    with (
        SyncAdminClient(kafka_431.bootstrap) as direct,
        gateway(kafka_431, tmp_path / "gw.db", "--metrics", f"127.0.0.1:{port}", polls=True) as (address, _),
        SyncAdminClient(address) as admin,
    ):
        direct.create_topics([NewTopic(topic, 2, 1)]).raise_for_failures()
        until(lambda: topic in admin.list_topics(), True)
        admin.incremental_alter_configs({resource: setting("0010")}, reason="ours").raise_for_failures()
        assert admin.describe_configs([resource])[resource][KEY].value == "10"
        seen, before = admin.required_revision, metrics_of(port)
        assert before.keys() >= OF_GATEWAYS
        where = ("--alter", "--entity-type", "topics", "--entity-name", topic)
        assert tools.kafka_configs(kafka_431.bootstrap, *where, "--add-config", f"{KEY}=20").returncode == 0
        with pytest.raises(InvalidUpdateVersion):  # whether or not a poll has seen the change
            admin.incremental_alter_configs({resource: setting(30)}, expected={resource: seen})[resource]
        until(lambda: admin.describe_configs([resource])[resource][KEY].value, "20")
        assert metrics_of(port)[OUTSIDE] == before[OUTSIDE] + 1
        direct.incremental_alter_configs({resource: setting(25)}).raise_for_failures()
        until(lambda: direct.describe_configs([resource])[resource][KEY].value, "25")
        admin.incremental_alter_configs({resource: setting(20)}, reason="as seen").raise_for_failures()
        assert direct.describe_configs([resource])[resource][KEY].value == "20"
        admin.incremental_alter_configs({resource: setting(30)}, reason="ours again").raise_for_failures()
        assert direct.describe_configs([resource])[resource][KEY].value == "30"
        direct.delete_topics([topic]).raise_for_failures()
        direct.create_topics([NewTopic(topic, 1, 1, configs=[(KEY, "30")])]).raise_for_failures()
        until(lambda: len(journal(admin, resource)), 7)
        assert journal(admin, resource) == [
            (KEY, None, "10", "User:ANONYMOUS", "ours"),
            (KEY, "10", "20", "", None),
            (KEY, "20", "25", "", None),
            (KEY, "25", "20", "User:ANONYMOUS", "as seen"),
            (KEY, "20", "30", "User:ANONYMOUS", "ours again"),
            (KEY, "30", None, "", None),
            (KEY, None, "30", "", None),
        ]
        for each in admin.list_changes(begin(admin), about=[resource]).revisions:
            assert (each.not_before is not None) == (each.origin == "outside") == (not each.caller.principal)
            assert each.not_before is None or each.not_before <= each.time
        shown = kconf("history", f"topic:{topic}", "-b", address)
        assert "changed outside kconf after 20" in shown.stdout, shown.stderr
        admin.delete_topics([topic]).raise_for_failures()
        assert topic not in direct.list_topics()


@pytest.mark.parametrize("release", ["4.3.1", "3.9.2"])
def test_the_gateway_returns_the_same_responses_as_the_cluster(
    release: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    kafka: KafkaBroker = request.getfixturevalue("kafka_431" if release == "4.3.1" else "kafka_392")
    topic, other, user = a_name("polled"), a_name("made"), a_name("user")
    quota = QuotaEntity.of({"user": user})
    resources = [Resource.topic(topic), Resource.broker(kafka.node_id), Resource.brokers()]
    with (
        SyncAdminClient(kafka.bootstrap) as direct,
        gateway(kafka, tmp_path / "gw.db", polls=True) as (address, _),
        SyncAdminClient(address) as admin,
    ):
        admin.create_topics([NewTopic(topic, 2, 1)]).raise_for_failures()
        admin.incremental_alter_configs(
            {resources[0]: [*setting(5), AlterConfigOp(OpType.APPEND, "cleanup.policy", "compact")]}
        ).raise_for_failures()
        admin.incremental_alter_configs({resources[2]: setting(14_000, "log.cleaner.backoff.ms")}).raise_for_failures()
        admin.alter_client_quotas({quota: {"producer_byte_rate": 1000.0}}).raise_for_failures()
        for salt in (b"salt", b"other salt"):  # the second replaces a secret, which polling cannot detect
            credential = UserScramCredentialUpsertion(user, Mechanism.SCRAM_SHA_256, 4096, salt, b"p" * 32)
            admin.alter_user_scram_credentials([credential]).raise_for_failures()
        admin.create_topics([NewTopic(other, 3, 1, configs=[(KEY, "7")])]).raise_for_failures()
        admin.create_partitions({other: 5}).raise_for_failures()
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
        assert admin.describe_topics([topic, other]) == direct.describe_topics([topic, other])
        failures = []
        for each in (admin, direct):
            with pytest.raises(SecurityDisabled) as error:
                each.describe_acls()
            failures.append(str(error.value))
        assert failures[0] == failures[1]
        admin.alter_user_scram_credentials(
            [UserScramCredentialDeletion(user, Mechanism.SCRAM_SHA_256)]
        ).raise_for_failures()
        admin.alter_client_quotas({quota: {"producer_byte_rate": None}}).raise_for_failures()
        admin.incremental_alter_configs(
            {resources[2]: [AlterConfigOp(OpType.DELETE, "log.cleaner.backoff.ms", None)]}
        ).raise_for_failures()
        admin.delete_topics([topic, other]).raise_for_failures()
        assert not {topic, other} & direct.list_topics().keys()
        origins = {
            each.origin
            for each in admin.list_changes(begin(admin)).revisions
            if any(change.resource.name in (topic, other, user, quota.resource.name) for change in each.changes)
        }
        assert origins == {"kconf"}
        assert admin.list_changes(-1).is_gateway
        assert user not in direct.describe_user_scram_credentials()


def test_no_change_is_lost_if_a_polling_gateway_is_killed(kafka_431: KafkaBroker, tmp_path: Path) -> None:
    store, topics = tmp_path / "gw.db", [a_name("polled") for _ in range(2)]
    written, other = map(Resource.topic, topics)
    sent: list[str] = []
    acknowledged: list[str] = []

    def write(address: str, process: subprocess.Popen[str]) -> None:
        with SyncAdminClient(address, timeout=20, connect_attempts=1) as admin:
            while process.poll() is None:
                sent.append(str(1000 + len(sent)))
                try:
                    admin.incremental_alter_configs({written: setting(sent[-1])}, reason="ours").raise_for_failures()
                except (KafkaError, ExceptionGroup):  # the gateway was killed: the outcome is not known
                    return
                acknowledged.append(sent[-1])

    with SyncAdminClient(kafka_431.bootstrap) as direct:
        direct.create_topics([NewTopic(name, 1, 1) for name in topics]).raise_for_failures()
        with gateway(kafka_431, store, polls=True) as (address, process):
            writer = threading.Thread(target=write, args=(address, process), daemon=True)
            writer.start()
            until(lambda: len(acknowledged) > 5, True)
            process.kill()
            writer.join(60)
            assert not writer.is_alive()
        direct.incremental_alter_configs({other: setting(77)}).raise_for_failures()
        with gateway(kafka_431, store, polls=True) as (address, _), SyncAdminClient(address) as admin:
            lines = journal(admin, written)
            value = direct.describe_configs([written])[written][KEY].value
            assert admin.describe_configs([written])[written][KEY].value == value
            (revision,) = admin.list_changes(begin(admin), about=[other]).revisions
        values = [after for _, _, after, _, _ in lines]
        assert values == sent[: len(values)]
        assert acknowledged == values[: len(acknowledged)]
        assert {line[3:] for line in lines} == {("User:ANONYMOUS", "ours")}
        assert (revision.caller.principal, revision.changes[0].after) == ("", "77")
        assert revision.not_before is not None
        direct.delete_topics(topics).raise_for_failures()
    with sqlite3.connect(store) as db:
        rows = db.execute("SELECT record FROM intents WHERE outcome IS NULL").fetchall()
    # a request that was killed before it was sent stays open for as long as it may arrive
    still_open = [str(change.after) for (record,) in rows for change in read_revision(0, record).changes]
    assert set(still_open) <= set(sent[len(values) :])


def test_resources_that_the_account_may_not_describe_are_unknown_and_not_empty(tmp_path: Path) -> None:
    """The cluster denies the gateway's account its ACLs, its users, and the configs of one topic."""
    settings = {"authorizer.class.name": AUTHORIZER, "super.users": "User:admin"}
    everyone = AclBinding(AclType.CLUSTER, CLUSTER_NAME, "User:ANONYMOUS", Operation.ALL)
    secret = AclBinding(AclType.TOPIC, "secret", "User:ANONYMOUS", Operation.ALL)
    rights = [
        everyone,
        everyone._replace(operation=Operation.DESCRIBE, permission=Permission.DENY),
        secret,
        secret._replace(operation=Operation.DESCRIBE_CONFIGS, permission=Permission.DENY),
    ]
    own = {**settings, "super.users": "User:ANONYMOUS", "allow.everyone.if.no.acl.found": "false"}
    options = [each for key, value in own.items() for each in ("--override", f"{key}={value}")]
    orders, hidden = Resource.topic("orders"), Resource.topic("secret")
    with (
        KafkaBroker(properties={**settings, "allow.everyone.if.no.acl.found": "true"}) as kafka,
        SyncAdminClient(kafka.bootstrap) as direct,
    ):
        direct.create_topics([NewTopic("orders", 1, 1), NewTopic("secret", 1, 1)]).raise_for_failures()
        direct.create_acls(rights).raise_for_failures()
        until(lambda: set(direct.describe_configs([hidden]).failures), {hidden})
        with gateway(kafka, tmp_path / "gw.db", *options, polls=True) as (address, process):
            with SyncAdminClient(address) as admin:
                for each in (admin, direct):
                    with pytest.raises(NotAuthorized):
                        each.describe_acls()
                    with pytest.raises(TopicNotAuthorized):
                        each.describe_configs([hidden])[hidden]
                with pytest.raises(NotAuthorized):
                    admin.describe_user_scram_credentials()
                with pytest.raises(NotAuthorized):
                    admin.create_acls([everyone])[everyone]
                with pytest.raises(TopicNotAuthorized):
                    admin.incremental_alter_configs({hidden: setting(1)})[hidden]
                assert sorted(admin.list_topics()) == ["orders", "secret"]
                admin.incremental_alter_configs({orders: setting(1)}).raise_for_failures()
                assert admin.describe_configs([orders, hidden])[orders][KEY].value == "1"
                assert admin.describe_client_quotas() == direct.describe_client_quotas()
            process.terminate()
            _, messages = process.communicate(timeout=60)
        assert "cannot read resources of type acl: CLUSTER_AUTHORIZATION_FAILED" in messages
        assert "cannot read resources of type scram: CLUSTER_AUTHORIZATION_FAILED" in messages
        assert "cannot read the configs of topic:secret" in messages
        found = kconf("check", "-b", kafka.bootstrap)
        assert "acls could not be read" in found.stdout + found.stderr


@pytest.mark.faults
def test_another_broker_is_read_when_the_one_that_was_read_is_killed(tmp_path: Path) -> None:
    """One client writes through the gateway and another one directly. Every change is seen once and in order.

    The configs of the killed broker are not reported as removed.
    """
    orders, other, lost = Resource.topic("orders"), Resource.topic("other"), Resource.broker(1)
    sent: list[str] = []
    acknowledged: list[str] = []
    stop = threading.Event()

    def write(address: str) -> None:
        with SyncAdminClient(address, timeout=20) as admin:
            while not stop.is_set():
                sent.append(str(1000 + len(sent)))
                try:
                    admin.incremental_alter_configs({orders: setting(sent[-1])}, reason="ours").raise_for_failures()
                except (KafkaError, ExceptionGroup):  # stale, or the answer was lost with the broker
                    stop.wait(0.1)
                    continue
                acknowledged.append(sent[-1])

    with KafkaCluster() as cluster, SyncAdminClient(cluster.bootstrap) as direct:
        topics = [NewTopic("orders", assignment=[(0, [2, 3])]), NewTopic("other", assignment=[(0, [3, 2])])]
        direct.create_topics(topics).raise_for_failures()
        direct.incremental_alter_configs({lost: setting(15_001, "log.cleaner.backoff.ms")}).raise_for_failures()
        with gateway(cluster, tmp_path / "gw.db", polls=True) as (address, _), SyncAdminClient(address) as admin:
            writer = threading.Thread(target=write, args=(address,), daemon=True)
            writer.start()
            until(lambda: len(acknowledged) > 3, True)
            cluster.nodes[0].kill()  # the broker with the lowest ID is read first
            count = len(acknowledged)
            direct.incremental_alter_configs({other: setting(7)}).raise_for_failures()
            until(lambda: len(acknowledged) > count + 3, True)
            until(lambda: admin.describe_configs([other])[other][KEY].value, "7")
            stop.set()
            writer.join(60)
            lines = journal(admin, orders)
            final = direct.describe_configs([orders])[orders][KEY].value
            until(lambda: admin.describe_configs([orders])[orders][KEY].value, final)
            revisions = admin.list_changes(begin(admin)).revisions
    values = [after for _, _, after, _, _ in lines]
    assert [before for _, before, _, _, _ in lines[1:]] == values[:-1]
    assert len(values) == len(set(values))
    assert [each for each in values if each in acknowledged] == acknowledged
    assert set(values) <= set(sent)
    assert {line[3:] for line in lines if line[2] in acknowledged} == {("User:ANONYMOUS", "ours")}
    assert {change.resource for each in revisions for change in each.changes} == {orders, other}
