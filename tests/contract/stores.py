"""The stores that the contract tests run on. A new store is a line in STORES and, if it is durable, one in STORED."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from kconf.model.snapshot import Snapshot
from kconf.store.base import Store
from kconf.store.memory import MemoryStore
from kconf.store.registry import open_store
from kconf.store.sqlite.store import SqliteStore
from kconf.store.zookeeper.store import ZookeeperStore
from lab.zookeeper import ZooKeeper
from tests.support.znodes import readable_znodes

Opener = Callable[[], Store]
"""Opens a store in its directory; a durable one again after `close`."""


def _memory(directory: Path) -> Opener:
    return MemoryStore


def _sqlite(directory: Path) -> Opener:
    return lambda: open_store(f"sqlite:///{directory}/kconf.db")


class _Folding(SqliteStore):
    """Merges its journal into its state every few changes instead of every two thousand."""

    max_unfolded = 3


def _folding(directory: Path) -> Opener:
    return lambda: _Folding.open(f"sqlite:///{directory}/kconf.db")


@cache
def _server() -> ZooKeeper:
    """One ZooKeeper for all stores of this process."""
    server = ZooKeeper()
    server.start()
    return server


def _path(directory: Path) -> str:
    return f"/contract/{directory.name}-{abs(hash(directory))}"


def _chroot(directory: Path) -> str:
    return f"{_server().url()}{_path(directory)}"


def _files_but_keys(directory: Path) -> bytes:
    """The contents of all files, except for the key file."""
    return b"".join(each.read_bytes() for each in directory.rglob("*") if each.is_file() and each.suffix != ".key")


def _znodes(directory: Path) -> bytes:
    return b"".join(data for _, data in readable_znodes(_server(), _path(directory)))


def _zookeeper(directory: Path) -> Opener:
    return lambda: open_store(_chroot(directory))


class _Rereading(ZookeeperStore):
    """Reads all znodes at every load, instead of using its cache."""

    def load(self) -> Snapshot:
        self._load_tree()
        return super().load()


def _rereading(directory: Path) -> Opener:
    return lambda: _Rereading.open(_chroot(directory))


STORES: Mapping[str, Callable[[Path], Opener]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "folding": _folding,
    "zookeeper": _zookeeper,
    "rereading": _rereading,
}
DURABLE_STORES = tuple(name for name in STORES if name != "memory")
STORED: Mapping[str, Callable[[Path], bytes]] = {
    "sqlite": _files_but_keys,
    "folding": _files_but_keys,
    "zookeeper": _znodes,
    "rereading": _znodes,
}
"""What a durable store in a directory has stored, as somebody who copies it reads it."""
