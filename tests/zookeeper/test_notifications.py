"""KIP-21's own list for its DynamicConfigManager, on a real ZooKeeper: order, fallback to defaults, restart.

The tests write the same data as Kafka's tools. Tests of following run twice: on an ensemble with only kconf servers,
and with a broker's znode.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from kazoo.client import KazooClient

from kconf import AclBinding, AclType, Operation, Resource, SyncAdminClient
from kconf.store.registry import open_store
from kconf.store.zookeeper.store import ZookeeperStore
from tests.cli.declarative.conftest import AUTHORIZER
from tests.contract.changes import commit, put
from tests.feed.reading import changes, set_key, until
from tests.support.admin import BROKER, SET, TOPIC, Admin, codes
from tests.zookeeper.conftest import Serve

SOON = 60.0
DOCUMENT = {
    "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
    "endpoints": ["PLAINTEXT://127.0.0.1:1"],
    "jmx_port": -1,
    "port": 1,
    "host": "127.0.0.1",
    "version": 5,
    "timestamp": "1700000000000",
}


@pytest.fixture(params=["alone", "beside a broker"])
def following(request: pytest.FixtureRequest) -> Admin:
    """A server with topics, with or without a broker's znode."""
    admin: Admin = request.getfixturevalue("alone" if request.param == "alone" else "beside")
    return admin


@pytest.fixture
def alone(serve: Serve) -> Iterator[Admin]:
    with Admin(serve(1001).bootstrap) as admin:
        for name in ("orders", "payments"):
            admin.create(name)
        yield admin


@pytest.fixture
def beside(serve: Serve, znodes: KazooClient) -> Iterator[Admin]:
    """A server with topics and a broker's znode."""
    server = serve(1001)
    znodes.create("/brokers/ids/1", json.dumps(DOCUMENT).encode(), ephemeral=True)
    with Admin(server.bootstrap) as admin:
        until(lambda: [each.node_id for each in admin.ask("Metadata", 12, topics=[]).brokers] == [1], SOON)
        for name in ("orders", "payments"):
            admin.create(name)
        yield admin


def write(znodes: KazooClient, path: str, config: dict[str, str]) -> None:
    """Write like kafka-configs: the data first, then the notification."""
    data = json.dumps({"version": 1, "config": config}).encode()
    if znodes.exists(f"/config/{path}"):
        znodes.set(f"/config/{path}", data)
    else:
        znodes.create(f"/config/{path}", data, makepath=True)
    notify(znodes, json.dumps({"version": 2, "entity_path": path}))


def notify(znodes: KazooClient, text: str) -> None:
    znodes.create("/config/changes/config_change_", text.encode(), sequence=True)


def overrides(admin: Admin, topic: str) -> dict[str, str]:
    return {name: each.value for name, each in admin.entries((TOPIC, topic)).items() if each.config_source == 1}


def outside(admin: Admin) -> list[tuple[str, str, str | None]]:
    return [
        (line.resource_name, line.key, line.after)
        for revision in changes(admin, 0).revisions
        if revision.origin == "outside"
        for line in revision.changes
    ]


def test_external_changes_are_shown_and_journaled_in_order(following: Admin, znodes: KazooClient) -> None:
    write(znodes, "topics/orders", {"retention.ms": "1"})
    until(lambda: overrides(following, "orders") == {"retention.ms": "1"}, SOON)
    write(znodes, "topics/payments", {"retention.ms": "2"})
    until(lambda: overrides(following, "payments") == {"retention.ms": "2"}, SOON)
    write(znodes, "topics/orders", {})
    until(lambda: overrides(following, "orders") == {}, SOON)

    assert outside(following) == [
        ("orders", "retention.ms", "1"),
        ("payments", "retention.ms", "2"),
        ("orders", "retention.ms", None),
    ]


def test_many_notifications_at_once_lead_to_the_last_state(following: Admin, znodes: KazooClient) -> None:
    """A notification is only a trigger: the current state of the entity is read."""
    for value in range(1, 51):
        write(znodes, "topics/orders", {"retention.ms": str(value)})

    until(lambda: overrides(following, "orders") == {"retention.ms": "50"}, SOON)
    values = [int(after or 0) for _, _, after in outside(following)]
    assert values == sorted(values)
    assert values[-1] == 50


