"""A gateway in front of several brokers has a port for each, and forwards requests about a broker to it."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import ErrorCode
from kconf.model.alteration import AlterConfigOp, NewTopic, OpType
from kconf.model.resource import Resource
from kconf.protocol.messages.api_versions import ApiVersionsRequest
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kconf.protocol.messages.list_groups import ListGroupsRequest
from lab.broker import KafkaBroker
from lab.cluster import KafkaCluster
from lab.tools import ToolServer
from tests.cli.commands.scenarios import a_name, until
from tests.conformance.consumer_groups import consumed
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.compare import tree
from tests.conformance.differential.side import Side
from tests.conformance.test_gateway import gateway
from tests.conformance.test_gateway_relay import GROUPS, LOG_DIRS

BROKER, LOGGER = 4, 8
SIZES = re.compile(r'"(totalBytes|usableBytes|size)":-?\d+')


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster() as running:
        yield running


@pytest.fixture(scope="module")
def front(cluster: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with gateway(cluster, tmp_path_factory.mktemp("front") / "gw.db") as (address, _):
        yield address


def addresses(bootstrap: str) -> dict[int, str]:
    with SyncAdminClient(bootstrap) as admin:
        return {number: f"{each.host}:{each.port}" for number, each in admin.describe_cluster().nodes.items()}


def side(address: str) -> Side:
    host, port = address.rsplit(":", 1)
    return Side(address, host, int(port))


def answers(at: dict[int, str], node: int, ask: Ask) -> Any:
    one = side(at[node])
    try:
        found = tree(one, one.ask(ask))
        return {name: each for name, each in found.items() if name not in ("revision", "stale")}  # kconf's own
    finally:
        one.close()


def test_a_request_about_a_broker_is_answered_by_the_port_of_that_broker(cluster: KafkaCluster, front: str) -> None:
    ours, theirs = addresses(front), addresses(cluster.bootstrap)
    assert ours.keys() == theirs.keys() == {1, 2, 3}
    assert len({front, *ours.values()}) == 4
    asks = [
        Ask("DescribeConfigs", 4, DescribeConfigsRequest([DescribeConfigsResource(kind, name, ["log.dirs", "root"])]))
        for kind in (BROKER, LOGGER)
        for name in ("1", "2", "")
    ]
    for kind, key, value in ((BROKER, "log.cleaner.threads", "1"), (LOGGER, "kafka.server.KafkaApis", "DEBUG")):
        resource = IncrementalAlterConfigsResource(kind, "2", [IncrementalAlterableConfig(key, 0, value)])
        asks.append(Ask("IncrementalAlterConfigs", 1, IncrementalAlterConfigsRequest([resource], True)))
    asks.append(Ask("DescribeLogDirs", 3, DescribeLogDirsRequest(None)))
    for ask in asks:
        for node in (1, 2):
            assert answers(ours, node, ask) == answers(theirs, node, ask), (node, ask)


def test_groups_are_found_at_their_coordinators(cluster: KafkaCluster, front: str, own_tools: ToolServer) -> None:
    groups = [a_name("group") for _ in range(4)]
    topic = a_name("read")
    with SyncAdminClient(cluster.bootstrap) as direct:
        direct.create_topics([NewTopic(topic, 3, 2)]).raise_for_failures()
    for group in groups:
        consumed(cluster.bootstrap, group, [topic])
    listed, described, dirs = [], [], []
    for address in (front, cluster.bootstrap):
        at = ("--bootstrap-server", address)
        listed.append(sorted(own_tools.run_class(GROUPS, *at, "--list").stdout.split()))
        words = [each for group in groups for each in ("--group", group)]
        done = own_tools.run_class(GROUPS, *at, "--describe", *words)
        assert done.returncode == 0, done.stderr
        described.append(sorted(done.stdout.splitlines()))
        dirs.append(SIZES.sub("", own_tools.run_class(LOG_DIRS, *at, "--describe").stdout.splitlines()[-1]))
    assert set(groups) <= set(listed[0])
    assert listed[0] == listed[1]
    assert described[0] == described[1]
    assert dirs[0] == dirs[1]
    found = {node: listed_at(address) for node, address in addresses(front).items()}
    assert sorted(each for names in found.values() for each in names) == listed[0]


def listed_at(address: str) -> list[str]:
    one = side(address)
    try:
        answer: Any = one.ask(Ask("ListGroups", 5, ListGroupsRequest()))
        return [each.group_id for each in answer.groups]
    finally:
        one.close()


def test_with_one_address_requests_reach_a_broker_only_if_the_client_names_it(
    cluster: KafkaCluster, tmp_path: Path
) -> None:
    dirs = Ask("DescribeLogDirs", 4, DescribeLogDirsRequest(None))
    with gateway(cluster, tmp_path / "gw.db", "--override", "gateway.broker.ports=none") as (address, _):
        assert set(addresses(address).values()) == {address}
        one = side(address)
        assert one.ask(dirs).error_code == 42  # type: ignore[union-attr]
        assert one.ask(Ask("ListGroups", 5, ListGroupsRequest())).error_code == 0  # type: ignore[union-attr]
        for node in (2, 3):
            named: Any = side(address)
            for number in (node, 4):
                meant = ApiVersionsRequest("kconf", "1", cluster.nodes[0].cluster_id, number)
                assert named.ask(Ask("ApiVersions", 5, meant)).error_code == (0 if number == node else 129)
            (result,) = named.ask(dirs).results
            assert result.log_dir == str(cluster.nodes[node - 1].directory / "data")
            named.close()
        one.close()


@pytest.mark.faults
def test_the_ports_follow_the_brokers(cluster: KafkaCluster, front: str) -> None:
    before = addresses(front)
    node: KafkaBroker = cluster.nodes[2]
    node.stop()
    until(lambda: sorted(addresses(front)), [1, 2])
    until(lambda: accepts(before[3]), False)
    node.start()
    until(lambda: addresses(front), before)
    assert accepts(before[3])


@pytest.mark.faults
def test_a_stopped_broker_is_fenced_and_not_described_with_values_of_others(cluster: KafkaCluster, front: str) -> None:
    first = Resource.broker(1)
    with SyncAdminClient(front, timeout=20.0) as admin:
        threads = "num.io.threads"
        change = {first: [AlterConfigOp(OpType.SET, threads, "9")]}
        admin.incremental_alter_configs(change, validate_only=True).raise_for_failures()
    node: KafkaBroker = cluster.nodes[0]
    node.stop()
    try:
        until(lambda: fenced(front), [1])
        assert fenced(front) == fenced(cluster.bootstrap)
        one = side(front)
        describe = DescribeConfigsRequest([DescribeConfigsResource(BROKER, "1", None)])
        configs = [IncrementalAlterableConfig(threads, 0, "9")]
        alter = IncrementalAlterConfigsRequest([IncrementalAlterConfigsResource(BROKER, "1", configs)], True)
        described: Any = one.ask(Ask("DescribeConfigs", 4, describe))
        altered: Any = one.ask(Ask("IncrementalAlterConfigs", 1, alter))
        one.close()
        for found in (described.results[0], altered.responses[0]):
            assert (found.error_code, found.error_message) == (
                ErrorCode.REQUEST_TIMED_OUT,
                "broker 1 does not respond, so its configs are unknown; try again later",
            )
    finally:
        node.start()
    until(lambda: fenced(front), [])


@pytest.mark.faults
def test_a_topic_may_have_replicas_on_a_broker_that_does_not_run(cluster: KafkaCluster, front: str) -> None:
    """As directly on the cluster: creating topics does not fail during a rolling restart."""
    node: KafkaBroker = cluster.nodes[2]
    node.stop()
    try:
        until(lambda: fenced(front), [3])
        name = a_name("three")
        with SyncAdminClient(front) as admin:
            admin.create_topics([NewTopic(name, 1, 3)]).raise_for_failures()
            admin.create_partitions({name: 2}).raise_for_failures()
            replicas = [sorted(each.replicas) for each in admin.describe_topics([name])[name].partitions]
        assert replicas == [[1, 2, 3], [1, 2, 3]]
    finally:
        node.start()
    until(lambda: fenced(front), [])


def fenced(address: str) -> list[int]:
    with SyncAdminClient(address) as admin:
        return [number for number, each in admin.describe_cluster(fenced=True).nodes.items() if each.fenced]


def accepts(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except ConnectionRefusedError:
        return False
    return True
