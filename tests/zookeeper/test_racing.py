"""Two stores on one ZooKeeper, step by step through the race conditions between them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest
from kazoo.client import KazooClient

from kconf.errors import RevisionConflict
from kconf.model.journal import Change
from kconf.model.resource import Resource
from kconf.store.zookeeper.external_changes import ExternalChanges, Retained
from kconf.store.zookeeper.store import ZookeeperStore
from tests.contract.changes import commit, pending, put, topic, turned
from tests.feed.reading import until

ORDERS = Resource.topic("orders")
SOON = 60.0
ZNODE = "/config/topics/orders"

Two = tuple[ZookeeperStore, ZookeeperStore]


@pytest.fixture
def stores(zookeeper_url: str) -> Iterator[Two]:
    """Two stores with a topic."""
    one = ZookeeperStore.open(zookeeper_url)
    other = ZookeeperStore.open(zookeeper_url)
    commit(one, turned(None, topic("orders")))
    until(lambda: other.load().revision == 1, SOON)
    yield one, other
    other.close()
    one.close()


def test_many_changes_of_one_znode_in_one_commit_count_as_one_version(stores: Two, znodes: KazooClient) -> None:
    """A store that counted more versions could later overwrite a concurrent change."""
    one, other = stores
    one.commit([pending(put(ORDERS, "segment.ms", str(number))) for number in (1, 2, 3)])
    until(lambda: other.load().revision == 4, SOON)

    there = znodes.get(ZNODE)[1].version
    assert [each._commit_log.cache.versions[ZNODE] for each in stores] == [there, there]


def test_a_plan_is_discarded_if_its_resource_changed_while_its_znode_was_compared(
    stores: Two, znodes: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another tool writes a znode. Before one store can record it, the other store commits a change."""
    one, other = stores
    seen = other.load().changed[ORDERS]
    znodes.set(ZNODE, json.dumps({"version": 1, "config": {"segment.ms": "4"}}).encode())
    real, overtaken = ExternalChanges._compare, list[int]()

    def compare(self: ExternalChanges, changed: Sequence[str]) -> tuple[list[Change], Retained]:
        found = real(self, changed)
        if self is other._external and not overtaken:
            overtaken.append(commit(one, put(ORDERS, "retention.ms", "5")).number)
        return found

    monkeypatch.setattr(ExternalChanges, "_compare", compare)
    (answer,) = other.commit([pending(put(ORDERS, "retention.ms", "6"), guards={ORDERS: seen})])

    assert overtaken
    assert isinstance(answer, RevisionConflict)
    until(lambda: one.load().revision == other.load().revision, SOON)
    assert [each.load().overrides(ORDERS) for each in stores] == [{"segment.ms": "4", "retention.ms": "5"}] * 2
    assert [each.number for each in other.changes(0)] == [1, 2, 3]


def test_external_writes_are_recorded_although_another_server_commits_first(
    zookeeper_url: str, stores: Two, znodes: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A starting server finds a foreign write; before it records it, another server commits something else."""
    one, _ = stores
    znodes.set(ZNODE, json.dumps({"version": 1, "config": {"segment.ms": "4"}}).encode())
    real, overtaken = ExternalChanges._append, list[int]()

    def append(
        self: ExternalChanges, changes: Sequence[Change], changed: Sequence[str], retained: Retained
    ) -> set[Resource] | None:
        if not overtaken:
            overtaken.append(commit(one, turned(None, topic("payments"))).number)
        return real(self, changes, changed, retained)

    monkeypatch.setattr(ExternalChanges, "_append", append)
    ZookeeperStore.open(zookeeper_url).close()

    until(lambda: one.load().revision == overtaken[0] + 1, SOON)
    told = [(each.origin, [line.after for line in each.changes]) for each in one.changes(overtaken[0])]
    assert told == [("outside", ["4"])]
