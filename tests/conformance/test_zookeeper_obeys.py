"""A real Kafka 3.9.2 in ZooKeeper mode obeys what is changed through kconf, and kconf sees what others change there.

Kafka's own clients and tools ask kconf; the proof is what the broker then does: a message it refuses, a producer it
throttles, a login, a denial. The broker hears of a change milliseconds after kconf has acknowledged it, so each proof
is asked for until it holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from kazoo.client import KazooClient

from kconf import Resource, ResourceType, SyncAdminClient
from kconf.errors import UnknownServerError
from kconf.model.journal import Revision
from kconf.model.quota import QuotaEntity, QuotaFilter
from lab.admin import AdminError, AdminProbe
from lab.broker import KafkaBroker
from lab.pytest_plugin import MakeProbe
from lab.tools import ToolServer
from lab.zookeeper import ZooKeeper
from tests.support.process import KconfProcess
from tests.support.targets import one_of

CHROOT = "/obeys"
SESSION = "consumer.session.timeout.ms"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
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


@dataclass(frozen=True, slots=True)
class Shared:
    """One ensemble, and who shares it. `ask` is a Java client of kconf, `own` one of the broker."""

    broker: KafkaBroker
    kconf: KconfProcess
    ask: AdminProbe
    own: AdminProbe

    def create(self, name: str) -> None:
        made = self.ask.call("createTopics", {"topics": [{"name": name, "partitions": 1, "replicationFactor": 1}]})
        assert "error" not in made[name], made

    def produce(self, topic: str, size: int = 10, user: str | None = None) -> KafkaError | None:
        """Send one message to the real broker; what came of it."""
        address = self.broker.bootstrap if user is None else self.broker.address("SASL")
        outcome: list[KafkaError | None] = []
        producer = Producer({"bootstrap.servers": address, "message.timeout.ms": 20_000, **_credentials(user)})
        producer.produce(topic, b"x" * size, on_delivery=lambda error, _: outcome.append(error))
        producer.flush(30)
        return outcome[0]

    def refuses(self, code: int, topic: str, size: int = 10, user: str | None = None) -> Callable[[], bool]:
        def refused() -> bool:
            error = self.produce(topic, size, user)
            return error is not None and error.code() == code

        return refused

    def takes(self, topic: str, size: int = 10, user: str | None = None) -> Callable[[], bool]:
        return lambda: self.produce(topic, size, user) is None

    def described(self, kind: str, name: str, key: str) -> tuple[str, str]:
        """Value and source, in the broker's own words; empty while it does not know a new topic yet."""
        answer = self.own.call("describeConfigs", {"resources": [{"type": kind, "name": name}]})
        entry = answer[f"{kind}:{name}"].get("entries", {}).get(key, {})
        return entry.get("value", ""), entry.get("source", "")


@pytest.fixture(scope="module")
def shared(zookeeper: ZooKeeper, make_probe: MakeProbe) -> Iterator[Shared]:
    connect = zookeeper.address + CHROOT
    with (
        KafkaBroker("3.9.2", zookeeper=connect, listeners={"SASL": "SASL_PLAINTEXT"}, properties=BROKER) as broker,
        KconfProcess(store=zookeeper.url(CHROOT), node_id=1001, properties=SECURE) as kconf,
    ):
        yield Shared(broker, kconf, make_probe(kconf.bootstrap), make_probe(broker.bootstrap, "3.9.2"))


Alter = Callable[[str, str, Mapping[str, str]], None]


@pytest.fixture(params=one_of("the Java client", ["kafka-configs 4.3.1", "kafka-configs 3.9.2"]))
def alter(request: pytest.FixtureRequest, shared: Shared) -> Alter:
    """Set keys of a resource through kconf."""
    if request.param == "the Java client":
        return lambda kind, name, values: _altered_by_java(shared.ask, kind, name, values)
    tools: ToolServer = request.getfixturevalue("tools" if request.param.endswith("4.3.1") else "tools_392")
    return lambda kind, name, values: _altered_by_tool(tools, shared.kconf.bootstrap, kind, name, values)


def test_a_topic_made_through_kconf_takes_messages(shared: Shared) -> None:
    shared.create("made")

    until(shared.takes("made"))

    on_kconf = shared.ask.call("describeTopics", {"topics": ["made"]})["made"]
    on_kafka = shared.own.call("describeTopics", {"topics": ["made"]})["made"]
    assert on_kconf["topicId"] == on_kafka["topicId"]


