"""A real Kafka 3.9.2 in ZooKeeper mode applies changes made through kconf, and kconf sees changes made by others.

Kafka's own clients and tools send changes to kconf; the tests check their effect on the broker: a refused message, a
throttled producer, a login, a denial. The broker learns of a change milliseconds after kconf has acknowledged it, so
each check is repeated until it holds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping

import pytest
from confluent_kafka import KafkaError
from kazoo.client import KazooClient

from kconf import Resource, ResourceType, SyncAdminClient
from kconf.errors import UnknownServerError
from kconf.model.quota import QuotaEntity, QuotaFilter
from kconf.store.zookeeper import store as store_module
from kconf.store.zookeeper.notifications import sequence_number
from kconf.store.zookeeper.paths import CONFIG_CHANGES
from kconf.store.zookeeper.store import ZookeeperStore
from lab.broker import KafkaBroker
from lab.pytest_plugin import MakeProbe
from lab.tools import ToolServer
from lab.zookeeper import ZooKeeper
from tests.conformance.obeying import (
    SCRAM,
    Shared,
    alter_scram,
    altered_by_java,
    altered_by_tool,
    logs_in,
    next_about,
    next_named,
    producing,
    until,
)
from tests.support.process import KconfProcess
from tests.support.targets import one_of

CHROOT = "/obeys"
SESSION = "consumer.session.timeout.ms"
SECURE = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
}
BROKER = {
    **SECURE,
    "zookeeper.session.timeout.ms": "6000",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{SCRAM};",
}


@pytest.fixture(scope="module")
def shared(zookeeper: ZooKeeper, make_probe: MakeProbe) -> Iterator[Shared]:
    connect = zookeeper.address + CHROOT
    with (
        KafkaBroker("3.9.2", zookeeper=connect, listeners={"SASL": "SASL_PLAINTEXT"}, properties=BROKER) as broker,
        KconfProcess(store=zookeeper.url(CHROOT), node_id=1001, properties=SECURE) as kconf,
    ):
        yield Shared(broker, kconf, make_probe(kconf.bootstrap), make_probe(broker.bootstrap, "3.9.2"))


@pytest.fixture
def znodes(shared: Shared, zookeeper: ZooKeeper) -> Iterator[KazooClient]:
    client = KazooClient(zookeeper.address + CHROOT)
    client.start()
    yield client
    client.stop()
    client.close()


def announce(znodes: KazooClient, kind: str, name: str) -> None:
    """Write a KIP-21 notification."""
    data = json.dumps({"version": 1, "entity_type": kind, "entity_name": name}).encode()
    znodes.create("/config/changes/config_change_", data, sequence=True)


def limit(bootstrap: str, topic: str) -> str | None:
    with SyncAdminClient(bootstrap) as admin:
        return admin.describe_configs([Resource.topic(topic)])[Resource.topic(topic)]["max.message.bytes"].value


Alter = Callable[[str, str, Mapping[str, str]], None]


@pytest.fixture(params=one_of("the Java client", ["kafka-configs 4.3.1", "kafka-configs 3.9.2"]))
def alter(request: pytest.FixtureRequest, shared: Shared) -> Alter:
    """Set keys of a resource through kconf."""
    if request.param == "the Java client":
        return lambda kind, name, values: altered_by_java(shared.ask, kind, name, values)
    tools: ToolServer = request.getfixturevalue("tools" if request.param.endswith("4.3.1") else "tools_392")
    return lambda kind, name, values: altered_by_tool(tools, shared.kconf.bootstrap, kind, name, values)


def test_a_topic_created_through_kconf_accepts_messages(shared: Shared) -> None:
    shared.create("made")

    until(shared.takes("made"))

    on_kconf = shared.ask.call("describeTopics", {"topics": ["made"]})["made"]
    on_kafka = shared.own.call("describeTopics", {"topics": ["made"]})["made"]
    assert on_kconf["topicId"] == on_kafka["topicId"]


def test_partitions_and_deletions_through_kconf_reach_the_broker(shared: Shared) -> None:
    shared.create("grown")
    shared.ask.call("createPartitions", {"topics": {"grown": {"count": 3}}})
    until(lambda: len(shared.own.call("describeTopics", {"topics": ["grown"]})["grown"].get("partitions", ())) == 3)

    shared.ask.call("deleteTopics", {"topics": ["grown"]})

    until(lambda: "grown" not in shared.own.call("listTopics"))
    until(lambda: "grown" not in shared.ask.call("listTopics"))


def test_a_message_over_the_limit_is_refused(shared: Shared, alter: Alter) -> None:
    topic = f"limited-{time.monotonic_ns()}"
    shared.create(topic)
    until(shared.takes(topic, 3000))

    alter("topic", topic, {"max.message.bytes": "1500", "retention.ms": "7200000"})

    until(shared.refuses(KafkaError.MSG_SIZE_TOO_LARGE, topic, 3000))
    assert shared.described("TOPIC", topic, "retention.ms") == ("7200000", "DYNAMIC_TOPIC_CONFIG")
    assert shared.described("TOPIC", topic, "max.message.bytes") == ("1500", "DYNAMIC_TOPIC_CONFIG")


@pytest.mark.parametrize("value", ["86400000", "43200000"])
def test_a_cluster_default_applies_to_the_broker_and_its_topics(shared: Shared, alter: Alter, value: str) -> None:
    shared.create(topic := f"follows-{time.monotonic_ns()}")

    alter("brokers", "", {"log.retention.ms": value})

    until(lambda: shared.described("BROKER", "1", "log.retention.ms") == (value, "DYNAMIC_DEFAULT_BROKER_CONFIG"))
    until(lambda: shared.described("TOPIC", topic, "retention.ms") == (value, "DYNAMIC_DEFAULT_BROKER_CONFIG"))


def test_a_producer_over_its_quota_is_throttled(shared: Shared, alter: Alter) -> None:
    client = f"loud-{time.monotonic_ns()}"
    shared.create(client)
    with producing(shared.broker, client) as throttled:
        until(lambda: throttled() == 0)

        alter("client", client, {"producer_byte_rate": "20000"})

        until(lambda: throttled() > 0)


def test_a_number_in_a_clients_znode_is_read_by_kconf_and_not_by_the_broker(
    shared: Shared, znodes: KazooClient
) -> None:
    """KIP-21 writes quotas as numbers. While such a znode exists, 3.9.2 cannot describe any quota, until kconf rewrites
    it.
    """
    app = QuotaEntity.of({"client-id": "numbers"})

    def rate(client: SyncAdminClient) -> float | None:
        return client.describe_client_quotas(QuotaFilter.exactly(app)).get(app, {}).get("producer_byte_rate")

    with SyncAdminClient(shared.kconf.bootstrap) as ours, SyncAdminClient(shared.broker.bootstrap) as theirs:
        try:
            znodes.create("/config/clients/numbers", b'{"version":1,"config":{"producer_byte_rate":1000}}')
            announce(znodes, "clients", "numbers")
            until(lambda: rate(ours) == 1000.0)
            with pytest.raises(UnknownServerError):
                rate(theirs)
        finally:
            altered = ours.alter_client_quotas({app: {"producer_byte_rate": 2000.0}})
        altered.raise_for_failures()
        assert rate(theirs) == 2000.0


def test_a_singular_type_is_read_by_kconf_and_not_by_the_broker(shared: Shared, znodes: KazooClient) -> None:
    """KIP-21 writes `topic`; 3.9.2 accepts only `topics` and logs an error. kconf accepts both."""
    shared.create("singular")
    until(shared.takes("singular", 3000))

    znodes.set("/config/topics/singular", b'{"version":1,"config":{"max.message.bytes":"1500"}}')
    announce(znodes, "topic", "singular")
    until(lambda: limit(shared.kconf.bootstrap, "singular") == "1500")
    until(lambda: "must have 'entity_type' set to 'clients' or 'topics'" in shared.broker.log_path.read_text())
    assert shared.takes("singular", 3000)()

    announce(znodes, "topics", "singular")
    until(shared.refuses(KafkaError.MSG_SIZE_TOO_LARGE, "singular", 3000))


@pytest.mark.parametrize(
    ("document", "kept_by_broker"),
    [(b'{"version":1,"config":{"max.message.bytes":"much"}}', True), (b"not JSON", False), (b"[1]", False)],
)
def test_an_unreadable_quota_does_not_replace_the_old_one(
    shared: Shared, znodes: KazooClient, document: bytes, kept_by_broker: bool
) -> None:
    """kconf keeps the quota. A running 3.9.2 keeps it if the value is invalid, but drops it if the JSON is invalid."""
    topic, after = (f"{name}-{time.monotonic_ns()}" for name in ("unreadable", "after"))
    for name in (topic, after):
        shared.create(name)
        until(shared.takes(name, 3000))
    altered_by_java(shared.ask, "topic", topic, {"max.message.bytes": "1500"})
    until(shared.refuses(KafkaError.MSG_SIZE_TOO_LARGE, topic, 3000))

    znodes.set(f"/config/topics/{topic}", document)
    announce(znodes, "topics", topic)
    znodes.set(f"/config/topics/{after}", b'{"version":1,"config":{"max.message.bytes":"1501"}}')
    announce(znodes, "topics", after)

    until(shared.refuses(KafkaError.MSG_SIZE_TOO_LARGE, after, 3000))  # so both have processed the previous one
    until(lambda: limit(shared.kconf.bootstrap, after) == "1501")
    assert shared.takes(topic, 3000)() is not kept_by_broker
    assert limit(shared.kconf.bootstrap, topic) == "1500"

    altered_by_java(shared.ask, "topic", topic, {"retention.ms": "7200000"})
    until(shared.refuses(KafkaError.MSG_SIZE_TOO_LARGE, topic, 3000))
    assert shared.described("TOPIC", topic, "max.message.bytes") == ("1500", "DYNAMIC_TOPIC_CONFIG")


def test_notifications_are_purged_after_15_minutes_and_the_broker_continues(
    shared: Shared, zookeeper: ZooKeeper, znodes: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With brokers on the ensemble, a shorter time is not used. The test changes the clock instead of waiting."""
    shared.create("purged")
    until(shared.takes("purged", 3000))
    announce(znodes, "topics", "purged")
    created = len(znodes.get_children("/config/changes"))
    store = ZookeeperStore.open(zookeeper.url(CHROOT))

    def purge() -> int:
        store.housekeep(notification_retention=0)
        return len(znodes.get_children("/config/changes"))

    try:
        newest = max(sequence_number(each) for each in znodes.get_children("/config/changes"))
        until(lambda: store.load() is not None and store._membership.passed_by_all()[CONFIG_CHANGES] > newest)
        assert purge() == created

        monkeypatch.setattr(store_module, "KAFKAS_RETENTION", 0)
        assert purge() == 0
    finally:
        store.close()
    altered_by_java(shared.ask, "topic", "purged", {"max.message.bytes": "1500"})
    until(shared.refuses(KafkaError.MSG_SIZE_TOO_LARGE, "purged", 3000))


