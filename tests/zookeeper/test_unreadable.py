"""Unreadable znodes of other tools never remove the previous config: not now, and not after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest
from kazoo.client import KazooClient

from kconf import Resource, ResourceType
from kconf.model.quota import QuotaEntity
from kconf.store.registry import open_store
from kconf.store.zookeeper.readonly_store import ReadonlyZookeeperStore
from kconf.store.zookeeper.store import ZookeeperStore
from tests.contract.changes import pending, put
from tests.feed.reading import until

APP = QuotaEntity.of({"client-id": "app"}).resource
BROKER = Resource.broker(7)
ALICE = Resource(ResourceType.SCRAM, "alice")
CREDENTIAL = "salt=c2FsdA==,stored_key=a2V5,server_key=a2V5,iterations=4096"
SOON = 60.0


@pytest.fixture
def store(zookeeper_url: str) -> Iterator[ZookeeperStore]:
    with_quota = ZookeeperStore.open(zookeeper_url)
    with_quota.commit([pending(put(APP, "producer_byte_rate", "1024"), put(APP, "consumer_byte_rate", "2048"))])
    yield with_quota
    with_quota.close()


def write(znodes: KazooClient, path: str, data: str) -> None:
    """Write like Kafka's tools: the data first, then the notification."""
    znodes.ensure_path(f"/config/{path}")
    znodes.set(f"/config/{path}", data.encode())
    notification = json.dumps({"version": 2, "entity_path": path}).encode()
    znodes.create("/config/changes/config_change_", notification, sequence=True)


def document(**config: object) -> str:
    return json.dumps({"version": 1, "config": config})


def overrides(url: str, resource: Resource) -> Mapping[str, str]:
    """The overrides that a starting server reads."""
    store = open_store(url)
    try:
        return store.load().overrides(resource)
    finally:
        store.close()


def test_numbers_are_read_as_the_proposal_writes_them(
    store: ZookeeperStore, znodes: KazooClient, zookeeper_url: str
) -> None:
    write(
        znodes, "clients/app", '{"version" : 1, "config" : {"producer_byte_rate" : 1000, "consumer_byte_rate" : 2e3}}'
    )
    write(znodes, "topics/none", document(**{"retention.ms": 5, "preallocate": True}))
    until(lambda: store.load().overrides(APP) == {"producer_byte_rate": "1000", "consumer_byte_rate": "2000"}, SOON)

    assert store.load().overrides(Resource.topic("none")) == {"retention.ms": "5", "preallocate": "true"}
    assert store.faults == 0
    assert overrides(zookeeper_url, APP) == {"producer_byte_rate": "1000", "consumer_byte_rate": "2000"}


def test_a_json_number_is_reported_if_a_broker_could_not_read_it(store: ZookeeperStore, znodes: KazooClient) -> None:
    endpoint = {"endpoints": ["PLAINTEXT://127.0.0.1:1"], "host": "127.0.0.1", "port": 1, "version": 5}
    znodes.create("/brokers/ids/1", json.dumps(endpoint).encode(), ephemeral=True)
    write(znodes, "clients/app", document(producer_byte_rate=1000))
    until(lambda: store.load().overrides(APP) == {"producer_byte_rate": "1000"}, SOON)

    until(lambda: store.load() is not None and store.faults == 1, SOON)
    assert store.unreadable == ["/config/clients/app producer_byte_rate: its value is not a string"]


@pytest.mark.parametrize(
    "data",
    [
        document(producer_byte_rate=None, consumer_byte_rate="4096"),
        document(producer_byte_rate=["1"], consumer_byte_rate="4096"),
        document(producer_byte_rate="fast", consumer_byte_rate=4096),
        document(producer_byte_rate=1000.5, consumer_byte_rate=4096.0),
        '{"version":1,"config":{"producer_byte_rate":NaN,"consumer_byte_rate":4096}}',
    ],
)
def test_an_unreadable_value_does_not_replace_the_current_one(
    store: ZookeeperStore, znodes: KazooClient, zookeeper_url: str, data: str
) -> None:
    other = ZookeeperStore.open(zookeeper_url)
    wanted = {"producer_byte_rate": "1024", "consumer_byte_rate": "4096"}
    write(znodes, "clients/app", data)

    until(lambda: store.load().overrides(APP) == wanted, SOON)
    until(lambda: other.load().overrides(APP) == wanted, SOON)
    until(lambda: (store.load(), other.load(), store.faults, other.faults)[2:] == (1, 1), SOON)
    assert overrides(zookeeper_url, APP) == wanted
    read_only = ReadonlyZookeeperStore.open(zookeeper_url)
    assert read_only.load().overrides(APP) == wanted
    for each in (other, read_only):
        each.close()


