"""ZooKeeper goes down and comes back, and sessions expire: reads continue, writes are refused, nothing is lost."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient

from lab.zookeeper import ZooKeeper, expire
from tests.feed.reading import changes, metric, until
from tests.support.admin import SET, TOPIC, Admin, codes
from tests.support.process import KconfProcess
from tests.zookeeper.conftest import METRICS, Serve

SOON = 60.0
REQUEST_TIMED_OUT = 7


def health(server: KconfProcess) -> dict[str, Any]:
    assert server.metrics_url is not None
    with urllib.request.urlopen(server.metrics_url.replace("/metrics", "/health"), timeout=60) as answer:
        found: dict[str, Any] = json.loads(answer.read())
    return found


def overrides(admin: Admin, topic: str) -> dict[str, str] | None:
    (result,) = admin.describe((TOPIC, topic))
    if result.error_code:
        return None
    return {entry.name: entry.value for entry in result.configs if entry.config_source == 1}


@pytest.fixture
def own_zookeeper() -> Iterator[ZooKeeper]:
    with ZooKeeper() as server:
        yield server


def test_reads_continue_without_zookeeper_and_writes_are_refused_at_once(own_zookeeper: ZooKeeper) -> None:
    with (
        KconfProcess(store=own_zookeeper.url("/kafka"), args=METRICS) as server,
        Admin(server.bootstrap) as admin,
    ):
        admin.create("orders", configs={"retention.ms": "1000"})
        assert (health(server)["status"], metric(server, "kconf_store_reachable")) == ("ok", 1)
        own_zookeeper.kill()
        until(lambda: metric(server, "kconf_store_reachable") == 0, SOON)

        assert admin.alter((TOPIC, "orders"), ("segment.ms", SET, "1")).error_code == REQUEST_TIMED_OUT
        assert codes(admin.create("more")) == [REQUEST_TIMED_OUT]
        assert overrides(admin, "orders") == {"retention.ms": "1000"}
        assert health(server)["status"] == "stale"

        own_zookeeper.start()
        until(lambda: admin.alter((TOPIC, "orders"), ("segment.ms", SET, "2")).error_code == 0, SOON)
        assert overrides(admin, "orders") == {"retention.ms": "1000", "segment.ms": "2"}
        until(lambda: bool(health(server)["status"] == "ok"), SOON)


def test_a_server_whose_session_expired_registers_again_and_misses_no_change(
    serve: Serve, znodes: KazooClient, zookeeper: ZooKeeper
) -> None:
    one, other = serve(1), serve(2)
    with Admin(one.bootstrap) as first, Admin(other.bootstrap) as second:
        second.create("orders")
        session = znodes.exists("/kconf/servers/1").owner_session_id
        expire(zookeeper.address, session)
        second.alter((TOPIC, "orders"), ("segment.ms", SET, "1"))

        until(lambda: overrides(first, "orders") == {"segment.ms": "1"}, SOON)
        until(lambda: znodes.exists("/kconf/servers/1") is not None, SOON)
        assert znodes.exists("/kconf/servers/1").owner_session_id != session
        assert first.alter((TOPIC, "orders"), ("segment.ms", SET, "2")).error_code == 0
        until(lambda: overrides(second, "orders") == {"segment.ms": "2"}, SOON)
        assert changes(first, 0).revisions == changes(second, 0).revisions


def test_a_change_without_a_notification_is_found_after_a_session_expired(
    serve: Serve, znodes: KazooClient, zookeeper: ZooKeeper
) -> None:
    """Kafka's brokers miss such a change until they restart (a gap in KIP-21)."""
    server = serve(1)
    with Admin(server.bootstrap) as admin:
        admin.create("orders")
        znodes.set("/config/topics/orders", b'{"version":1,"config":{"retention.ms":"99"}}')
        znodes.create("/config/clients/app", b'{"version":1,"config":{"producer_byte_rate":"1024"}}')
        znodes.create("/config/clients/bad", b'{"version":1,"config":{"producer_byte_rate":"abc"}}')
        expire(zookeeper.address, znodes.exists("/kconf/servers/1").owner_session_id)

        until(lambda: overrides(admin, "orders") == {"retention.ms": "99"}, SOON)
        outside = [each for each in changes(admin, 1).revisions if each.origin == "outside"]
        lines = {(line.resource_name, line.key, line.after) for each in outside for line in each.changes}
        assert lines == {("orders", "retention.ms", "99"), ('{"client-id":"app"}', "producer_byte_rate", "1024")}
        until(lambda: metric(server, "kconf_store_faults") == 1, SOON)


def test_a_znode_that_another_tool_wrote_is_merged_and_not_overwritten(serve: Serve, znodes: KazooClient) -> None:
    with Admin(serve(1).bootstrap) as admin:
        admin.create("orders", configs={"retention.ms": "1000"})
        znodes.set("/config/topics/orders", b'{"version":1,"config":{"retention.ms":"1000","segment.ms":"5"}}')

        assert admin.alter((TOPIC, "orders"), ("flush.ms", SET, "7")).error_code == 0

        assert overrides(admin, "orders") == {"retention.ms": "1000", "segment.ms": "5", "flush.ms": "7"}
        assert [each.origin for each in changes(admin, 0).revisions] == ["kconf", "outside", "kconf"]
        written = json.loads(znodes.get("/config/topics/orders")[0])["config"]
        assert written == {"retention.ms": "1000", "segment.ms": "5", "flush.ms": "7"}


def test_changes_while_no_server_ran_are_journaled_at_the_next_start(serve: Serve, znodes: KazooClient) -> None:
    server = serve(1)
    with Admin(server.bootstrap) as admin:
        admin.create("orders", configs={"retention.ms": "1000", "segment.ms": "5"})
    server.stop()
    znodes.set("/config/topics/orders", b'{"version":1,"config":{"retention.ms":"2000"}}')
    server.start()
    with Admin(server.bootstrap) as admin:
        assert overrides(admin, "orders") == {"retention.ms": "2000"}
        (_, found) = changes(admin, 0).revisions
        assert found.origin == "outside"
        assert {(line.key, line.before, line.after) for line in found.changes} == {
            ("retention.ms", "1000", "2000"),
            ("segment.ms", "5", None),
        }
    server.stop()
    server.start()
    with Admin(server.bootstrap) as admin:
        assert len(changes(admin, 0).revisions) == 2


def test_no_server_starts_without_zookeeper() -> None:
    process = KconfProcess(store="zookeeper://127.0.0.1:1/kafka")
    with pytest.raises(RuntimeError, match=r"no ZooKeeper responds at 127\.0\.0\.1:1") as told:
        process.start()
    assert "Traceback" not in str(told.value)