def test_both_versions_of_notifications_are_followed(following: Admin, znodes: KazooClient) -> None:
    znodes.set("/config/topics/orders", b'{"version":1,"config":{"retention.ms":"7"}}')
    notify(znodes, '{"version":1,"entity_type":"topics","entity_name":"orders"}')

    until(lambda: overrides(following, "orders") == {"retention.ms": "7"}, SOON)


def test_the_singular_types_of_the_proposal_are_followed(following: Admin, znodes: KazooClient) -> None:
    znodes.set("/config/topics/orders", b'{"version":1,"config":{"retention.ms":"8"}}')
    notify(znodes, '{"version":1,"entity_type":"topic","entity_name":"orders"}')
    until(lambda: overrides(following, "orders") == {"retention.ms": "8"}, SOON)

    znodes.create("/config/clients/app", b'{"version":1,"config":{"producer_byte_rate":"1024"}}')
    notify(znodes, '{"version":1,"entity_type":"client","entity_name":"app"}')
    until(lambda: ('{"client-id":"app"}', "producer_byte_rate", "1024") in outside(following), SOON)


def test_a_notification_is_announced_without_any_poll(zookeeper_url: str, znodes: KazooClient) -> None:
    """On an ensemble without brokers, a watch announces it: nothing polls the store."""
    announced = Event()
    store = open_store(zookeeper_url)
    store.on_change(announced.set)
    for value in ("1", "2", "3"):
        announced.clear()
        write(znodes, "clients/app", {"producer_byte_rate": value})
        assert announced.wait(SOON)
        found = [change.after for revision in store.poll_remote() for change in revision.changes]
        while not found:  # the watch may fire for the previous notification
            assert announced.wait(SOON)
            announced.clear()
            found = [change.after for revision in store.poll_remote() for change in revision.changes]
        assert found == [value]
    store.close()


def test_no_change_of_other_tools_is_missed_among_many_of_kconf(serve: Serve, znodes: KazooClient) -> None:
    """Three writers share the notification numbers: two servers and a ZooKeeper client."""
    with Admin(serve(1).bootstrap) as one, Admin(serve(2).bootstrap) as other:
        for name in ("first", "second", *(f"theirs-{number}" for number in range(20))):
            one.create(name)
        until(lambda: other.describe((TOPIC, "theirs-19"))[0].error_code == 0, SOON)

        def change(admin: Admin, topic: str) -> None:
            for value in range(100):
                set_key(admin, topic, str(value))

        with ThreadPoolExecutor(2) as pool:
            busy = [pool.submit(change, one, "first"), pool.submit(change, other, "second")]
            for number in range(20):
                write(znodes, f"topics/theirs-{number}", {"retention.ms": str(number)})
            for each in busy:
                each.result()
        wanted = {f"theirs-{number}": {"retention.ms": str(number)} for number in range(20)}

        for admin in (one, other):
            until(lambda admin=admin: {name: overrides(admin, name) for name in wanted} == wanted, SOON)  # type: ignore[misc]
        assert sorted(outside(one)) == sorted((name, "retention.ms", name[7:]) for name in wanted)


def test_a_follower_finds_changes_of_other_tools_among_those_of_a_server(
    zookeeper_url: str, znodes: KazooClient
) -> None:
    """The numbers of a server's notifications are in its journal entries, and that of another tool is between them.

    Nothing polls these stores, so only watches can find it.
    """
    writer, follower = open_store(zookeeper_url), open_store(zookeeper_url)
    announced = Event()
    follower.on_change(announced.set)
    numbers = itertools.count()
    found: list[str | None] = []

    def write_some(count: int) -> None:
        for _ in range(count):
            commit(writer, put(Resource.topic("ours"), "retention.ms", str(next(numbers))))

    def is_found(value: str) -> bool:
        announced.wait(1)
        announced.clear()
        found.extend(change.after for revision in follower.poll_remote() for change in revision.changes)
        return value in found

    for before, after in ((0, 1), (1, 0), (1, 1), (3, 2), (0, 3)):
        write_some(before)
        value = str(1_000_000 + next(numbers))
        write(znodes, "topics/theirs", {"retention.ms": value})
        write_some(after)
        until(lambda value=value: is_found(value), SOON)  # type: ignore[misc]
        writer.poll_remote()
    last = str(next(numbers) - 1)
    until(lambda: last in found or is_found(last), SOON)
    assert len(found) == len(set(found)), "a change was reported twice"
    writer.close()
    follower.close()