def test_a_topic_grown_and_deleted_through_kconf_is_grown_and_gone(shared: Shared) -> None:
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
def test_a_cluster_default_is_in_force_on_the_broker_and_its_topics(shared: Shared, alter: Alter, value: str) -> None:
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
    shared: Shared, zookeeper: ZooKeeper
) -> None:
    """KIP-21 writes quotas as numbers. 3.9.2 cannot describe any quota while there is one, until kconf writes it."""
    app = QuotaEntity.of({"client-id": "numbers"})

    def rate(client: SyncAdminClient) -> float | None:
        return client.describe_client_quotas(QuotaFilter.exactly(app)).get(app, {}).get("producer_byte_rate")

    znodes = KazooClient(zookeeper.address + CHROOT)
    znodes.start()
    with SyncAdminClient(shared.kconf.bootstrap) as ours, SyncAdminClient(shared.broker.bootstrap) as theirs:
        try:
            znodes.create("/config/clients/numbers", b'{"version":1,"config":{"producer_byte_rate":1000}}')
            notification = b'{"version":1,"entity_type":"clients","entity_name":"numbers"}'
            znodes.create("/config/changes/config_change_", notification, sequence=True)
            until(lambda: rate(ours) == 1000.0)
            with pytest.raises(UnknownServerError):
                rate(theirs)
        finally:
            altered = ours.alter_client_quotas({app: {"producer_byte_rate": 2000.0}})
            znodes.stop()
            znodes.close()
        altered.raise_for_failures()
        assert rate(theirs) == 2000.0


def test_a_password_set_through_kconf_logs_in_and_no_longer_once_it_is_removed(
    shared: Shared, make_probe: MakeProbe
) -> None:
    assert not _logs_in(shared, make_probe, "frieda", "opensesame")

    _alter_scram(shared, {"user": "frieda", "mechanism": "SCRAM_SHA_256", "password": "opensesame"})
    until(lambda: _logs_in(shared, make_probe, "frieda", "opensesame"))
    assert not _logs_in(shared, make_probe, "frieda", "opensimsim")

    _alter_scram(shared, {"user": "frieda", "mechanism": "SCRAM_SHA_256", "delete": True})
    until(lambda: not _logs_in(shared, make_probe, "frieda", "opensesame"))


def test_a_password_set_with_kafka_configs_logs_in(shared: Shared, tools: ToolServer, make_probe: MakeProbe) -> None:
    wish = "SCRAM-SHA-256=[iterations=8192,password=opensesame]"
    done = tools.kafka_configs(shared.kconf.bootstrap, "--alter", "--user", "greta", "--add-config", wish)

    assert done.returncode == 0, done.stderr
    until(lambda: _logs_in(shared, make_probe, "greta", "opensesame"))


def test_an_acl_denies_and_its_removal_allows(shared: Shared) -> None:
    shared.create("private")
    _alter_scram(shared, {"user": "eve", "mechanism": "SCRAM_SHA_256", "password": "eve"})
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
    _alter_scram(shared, {"user": "mallory", "mechanism": "SCRAM_SHA_256", "password": "mallory"})
    until(shared.takes("secret-plans", user="mallory"))

    prefixed = {"resourceType": "TOPIC", "resourceName": "secret-", "patternType": "PREFIXED"}
    denial = {**prefixed, "principal": "User:mallory", "operation": "ALL", "permissionType": "DENY"}
    shared.ask.call("createAcls", {"acls": [denial]})

    # Without the right to describe it a client is not told that the topic is there.
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
def test_what_the_brokers_own_tool_writes_is_a_change_by_outside(
    shared: Shared, tools_392: ToolServer, line: str, resource: Resource | None, key: str, after: str | None
) -> None:
    if "--topic" in line and "outer" not in shared.own.call("listTopics"):
        shared.own.call("createTopics", {"topics": [{"name": "outer", "partitions": 1, "replicationFactor": 1}]})
    key = key or "log.segment.delete.delay.ms"
    with SyncAdminClient(shared.kconf.bootstrap) as admin, admin.watch_changes() as watch:
        done = tools_392.kafka_configs(shared.broker.bootstrap, "--alter", *line.split())
        assert done.returncode == 0, done.stderr
        revision = _next_about(watch, key)
        kept = admin.list_changes(revision.number - 1, limit=1).revisions[0]

    change = next(each for each in revision.changes if each.key == key)
    assert revision.origin == "outside"
    assert resource is None or change.resource == resource
    assert after in (None, "", change.after)
    assert "pw" not in str(change.after)
    assert kept == revision


def test_topics_of_others_appear_and_vanish_as_changes_by_outside(shared: Shared) -> None:
    with SyncAdminClient(shared.kconf.bootstrap) as admin, admin.watch_changes(about=[ResourceType.TOPIC]) as watch:
        shared.own.call("createTopics", {"topics": [{"name": "theirs", "partitions": 2, "replicationFactor": 1}]})
        made = _next_named(watch, "theirs")
        listed = admin.list_topics()["theirs"]
        shared.own.call("deleteTopics", {"topics": ["theirs"]})
        gone = _next_named(watch, "theirs")

        assert (made.origin, gone.origin) == ("outside", "outside")
        assert listed.partitions == 2
        assert [each.after for each in gone.changes if each.kind == "topic"] == [None]
        assert "theirs" not in admin.list_topics()