def test_a_password_set_through_kconf_is_valid_until_it_is_removed(shared: Shared, make_probe: MakeProbe) -> None:
    assert not logs_in(shared, make_probe, "frieda", "opensesame")

    alter_scram(shared, {"user": "frieda", "mechanism": "SCRAM_SHA_256", "password": "opensesame"})
    until(lambda: logs_in(shared, make_probe, "frieda", "opensesame"))
    assert not logs_in(shared, make_probe, "frieda", "opensimsim")

    alter_scram(shared, {"user": "frieda", "mechanism": "SCRAM_SHA_256", "delete": True})
    until(lambda: not logs_in(shared, make_probe, "frieda", "opensesame"))


def test_a_password_set_with_kafka_configs_is_valid(shared: Shared, tools: ToolServer, make_probe: MakeProbe) -> None:
    requested = "SCRAM-SHA-256=[iterations=8192,password=opensesame]"
    done = tools.kafka_configs(shared.kconf.bootstrap, "--alter", "--user", "greta", "--add-config", requested)

    assert done.returncode == 0, done.stderr
    until(lambda: logs_in(shared, make_probe, "greta", "opensesame"))


def test_an_acl_denies_and_its_removal_allows(shared: Shared) -> None:
    shared.create("private")
    alter_scram(shared, {"user": "eve", "mechanism": "SCRAM_SHA_256", "password": "eve"})
    until(shared.takes("private", user="eve"))
    denial = {
        "resourceType": "TOPIC",
        "resourceName": "private",
        "principal": "User:eve",
        "operation": "WRITE",
        "permissionType": "DENY",
    }

    shared.ask.call("createAcls", {"acls": [denial]})
    until(shared.refuses(KafkaError.TOPIC_AUTHORIZATION_FAILED, "private", user="eve"))

    shared.ask.call("deleteAcls", {"filters": [{**denial, "patternType": "LITERAL"}]})
    until(shared.takes("private", user="eve"))


