"""Registers ZooKeeper stores with registry.py."""

from __future__ import annotations

from kconf.store.base import Backend
from kconf.store.zookeeper.initialize import initialize
from kconf.store.zookeeper.readonly_store import ReadonlyZookeeperStore
from kconf.store.zookeeper.store import ZookeeperStore

BACKEND = Backend(
    open=ZookeeperStore.open,
    open_read_only=ReadonlyZookeeperStore.open,
    initialize=initialize,
    bounded_journal=True,
)
