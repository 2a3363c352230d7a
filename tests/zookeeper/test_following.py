"""Every server shows what another one commits: state, change feed, quotas, credentials, ACLs."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kazoo.client import KazooClient

from kconf.protocol.messages.alter_config import AddedConfigEntry, AlteredEntity
from kconf.protocol.messages.alter_quotas import AlteredQuotaResource, WantedQuota
from kconf.protocol.messages.describe_config import DescribedEntity
from kconf.protocol.messages.describe_quotas import DescribedQuotaResource, QuotaResource
from lab.zookeeper import ZooKeeper
from tests.feed.reading import changes, revision_of, set_key, until
from tests.support.admin import APPEND, BROKER, SET, TOPIC, Admin, codes
from tests.zookeeper.conftest import Serve

SOON = 60.0


def overrides(admin: Admin, topic: str) -> dict[str, str] | None:
    (result,) = admin.describe((TOPIC, topic))
    if result.error_code:
        return None
    return {entry.name: entry.value for entry in result.configs if entry.config_source == 1}


def test_a_change_is_seen_on_every_server(two: tuple[Admin, Admin]) -> None:
    one, other = two
    assert codes(one.create("orders", configs={"retention.ms": "1000"})) == [0]
    until(lambda: overrides(other, "orders") == {"retention.ms": "1000"}, SOON)

    other.alter((TOPIC, "orders"), ("segment.ms", SET, "77"))
    until(lambda: overrides(one, "orders") == {"retention.ms": "1000", "segment.ms": "77"}, SOON)

    assert codes(one.delete("orders")) == [0]
    until(lambda: overrides(other, "orders") is None, SOON)


def test_the_requests_of_the_proposals_can_be_sent_to_any_server(two: tuple[Admin, Admin]) -> None:
    """The requests of KIP-21, KIP-133 and KIP-248: one server alters, the other one describes."""
    one, other = two
    one.create("orders")
    until(lambda: overrides(other, "orders") == {}, SOON)

    requested = AlteredEntity("topic", "orders", [AddedConfigEntry("segment.ms", "5")], [])
    assert codes(other.ask("AlterConfig", 0, entities=[requested]).entities) == [0]

    def described() -> dict[str, str]:
        (found,) = one.ask("DescribeConfig", 0, entities=[DescribedEntity("topic", "orders")]).entities
        return {each.config_key: each.config_value for each in found.config_entries}

    until(lambda: described() == {"segment.ms": "5"}, SOON)
    assert codes(other.replace([((TOPIC, "orders"), {"flush.ms": "6"})])) == [0]
    until(lambda: overrides(one, "orders") == {"flush.ms": "6"}, SOON)

    alice = [QuotaResource(5, "alice")]
    quotas = [AlteredQuotaResource(alice, [WantedQuota(0, 1024.0)])]
    assert codes(other.ask("AlterQuotas", 0, validate_only=False, resources=quotas).resources[0].quotas) == [0]

    def rates() -> list[float]:
        (found,) = one.ask("DescribeQuotas", 0, resources=[DescribedQuotaResource(alice)]).resources
        return [each.quota_value for each in found.quotas]

    until(lambda: rates() == [1024.0], SOON)


def test_only_notifications_are_watched_and_not_the_znodes_of_entities(
    serve: Serve, zookeeper: ZooKeeper, chroot: str
) -> None:
    """As KIP-21 requires."""
    with Admin(serve(1).bootstrap) as admin:
        admin.create("orders", "payments", configs={"segment.ms": "5"})
        admin.alter((BROKER, ""), ("log.segment.bytes", SET, "1048577"))

        def watched() -> set[str]:
            lines = zookeeper.ask("wchp").splitlines()
            return {line for line in lines if line.startswith(f"{chroot}/config/")}

        until(lambda: watched() != set(), SOON)
        assert {path.rpartition("/")[0] for path in watched()} == {f"{chroot}/config/changes"}


def test_the_feed_of_every_server_is_the_same(two: tuple[Admin, Admin]) -> None:
    one, other = two
    one.create("orders")
    other_sees = changes(other, 0, wait=20_000)
    assert [each.revision for each in other_sees.revisions] == [1]

    set_key(other, "orders", "1")
    set_key(one, "orders", "2")
    until(lambda: revision_of(one, (TOPIC, "orders")) == revision_of(other, (TOPIC, "orders")) == 3, SOON)

    assert changes(one, 0).revisions == changes(other, 0).revisions


def test_a_reader_that_waits_on_another_server_is_woken(two: tuple[Admin, Admin]) -> None:
    one, other = two
    one.create("orders")
    until(lambda: overrides(other, "orders") is not None, SOON)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(changes, other, 1, wait=240_000)
        set_key(one, "orders", "5")
        (found,) = waiting.result(60).revisions

    assert (found.revision, [line.after for line in found.changes]) == (2, ["5"])


def test_no_update_is_lost_between_servers(two: tuple[Admin, Admin]) -> None:
    """KIP-339's APPEND is read-modify-write inside a server; here two servers append to the same list concurrently."""
    one, other = two
    one.create("orders")
    until(lambda: overrides(other, "orders") is not None, SOON)
    key, requests = "follower.replication.throttled.replicas", [f"{n}:1" for n in range(60)]

    def append(admin: Admin, mine: list[str]) -> list[int]:
        return [admin.alter((TOPIC, "orders"), (key, APPEND, requested)).error_code for requested in mine]

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(append, two, (requests[::2], requests[1::2])))

    assert answers == [[0] * 30, [0] * 30]
    until(lambda: overrides(one, "orders") == overrides(other, "orders"), SOON)
    assert sorted((overrides(one, "orders") or {})[key].split(",")) == sorted(requests)
    assert revision_of(one, (TOPIC, "orders")) == 61