@pytest.mark.parametrize("data", ["not JSON", "[1]", '{"version":1,"config":[]}', '{"version":1,"config":7}'])
def test_an_unreadable_document_changes_no_quota(
    store: ZookeeperStore, znodes: KazooClient, zookeeper_url: str, data: str
) -> None:
    write(znodes, "clients/app", data)
    until(lambda: store.load() is not None and store.faults == 1, SOON)

    assert store.load().overrides(APP) == {"producer_byte_rate": "1024", "consumer_byte_rate": "2048"}
    assert overrides(zookeeper_url, APP) == {"producer_byte_rate": "1024", "consumer_byte_rate": "2048"}


def test_a_document_without_a_key_removes_the_key(store: ZookeeperStore, znodes: KazooClient) -> None:
    write(znodes, "clients/app", document(producer_byte_rate="bad"))
    until(lambda: store.load().overrides(APP) == {"producer_byte_rate": "1024"}, SOON)
    write(znodes, "clients/app", document())
    until(lambda: store.load().overrides(APP) == {}, SOON)

    assert store.faults == 0


def test_the_next_write_of_kconf_repairs_an_unreadable_value(
    store: ZookeeperStore, znodes: KazooClient, zookeeper_url: str
) -> None:
    write(znodes, "clients/app", document(producer_byte_rate="bad"))
    until(lambda: store.load() is not None and store.faults == 1, SOON)
    store.commit([pending(put(APP, "request_percentage", "50"))])

    written = json.loads(znodes.get("/config/clients/app")[0])["config"]
    assert written == {"producer_byte_rate": "1024", "request_percentage": "50"}
    assert store.faults == 0
    assert overrides(zookeeper_url, APP) == written
    assert znodes.get_children("/kconf/marks") == []


def test_writes_while_no_server_ran_do_not_change_the_journal(
    store: ZookeeperStore, znodes: KazooClient, zookeeper_url: str
) -> None:
    store.close()
    znodes.set("/config/clients/app", document(producer_byte_rate="bad", consumer_byte_rate="4096").encode())

    wanted = {"producer_byte_rate": "1024", "consumer_byte_rate": "4096"}
    assert overrides(zookeeper_url, APP) == wanted
    assert overrides(zookeeper_url, APP) == wanted


def test_an_unreadable_secret_does_not_replace_the_current_one(
    store: ZookeeperStore, znodes: KazooClient, zookeeper_url: str
) -> None:
    store.commit([pending(put(BROKER, "ssl.key.password", "hidden-password", sensitive=True))])
    store.commit([pending(put(ALICE, "SCRAM-SHA-256", CREDENTIAL, sensitive=True))])
    write(znodes, "brokers/7", document(**{"ssl.key.password": "what is this"}))
    write(znodes, "users/alice", document(**{"SCRAM-SHA-256": "what is this", "producer_byte_rate": "1"}))
    until(lambda: store.load() is not None and store.faults == 2, SOON)

    assert overrides(zookeeper_url, BROKER) == {"ssl.key.password": "hidden-password"}
    assert overrides(zookeeper_url, ALICE) == {"SCRAM-SHA-256": CREDENTIAL}
    assert overrides(zookeeper_url, QuotaEntity.of({"user": "alice"}).resource) == {"producer_byte_rate": "1"}
    marks = b"".join(znodes.get(f"/kconf/marks/{name}")[0] for name in znodes.get_children("/kconf/marks"))
    assert b"hidden-password" not in marks


def test_an_unreadable_value_is_logged_once(
    store: ZookeeperStore, znodes: KazooClient, caplog: pytest.LogCaptureFixture
) -> None:
    for rate in ("1", "2", "3"):
        write(znodes, "clients/app", document(producer_byte_rate="bad", consumer_byte_rate=rate))
        until(lambda rate=rate: store.load().overrides(APP).get("consumer_byte_rate") == rate, SOON)  # type: ignore[misc]

    logged = [each.message for each in caplog.records if "cannot read" in each.message]
    assert len(logged) == 1
    assert "/config/clients/app producer_byte_rate: its value is not a number" in logged[0]
    assert "bad" not in logged[0]


def test_a_topic_whose_partitions_cannot_be_read_is_not_deleted(store: ZookeeperStore, znodes: KazooClient) -> None:
    endpoint = {"endpoints": ["PLAINTEXT://127.0.0.1:1"], "host": "127.0.0.1", "port": 1, "version": 5}
    znodes.create("/brokers/ids/1", json.dumps(endpoint).encode(), ephemeral=True)
    made = {"version": 3, "topic_id": "EBAQEBAQEBAQEBAQEBAQAQ", "partitions": {"0": [1]}}
    znodes.create("/brokers/topics/orders", json.dumps(made).encode())
    until(lambda: "orders" in store.load().topics, SOON)
    znodes.set("/brokers/topics/orders", b"garbage")
    until(lambda: store.load() is not None and store.faults == 1, SOON)

    assert "orders" in store.load().topics