def test_notifications_of_a_server_cause_no_request_of_its_followers(
    zookeeper_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal has their number. Only a notification of another tool causes a request."""
    writer, follower = open_store(zookeeper_url), open_store(zookeeper_url)
    assert isinstance(follower, ZookeeperStore)
    client = follower._session.client
    asked: list[str] = []
    ask = client.exists_async

    def recorded(path: str, *args: Any) -> Any:
        asked.append(path)
        return ask(path, *args)

    monkeypatch.setattr(client, "exists_async", recorded)
    fired = follower._commit_log.notifications
    for value in range(20):
        commit(writer, put(Resource.topic("ours"), "retention.ms", str(value)))
        until(lambda: fired.is_pending, SOON)
        follower.poll_remote()
        until(lambda value=value: len(asked) > value and not fired.is_pending, SOON)  # type: ignore[misc]
    assert "/config/changes" not in asked
    assert any(path.startswith("/config/changes/config_change_") for path in asked)
    writer.close()
    follower.close()


def test_a_notification_with_an_unusual_name_is_found(serve: Serve, znodes: KazooClient) -> None:
    """The watch for Kafka's names does not announce it, but the periodic check finds it and later ones."""
    with Admin(serve(1).bootstrap) as admin:
        admin.create("orders")
        znodes.set("/config/topics/orders", b'{"version":1,"config":{"retention.ms":"8"}}')
        znodes.create("/config/changes/by_somebody_", b'{"version":2,"entity_path":"topics/orders"}', sequence=True)
        until(lambda: overrides(admin, "orders") == {"retention.ms": "8"}, SOON)
        write(znodes, "topics/orders", {"retention.ms": "9"})
        until(lambda: overrides(admin, "orders") == {"retention.ms": "9"}, SOON)


def test_bad_notifications_are_ignored(following: Admin, znodes: KazooClient) -> None:
    for bad in (
        "",
        "hello",
        '"orders"',
        "[1]",
        '{"version":3}',
        '{"version":2,"entity_path":"groups/g"}',
        '{"version":2',
    ):
        notify(znodes, bad)
    notify(znodes, '{"version":2,"entity_path":"topics/no-such-topic"}')
    znodes.create("/config/changes/zzz", b"")

    write(znodes, "topics/orders", {"retention.ms": "9"})

    until(lambda: overrides(following, "orders") == {"retention.ms": "9"}, SOON)


def test_removing_a_cluster_default_restores_the_previous_value(following: Admin, znodes: KazooClient) -> None:
    def shown() -> tuple[str, int]:
        entry = following.entries((TOPIC, "orders"))["retention.ms"]
        return entry.value, entry.config_source

    before = shown()
    write(znodes, "brokers/<default>", {"log.retention.ms": "123456"})
    until(lambda: shown() == ("123456", 3), SOON)
    write(znodes, "brokers/<default>", {})
    until(lambda: shown() == before, SOON)


def test_quotas_users_and_acls_of_others_are_followed(following: Admin, znodes: KazooClient) -> None:
    write(znodes, "clients/app%201", {"producer_byte_rate": "1024"})
    write(znodes, "users/alice/clients/<default>", {"consumer_byte_rate": "2048"})
    acl = {"principal": "User:alice", "permissionType": "Allow", "operation": "Read", "host": "*"}
    znodes.create("/kafka-acl/Topic/orders", json.dumps({"version": 1, "acls": [acl]}).encode())
    znodes.create("/kafka-acl-changes/acl_changes_", b"TOPIC:orders", sequence=True)

    wanted = {
        ('{"client-id":"app 1"}', "producer_byte_rate", "1024"),
        ('{"client-id":null,"user":"alice"}', "consumer_byte_rate", "2048"),
        ("2:3:orders", '["User:alice","*",3,3]', ""),
    }
    until(lambda: set(outside(following)) == wanted, SOON)


def test_a_topic_created_and_grown_by_other_tools_is_known(beside: Admin, znodes: KazooClient) -> None:
    made = {"version": 3, "topic_id": "EBAQEBAQEBAQEBAQEBAQAQ", "partitions": {"0": [1]}}
    znodes.create("/config/topics/theirs", b'{"version":1,"config":{"retention.ms":"5"}}')
    znodes.create("/brokers/topics/theirs", json.dumps(made).encode())
    until(lambda: beside.describe((TOPIC, "theirs"))[0].error_code == 0, SOON)
    assert overrides(beside, "theirs") == {"retention.ms": "5"}

    znodes.set("/brokers/topics/theirs", json.dumps({**made, "partitions": {"0": [1], "1": [1]}}).encode())

    def partitions() -> int:
        found = {topic.name: topic for topic in beside.ask("Metadata", 12, topics=None).topics}
        return len(found["theirs"].partitions)

    until(lambda: partitions() == 2, SOON)


def test_an_external_change_is_journaled_once_by_all_servers(
    following: Admin, serve: Serve, znodes: KazooClient
) -> None:
    with Admin(serve(1002).bootstrap) as other:
        write(znodes, "topics/orders", {"retention.ms": "1"})
        until(lambda: overrides(following, "orders") == overrides(other, "orders") == {"retention.ms": "1"}, SOON)
        assert outside(following) == outside(other) == [("orders", "retention.ms", "1")]


def test_writes_of_kconf_are_not_external_changes(following: Admin, znodes: KazooClient) -> None:
    set_key(following, "orders", "1")
    following.alter((BROKER, ""), ("log.segment.bytes", SET, "1048577"))
    write(znodes, "topics/payments", {"retention.ms": "1"})
    until(lambda: overrides(following, "payments") == {"retention.ms": "1"}, SOON)

    assert outside(following) == [("payments", "retention.ms", "1")]


def test_a_restarted_server_reads_everything_without_notifications(serve: Serve, znodes: KazooClient) -> None:
    server = serve(1)
    server.stop()
    znodes.create("/config/clients/app", b'{"version":1,"config":{"producer_byte_rate":"1024"}}')
    notify(znodes, '"orders"')  # the format before KIP-21: old notifications are not read
    server.start()
    with Admin(server.bootstrap) as admin:
        (entry,) = admin.ask("DescribeClientQuotas", 1, components=[], strict=False).entries
        assert [(each.entity_type, each.entity_name) for each in entry.entity] == [("client-id", "app")]
        assert [(each.key, each.value) for each in entry.values] == [("producer_byte_rate", 1024.0)]
    assert "ignored notification" not in server.log()


def test_unknown_znodes_among_the_marks_are_ignored(serve: Serve, znodes: KazooClient) -> None:
    server = serve(1)
    server.stop()
    for name, data in (("a", b""), ("b", b"{}"), ("c", b'["x", 1]'), ("d", b"\xff"), ("e", b"[[null], 2]")):
        znodes.create(f"/kconf/marks/{name}", data)
    server.start()
    with Admin(server.bootstrap) as admin:
        assert codes(admin.create("orders")) == [0]
    assert server.log().count(": not a revision mark") == 5


def test_acls_that_brokers_cannot_read_are_reported(serve: Serve, znodes: KazooClient) -> None:
    server = serve(1001, properties=AUTHORIZER)
    znodes.create("/brokers/ids/1", json.dumps(DOCUMENT).encode(), ephemeral=True)
    with Admin(server.bootstrap) as admin:
        until(lambda: [each.node_id for each in admin.ask("Metadata", 12, topics=[]).brokers] == [1], SOON)
    with SyncAdminClient(server.bootstrap) as client:
        names = ("plain", "with/slash")
        client.create_acls(
            [AclBinding(AclType.GROUP, name, "User:a", Operation.READ) for name in names]
        ).raise_for_failures()

    (told,) = [line for line in server.log().splitlines() if "its ACLs apply on kconf only" in line]
    assert "with/slash" in told
