"""Both AdminClients on a real cluster of three nodes: which node gets a request, and what happens if one fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest

from kconf import AlterConfigOp, NewTopic, OpType, Resource, Source
from lab.cluster import KafkaCluster
from tests.unit.client.drivers import KINDS, driver


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster() as running:
        yield running


@pytest.fixture(params=KINDS)
def admin(request: pytest.FixtureRequest, cluster: KafkaCluster) -> Iterator[Any]:
    with driver(request.param, cluster.nodes[0].bootstrap) as client:
        yield client


def wait(until: Callable[[], object]) -> None:
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        if until():
            return
        time.sleep(0.05)
    raise AssertionError("the cluster does not show it")


def topics(admin: Any, count: int) -> list[str]:
    names = [f"many-{uuid4().hex[:8]}-{place}" for place in range(count)]
    admin.create_topics([NewTopic(name, 1, 2) for name in names]).raise_for_failures()
    wait(lambda: set(names) <= admin.list_topics().keys())
    return names


def test_all_nodes_are_known_from_one_address(admin: Any) -> None:
    found = admin.describe_cluster()

    assert sorted(found.nodes) == [1, 2, 3]


def test_requests_about_a_broker_are_sent_to_it(admin: Any, cluster: KafkaCluster) -> None:
    """Only node N knows its static configs: each has its own log.dirs."""
    brokers = [Resource.broker(node.node_id) for node in cluster.nodes]

    found = admin.describe_configs([*brokers, *map(Resource.logger, (1, 2, 3))])

    assert not found.failures
    assert [found[each]["log.dirs"].value for each in brokers] == [
        str(node.directory / "data") for node in cluster.nodes
    ]
    assert found[brokers[1]]["node.id"].value == "2"


def test_altering_one_broker_does_not_change_another(admin: Any) -> None:
    second, third = Resource.broker(2), Resource.broker(3)
    value = str(uuid4().int % 9000 + 1000)
    requested = AlterConfigOp(OpType.SET, "log.cleaner.backoff.ms", value)

    admin.incremental_alter_configs({second: [requested], third: []}).raise_for_failures()

    wait(lambda: admin.describe_configs([second])[second]["log.cleaner.backoff.ms"].value == value)
    other = admin.describe_configs([third])[third]["log.cleaner.backoff.ms"]
    assert other.source is not Source.BROKER


def test_many_topics_are_altered_and_described_through_all_nodes(admin: Any) -> None:
    resources = [Resource.topic(name) for name in topics(admin, 600)]
    requested = [AlterConfigOp(OpType.SET, "retention.ms", "86400000")]

    admin.incremental_alter_configs(dict.fromkeys(resources, requested)).raise_for_failures()

    def all_shown() -> bool:
        found = admin.describe_configs(resources)
        return not found.failures and all(found[each]["retention.ms"].value == "86400000" for each in resources)

    wait(all_shown)


@pytest.mark.faults
def test_calls_succeed_when_a_node_and_the_controller_are_down() -> None:
    """Both clients, connected to brokers and to controllers: the active controller changes."""
    with KafkaCluster() as cluster, ExitStack() as held:
        direct = [held.enter_context(driver(kind, bootstrap_controllers=cluster.controllers)) for kind in KINDS]
        admins = [held.enter_context(driver(kind, cluster.bootstrap)) for kind in KINDS]
        (name,) = topics(admins[0], 1)
        orders = Resource.topic(name)
        before = {each.describe_cluster().controller.id for each in direct}
        for each in admins:
            each.describe_configs([orders]).raise_for_failures()
        next(node for node in cluster.nodes if {node.node_id} == before).kill()

        for place, each in enumerate((*direct, *admins)):
            _set_in_the_end(each, orders, str(1000 + place))

        assert before.isdisjoint(each.describe_cluster().controller.id for each in direct)
        wait(lambda: admins[0].describe_configs([orders])[orders]["retention.ms"].value == "1003")


def _set_in_the_end(admin: Any, resource: Resource, value: str) -> None:
    requested = AlterConfigOp(OpType.SET, "retention.ms", value)
    wait(lambda: not admin.incremental_alter_configs({resource: [requested]}).failures)