def test_compare_and_set_has_one_winner_among_servers(two: tuple[Admin, Admin]) -> None:
    one, other = two
    one.create("orders")
    until(lambda: overrides(other, "orders") is not None, SOON)

    def race(turn: int) -> list[int]:
        seen = max(revision_of(each, (TOPIC, "orders")) for each in two)
        until(lambda: all(revision_of(each, (TOPIC, "orders")) == seen for each in two), SOON)
        with ThreadPoolExecutor(2) as pool:
            return sorted(
                pool.map(lambda pair: set_key(pair[1], "orders", f"{turn}{pair[0]}", expected=seen), enumerate(two, 1))
            )

    assert [race(turn) for turn in range(10)] == [[0, 95]] * 10


def test_topics_on_every_server_inherit_broker_defaults(two: tuple[Admin, Admin]) -> None:
    one, other = two
    one.create("orders")
    assert one.alter((BROKER, ""), ("log.segment.bytes", SET, "1048576")).error_code == 0

    def inherited() -> Any:
        return other.entries((TOPIC, "orders"))["segment.bytes"]

    until(lambda: overrides(other, "orders") is not None, SOON)
    until(lambda: bool(inherited().value == "1048576"), SOON)
    assert inherited().config_source == 3


def test_a_restarted_server_has_its_configs_and_journal(serve: Serve) -> None:
    server = serve(1)
    with Admin(server.bootstrap) as admin:
        admin.create("orders", configs={"retention.ms": "1000"})
        admin.alter((BROKER, "1"), ("ssl.keystore.password", SET, "hidden-password"))
        before = changes(admin, 0).revisions
    server.kill()
    server.start()
    with Admin(server.bootstrap) as admin:
        assert overrides(admin, "orders") == {"retention.ms": "1000"}
        assert changes(admin, 0).revisions == before


def test_znodes_have_the_format_of_kafka(serve: Serve, znodes: KazooClient) -> None:
    with Admin(serve(1).bootstrap) as admin:
        admin.create("orders", partitions=2, configs={"retention.ms": "1000"})
        admin.alter((TOPIC, "orders"), ("segment.ms", SET, "77"))

    config = json.loads(znodes.get("/config/topics/orders")[0])
    assert (config["version"], config["config"]) == (1, {"retention.ms": "1000", "segment.ms": "77"})
    topic = json.loads(znodes.get("/brokers/topics/orders")[0])
    assert (topic["version"], topic["partitions"]) == (3, {"0": [1], "1": [1]})
    (notice,) = znodes.get_children("/config/changes")
    told = json.loads(znodes.get(f"/config/changes/{notice}")[0])
    assert (told["version"], told["entity_path"]) == (2, "topics/orders")
    assert znodes.get_children("/brokers/ids") == []