def test_a_prefixed_acl_denies(shared: Shared) -> None:
    shared.create("secret-plans")
    alter_scram(shared, {"user": "mallory", "mechanism": "SCRAM_SHA_256", "password": "mallory"})
    until(shared.takes("secret-plans", user="mallory"))

    prefixed = {"resourceType": "TOPIC", "resourceName": "secret-", "patternType": "PREFIXED"}
    denial = {**prefixed, "principal": "User:mallory", "operation": "ALL", "permissionType": "DENY"}
    shared.ask.call("createAcls", {"acls": [denial]})

    # Without the right to describe it, a client does not learn that the topic exists.
    until(shared.refuses(KafkaError.TOPIC_AUTHORIZATION_FAILED, "secret-plans", user="mallory"))


@pytest.mark.parametrize(
    ("line", "resource", "key", "after"),
    [
        ("--topic outer --add-config flush.ms=4321", Resource.topic("outer"), "flush.ms", "4321"),
        ("--broker-defaults --add-config log.segment.delete.delay.ms=61000", Resource.brokers(), *("", "")),
        ("--client outer --add-config producer_byte_rate=98765", None, "producer_byte_rate", "98765"),
        ("--user outer --add-config SCRAM-SHA-256=[password=pw]", None, "SCRAM-SHA-256", None),
    ],
)
def test_a_write_of_the_brokers_own_tool_is_an_external_change(
    shared: Shared, tools_392: ToolServer, line: str, resource: Resource | None, key: str, after: str | None
) -> None:
    if "--topic" in line and "outer" not in shared.own.call("listTopics"):
        shared.own.call("createTopics", {"topics": [{"name": "outer", "partitions": 1, "replicationFactor": 1}]})
    key = key or "log.segment.delete.delay.ms"
    with SyncAdminClient(shared.kconf.bootstrap) as admin, admin.watch_changes() as watch:
        done = tools_392.kafka_configs(shared.broker.bootstrap, "--alter", *line.split())
        assert done.returncode == 0, done.stderr
        revision = next_about(watch, key)
        kept = admin.list_changes(revision.number - 1, limit=1).revisions[0]

    change = next(each for each in revision.changes if each.key == key)
    assert revision.origin == "outside"
    assert resource is None or change.resource == resource
    assert after in (None, "", change.after)
    assert "pw" not in str(change.after)
    assert kept == revision


