"""The purge of notifications in ZooKeeper: which ones, when, and only after every live server has read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient

from kconf.configdef.server_settings import NOTIFICATION_RETENTION, int_setting
from kconf.model.membership import ClusterMember
from kconf.store.registry import open_store
from kconf.store.zookeeper import notification_purger
from kconf.store.zookeeper.notification_purger import NotificationPurger
from kconf.store.zookeeper.store import ZookeeperStore
from tests.feed.reading import set_key, until
from tests.support.admin import Admin
from tests.support.process import KconfProcess
from tests.zookeeper.conftest import Serve
from tests.zookeeper.test_notifications import notify, overrides, write

PASSED = {"/config/changes": 1_000_000}


def test_old_notifications_are_purged_including_those_of_other_tools(zookeeper_url: str, znodes: KazooClient) -> None:
    store = open_store(zookeeper_url)
    assert isinstance(store, ZookeeperStore)
    purger = NotificationPurger(store._session)
    own = [znodes.create("/config/changes/config_change_", b"{}", sequence=True) for _ in range(250)]
    purger.add(own)
    notify(znodes, '{"version":2,"entity_path":"topics/t"}')

    assert not purger.purge(3600, PASSED)
    assert len(znodes.get_children("/config/changes")) == 251
    znodes.delete(own[100])
    assert not purger.purge(0, PASSED)

    assert znodes.get_children("/config/changes") == []
    store.close()


def test_notifications_are_retained_for_15_minutes_by_default() -> None:
    assert int_setting({}, NOTIFICATION_RETENTION) == 15 * 60 * 1000 == 1000 * notification_purger.KAFKAS_RETENTION


def test_no_notification_is_purged_before_every_live_server_has_read_it(
    zookeeper_url: str, znodes: KazooClient
) -> None:
    store = open_store(zookeeper_url)
    assert isinstance(store, ZookeeperStore)
    purger = NotificationPurger(store._session)
    own = [znodes.create("/config/changes/config_change_", b"{}", sequence=True) for _ in range(4)]
    purger.add(own[:2])

    purger.purge(0, {"/config/changes": 1})
    left = sorted(znodes.get_children("/config/changes"))
    purger.purge(0, {"/config/changes": 3})

    assert left == [name.rpartition("/")[2] for name in own[1:]]
    assert [f"/config/changes/{name}" for name in znodes.get_children("/config/changes")] == own[3:]
    store.close()


def test_a_server_that_does_not_respond_delays_the_purge_until_its_session_ends(
    zookeeper_url: str, znodes: KazooClient
) -> None:
    """A server whose published position never changes."""
    store = open_store(zookeeper_url)
    assert isinstance(store, ZookeeperStore)
    store.join(ClusterMember(1, {}))
    znodes.create("/kconf/servers/2", b'{"version":1,"endpoints":{},"rack":null}', ephemeral=True)
    notify(znodes, '{"version":2,"entity_path":"topics/t"}')
    store.poll_remote()

    for _ in range(3):
        store.housekeep(notification_retention=0)
        store.poll_remote()
    held = znodes.get_children("/config/changes")
    znodes.delete("/kconf/servers/2")
    store.housekeep(notification_retention=0)

    assert len(held) == 1
    assert znodes.get_children("/config/changes") == []
    store.close()


def test_a_purge_of_many_notifications_is_done_in_parts(
    zookeeper_url: str, znodes: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store cannot commit or poll meanwhile, so old notifications are deleted in parts."""
    monkeypatch.setattr(notification_purger, "_MAX_PER_CALL", 300)
    store = open_store(zookeeper_url)
    assert isinstance(store, ZookeeperStore)
    purger, ask, asked = NotificationPurger(store._session), store._session.get_many, list[str]()

    def get_many(paths: Iterable[str]) -> Iterator[tuple[str, bytes, Any]]:
        named = list(paths)
        asked.extend(named)
        return ask(named)

    monkeypatch.setattr(store._session, "get_many", get_many)
    made = [znodes.create_async("/config/changes/config_change_", b"{}", sequence=True) for _ in range(700)]
    assert all(each.get(timeout=120) for each in made)

    assert not purger.purge(3600, PASSED)
    assert len(asked) == 1
    znodes.create("/config/changes/stray", b"{}")
    assert [purger.purge(0, PASSED) for _ in range(3)] == [True, True, False]
    assert znodes.get_children("/config/changes") == []
    store.close()


def test_a_server_alone_purges_notifications_after_the_configured_time(serve: Serve, znodes: KazooClient) -> None:
    """Also those of other tools: found at start, or read later."""
    znodes.create("/config/changes/config_change_", b'"orders"', sequence=True, makepath=True)
    server: KconfProcess = serve(1, properties={"zookeeper.notification.retention.ms": "1"})
    with Admin(server.bootstrap) as admin:
        admin.create("orders")
        set_key(admin, "orders", "1")
        write(znodes, "topics/orders", {"retention.ms": "2"})

        until(lambda: znodes.get_children("/config/changes") == [], 60.0)
        assert overrides(admin, "orders") == {"retention.ms": "2"}


def test_without_brokers_only_the_newest_own_notifications_are_retained(
    zookeeper_url: str, znodes: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notification_purger, "MAX_OWN", 3)
    store = open_store(zookeeper_url)
    assert isinstance(store, ZookeeperStore)
    purger = NotificationPurger(store._session)
    own = [znodes.create("/config/changes/config_change_", b"{}", sequence=True) for _ in range(8)]
    purger.add(own)

    purger.purge(3600, PASSED, bounded=False)
    with_brokers = len(znodes.get_children("/config/changes"))
    purger.purge(3600, PASSED, bounded=True)

    assert with_brokers == 8
    assert [f"/config/changes/{name}" for name in sorted(znodes.get_children("/config/changes"))] == own[5:]
    store.close()
