"""On the ZooKeeper of a real Kafka 3.9.2, kconf describes its brokers exactly as they describe themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconf import AlterConfigOp, OpType, Resource, SyncAdminClient
from kconf.errors import InvalidConfig, InvalidRequest
from kconf.model.entry import Entry
from lab.broker import KafkaBroker
from lab.zookeeper import ZooKeeper
from tests.feed.reading import until
from tests.support.process import KconfProcess

CHROOT = "/beside"
ONE = Resource.broker(1)
SOON = 60.0
STATIC = {"log.retention.hours": "48", "num.io.threads": "5", "ssl.key.password": "hidden-password"}


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeper) -> Iterator[KafkaBroker]:
    with KafkaBroker("3.9.2", zookeeper=zookeeper.address + CHROOT, properties=STATIC) as process:
        yield process


@pytest.fixture(scope="module")
def kconf(zookeeper: ZooKeeper, broker: KafkaBroker) -> Iterator[KconfProcess]:
    with KconfProcess(store=zookeeper.url(CHROOT), node_id=1001, properties={"log.retention.hours": "48"}) as process:
        yield process


@pytest.fixture
def ours(kconf: KconfProcess) -> Iterator[SyncAdminClient]:
    with SyncAdminClient(kconf.bootstrap) as client:
        yield client


@pytest.fixture
def theirs(broker: KafkaBroker) -> Iterator[SyncAdminClient]:
    with SyncAdminClient(broker.bootstrap) as client:
        yield client


def described(client: SyncAdminClient, resource: Resource) -> dict[str, Entry]:
    return {entry.name: entry for entry in client.describe_configs([resource], synonyms=True)[resource].entries}


def facts(entries: dict[str, Entry]) -> dict[str, tuple[object, ...]]:
    return {
        name: (entry.value, entry.source, entry.type, entry.read_only, entry.sensitive, tuple(entry.synonyms))
        for name, entry in entries.items()
    }


def test_brokers_are_listed_with_the_address_of_kconf(ours: SyncAdminClient, kconf: KconfProcess) -> None:
    cluster = ours.describe_cluster()

    assert [(node.id, node.port) for node in cluster.nodes.values()] == [(1, kconf.port)]
    assert cluster.controller is not None
    assert cluster.controller.id == 1


def test_a_broker_is_described_as_it_describes_itself(ours: SyncAdminClient, theirs: SyncAdminClient) -> None:
    """All config sources: dynamic ones from ZooKeeper, static ones from the broker, and the defaults of its release."""
    ours.incremental_alter_configs({ONE: [AlterConfigOp(OpType.SET, "log.cleaner.threads", "2")]}).raise_for_failures()
    default = {Resource.brokers(): [AlterConfigOp(OpType.SET, "log.segment.bytes", "1048577")]}
    ours.incremental_alter_configs(default).raise_for_failures()
    until(lambda: described(theirs, ONE)["log.cleaner.threads"].value == "2", SOON)
    until(lambda: described(theirs, ONE)["log.segment.bytes"].value == "1048577", SOON)

    said, told = facts(described(ours, ONE)), facts(described(theirs, ONE))

    assert said.keys() == told.keys()
    assert {name: (said[name], told[name]) for name in told if said[name] != told[name]} == {}


def test_a_topic_is_described_as_the_broker_describes_it(ours: SyncAdminClient, theirs: SyncAdminClient) -> None:
    ours.create_topics(["described"]).raise_for_failures()
    orders = Resource.topic("described")
    until(lambda: "described" in theirs.list_topics(), SOON)

    said, told = facts(described(ours, orders)), facts(described(theirs, orders))

    assert {name: (said.get(name), told.get(name)) for name in {*said, *told} if said.get(name) != told.get(name)} == {}


def test_keys_that_the_brokers_release_lacks_are_refused(ours: SyncAdminClient) -> None:
    ours.create_topics(["old"]).raise_for_failures()
    old = Resource.topic("old")

    ours.incremental_alter_configs({old: [AlterConfigOp(OpType.SET, "segment.bytes", "14")]}).raise_for_failures()
    answer = ours.incremental_alter_configs({old: [AlterConfigOp(OpType.SET, "internal.segment.bytes", "100")]})

    with pytest.raises(InvalidConfig):
        answer[old]
    later = {ONE: [AlterConfigOp(OpType.SET, "group.streams.session.timeout.ms", "1")]}  # a custom key for 3.9
    ours.incremental_alter_configs(later, validate_only=True).raise_for_failures()


def test_loggers_are_those_of_the_broker(ours: SyncAdminClient, theirs: SyncAdminClient) -> None:
    loggers = Resource.logger(1)
    ours.incremental_alter_configs(
        {loggers: [AlterConfigOp(OpType.SET, "kafka.server.KafkaApis", "ERROR")]}
    ).raise_for_failures()

    assert described(theirs, loggers)["kafka.server.KafkaApis"].value == "ERROR"
    assert described(ours, loggers)["kafka.server.KafkaApis"].value == "ERROR"
    answer = ours.incremental_alter_configs({loggers: [AlterConfigOp(OpType.SET, "no.such.logger", "ERROR")]})
    with pytest.raises((InvalidConfig, InvalidRequest)):
        answer[loggers]


def test_a_stopped_broker_is_not_listed_until_it_returns(
    ours: SyncAdminClient, kconf: KconfProcess, broker: KafkaBroker
) -> None:
    broker.stop()
    until(lambda: list(ours.describe_cluster().nodes) == [1001], SOON)

    broker.start()
    until(lambda: list(ours.describe_cluster().nodes) == [1], SOON)
    assert described(ours, ONE)["num.io.threads"].value == "5"