def test_topics_that_others_create_and_delete_are_changes_made_outside(shared: Shared) -> None:
    with SyncAdminClient(shared.kconf.bootstrap) as admin, admin.watch_changes(about=[ResourceType.TOPIC]) as watch:
        shared.own.call("createTopics", {"topics": [{"name": "theirs", "partitions": 2, "replicationFactor": 1}]})
        made = next_named(watch, "theirs")
        listed = admin.list_topics()["theirs"]
        shared.own.call("deleteTopics", {"topics": ["theirs"]})
        gone = next_named(watch, "theirs")

        assert (made.origin, gone.origin) == ("outside", "outside")
        assert listed.partitions == 2
        assert [each.after for each in gone.changes if each.kind == "topic"] == [None]
        assert "theirs" not in admin.list_topics()


def test_acls_created_by_other_tools_apply_too(shared: Shared) -> None:
    granted = {"resourceType": "GROUP", "resourceName": "theirs", "principal": "User:otto", "operation": "READ"}
    with SyncAdminClient(shared.kconf.bootstrap) as admin, admin.watch_changes(about=[ResourceType.ACL]) as watch:
        shared.own.call("createAcls", {"acls": [granted]})
        revision = next(watch)

    assert revision.origin == "outside"
    listed = shared.ask.call("describeAcls", {"filter": {"resourceName": "theirs"}})
    assert [(each["principal"], each["operation"]) for each in listed] == [("User:otto", "READ")]


def test_the_broker_restarts_on_everything_that_kconf_wrote(shared: Shared, make_probe: MakeProbe) -> None:
    """A running broker only logs a znode that it cannot read, but does not start with it."""
    shared.create("again")
    altered_by_java(shared.ask, "topic", "again", {"max.message.bytes": "1500", "compression.type": "zstd"})
    altered_by_java(shared.ask, "client", "odd id/ä+*~%é😀", {"request_percentage": "12.5"})
    alter_scram(shared, {"user": "CN=foo, O=bar/x", "mechanism": "SCRAM_SHA_256", "password": "pw"})
    quotas = [
        {"entity": {"ip": "::1"}, "ops": [{"key": "connection_creation_rate", "value": 1000.0}]},
        {"entity": {"user": None, "client-id": None}, "ops": [{"key": "controller_mutation_rate", "value": 1e3}]},
    ]
    answer = shared.ask.call("alterClientQuotas", {"entries": quotas})
    assert ["error" in each["outcome"] for each in answer] == [False, False], answer
    rule = {"resourceType": "GROUP", "resourceName": "with/slash", "principal": "User:otto", "operation": "READ"}
    shared.ask.call("createAcls", {"acls": [rule]})
    group = {"type": "GROUP", "name": "readers", "ops": [{"op": "SET", "name": SESSION, "value": "50000"}]}
    metrics = {"type": "CLIENT_METRICS", "name": "all", "ops": [{"op": "SET", "name": "interval.ms", "value": "1000"}]}
    answer = shared.ask.call("incrementalAlterConfigs", {"resources": [group, metrics]})
    assert answer["CLIENT_METRICS:all"] == {}, answer
    assert answer["GROUP:readers"]["error"] == "InvalidRequestException", answer  # Kafka 3.9 has no group configs

    shared.broker.restart()

    until(shared.refuses(KafkaError.MSG_SIZE_TOO_LARGE, "again", 3000))
    until(lambda: logs_in(shared, make_probe, "CN=foo, O=bar/x", "pw"))
