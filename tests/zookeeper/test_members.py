"""Servers with a common store are the brokers of one cluster; a killed server disappears."""

from __future__ import annotations

from tests.feed.reading import until
from tests.support.admin import BROKER, BROKER_LOGGER, TOPIC, Admin, codes
from tests.support.process import KconfProcess
from tests.zookeeper.conftest import Serve

SOON = 60.0


def brokers(admin: Admin) -> dict[int, int]:
    """Ports by broker ID, from Metadata; DescribeCluster must return the same."""
    metadata = {each.node_id: each.port for each in admin.ask("Metadata", 12, topics=[]).brokers}
    cluster = {
        each.broker_id: each.port
        for each in admin.ask("DescribeCluster", 1, include_cluster_authorized_operations=False).brokers
    }
    return metadata if metadata == cluster else {}


def test_every_server_lists_all_servers_and_itself_as_controller(serve: Serve) -> None:
    servers = [serve(number) for number in (1, 2, 3)]
    wanted = {each.node_id: each.port for each in servers}
    for each in servers:
        with Admin(each.bootstrap) as admin:
            until(lambda: brokers(admin) == wanted, SOON)
            assert admin.ask("Metadata", 12, topics=[]).controller_id == each.node_id


def test_replicas_are_spread_over_the_servers_and_a_killed_one_is_offline(serve: Serve) -> None:
    servers = [serve(number) for number in (1, 2, 3)]
    with Admin(servers[0].bootstrap) as admin:
        until(lambda: len(brokers(admin)) == 3, SOON)
        assert codes(admin.create("orders", partitions=3, factor=3)) == [0]
        assert codes(admin.create("too-many", factor=4)) == [38]
        (topic,) = admin.ask("Metadata", 12, topics=None).topics
        assert sorted(each.leader_id for each in topic.partitions) == [1, 2, 3]
        assert {tuple(sorted(each.replica_nodes)) for each in topic.partitions} == {(1, 2, 3)}

        servers[2].kill()
        until(lambda: brokers(admin).keys() == {1, 2}, SOON)

        (topic,) = admin.ask("Metadata", 12, topics=None).topics
        assert {each.leader_id for each in topic.partitions} == {1, 2}
        assert all((set(each.isr_nodes), list(each.offline_replicas)) == ({1, 2}, [3]) for each in topic.partitions)


def test_a_stopped_server_is_unregistered_at_once_and_registers_again(serve: Serve) -> None:
    one, other = serve(1), serve(2)
    with Admin(one.bootstrap) as admin:
        until(lambda: brokers(admin).keys() == {1, 2}, SOON)
        other.stop()
        until(lambda: brokers(admin).keys() == {1}, SOON)
        other.start()
        until(lambda: brokers(admin).keys() == {1, 2}, SOON)


def test_requests_about_a_broker_are_answered_by_that_broker_and_all_others_by_any(serve: Serve) -> None:
    """As in Kafka: only N responds for BROKER N, and others return INVALID_REQUEST."""
    one, other = serve(1), serve(2)
    with Admin(one.bootstrap) as first, Admin(other.bootstrap) as second:
        first.create("orders")
        until(lambda: second.describe((TOPIC, "orders"))[0].error_code == 0, SOON)
        for kind in (BROKER, BROKER_LOGGER):
            assert codes(first.describe((kind, "1"), (kind, "2"))) == [0, 42]
            assert codes(second.describe((kind, "2"), (kind, "1"))) == [0, 42]
        assert codes(second.describe((BROKER, ""))) == [0]
        until(lambda: len(brokers(second)) == 2, SOON)
        listed = second.ask("ListConfigResources", 1, resource_types=[BROKER]).config_resources
        assert {each.resource_name for each in listed} == {"1", "2"}


def test_a_second_server_with_the_same_id_does_not_start(serve: Serve, zookeeper_url: str) -> None:
    serve(1)
    twin = KconfProcess(store=zookeeper_url, node_id=1)
    try:
        twin.start()
    except RuntimeError as error:
        told = str(error)
    else:
        twin.close()
        told = ""
    assert "another server with ID 1" in told
    assert "Traceback" not in told