def test_acls_of_others_are_in_force_here_too(shared: Shared) -> None:
    granted = {"resourceType": "GROUP", "resourceName": "theirs", "principal": "User:otto", "operation": "READ"}
    with SyncAdminClient(shared.kconf.bootstrap) as admin, admin.watch_changes(about=[ResourceType.ACL]) as watch:
        shared.own.call("createAcls", {"acls": [granted]})
        revision = next(watch)

    assert revision.origin == "outside"
    listed = shared.ask.call("describeAcls", {"filter": {"resourceName": "theirs"}})
    assert [(each["principal"], each["operation"]) for each in listed] == [("User:otto", "READ")]


def test_the_broker_starts_again_on_all_that_kconf_wrote(shared: Shared, make_probe: MakeProbe) -> None:
    """A znode that a running broker only logs can stop one that starts. Odd names, and what Kafka 3.9 has not, too."""
    shared.create("again")
    _altered_by_java(shared.ask, "topic", "again", {"max.message.bytes": "1500", "compression.type": "zstd"})
    _altered_by_java(shared.ask, "client", "odd id/ä+*~%é😀", {"request_percentage": "12.5"})
    _alter_scram(shared, {"user": "CN=foo, O=bar/x", "mechanism": "SCRAM_SHA_256", "password": "pw"})
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
    assert ["error" in each for each in answer.values()] == [False, False], answer

    shared.broker.restart()

    until(shared.refuses(KafkaError.MSG_SIZE_TOO_LARGE, "again", 3000))
    until(lambda: _logs_in(shared, make_probe, "CN=foo, O=bar/x", "pw"))


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"it still does not hold after {seconds:.0f} s"
        time.sleep(0.02)


@contextmanager
def producing(broker: KafkaBroker, client_id: str) -> Iterator[Callable[[], float]]:
    """A producer that sends as fast as it may; the function sends some more and tells how long it was throttled."""
    seen: list[float] = [0.0]
    wishes: dict[str, Any] = {
        "bootstrap.servers": broker.bootstrap,
        "client.id": client_id,
        "batch.size": 100_000,
        "throttle_cb": lambda event: seen.append(event.throttle_time),
    }
    producer = Producer(wishes)

    def throttled() -> float:
        for _ in range(10):
            producer.produce(client_id, b"x" * 20_000)
        producer.flush(1)
        return max(seen)

    yield throttled
    producer.purge()
    producer.flush(5)


def _credentials(user: str | None) -> dict[str, str]:
    if user is None:
        return {}
    login = {"sasl.username": user, "sasl.password": user}
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256", **login}


def _altered_by_java(probe: AdminProbe, kind: str, name: str, values: Mapping[str, str]) -> None:
    if kind == "client":
        ops = [{"key": key, "value": float(value)} for key, value in values.items()]
        answer = probe.call("alterClientQuotas", {"entries": [{"entity": {"client-id": name}, "ops": ops}]})
        assert all("error" not in each["outcome"] for each in answer), answer
        return
    wishes = [{"op": "SET", "name": key, "value": value} for key, value in values.items()]
    resource = {"type": "TOPIC" if kind == "topic" else "BROKER", "name": name, "ops": wishes}
    answer = probe.call("incrementalAlterConfigs", {"resources": [resource]})
    assert all("error" not in each for each in answer.values()), answer


def _altered_by_tool(tools: ToolServer, address: str, kind: str, name: str, values: Mapping[str, str]) -> None:
    whom = ["--broker-defaults"] if kind == "brokers" else [f"--{kind}", name]
    wish = ",".join(f"{key}={value}" for key, value in values.items())
    done = tools.kafka_configs(address, "--alter", *whom, "--add-config", wish)
    assert done.returncode == 0, done.stderr


def _alter_scram(shared: Shared, wish: Mapping[str, object]) -> None:
    answer = shared.ask.call("alterUserScramCredentials", {"alterations": [wish]})
    assert all("error" not in each for each in answer.values()), answer


def _logs_in(shared: Shared, make_probe: MakeProbe, user: str, password: str) -> bool:
    """Whether the real broker lets a Java client in."""
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{SCRAM} username="{user}" password="{password}";',
    }
    probe = make_probe(shared.broker.address("SASL"), "3.9.2", properties=login)
    try:
        probe.call("listTopics")
    except AdminError as error:
        if error.name != "SaslAuthenticationException":
            raise
        return False
    finally:
        probe.close()
    return True


def _next_about(watch: Iterator[Revision], key: str) -> Revision:
    return next(each for each in watch if any(change.key == key for change in each.changes))


def _next_named(watch: Iterator[Revision], name: str) -> Revision:
    return next(each for each in watch if any(change.resource.name == name for change in each.changes))
