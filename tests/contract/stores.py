"""Every keeper that the contract is run on. A new one is one more line in KEEPERS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from kconf.model.snapshot import Snapshot
from kconf.store.base import Store, open_store
from kconf.store.memory import MemoryStore
from kconf.store.sqlite.store import SqliteStore
from kconf.store.zookeeper.store import ZookeeperStore
from lab.zookeeper import ZooKeeper

Opener = Callable[[], Store]
"""Opens the keeper in its place; again after `close`, where it is durable."""


def _memory(place: Path) -> Opener:
    return MemoryStore


def _sqlite(place: Path) -> Opener:
    return lambda: open_store(f"sqlite:///{place}/kconf.db")


class _Folding(SqliteStore):
    """Folds its journal into its state every few lines, not every thousand."""

    most_unfolded = 3


def _folding(place: Path) -> Opener:
    return lambda: _Folding.open(f"sqlite:///{place}/kconf.db")


@cache
def _server() -> ZooKeeper:
    """One for all stores of this process; it ends with the process."""
    server = ZooKeeper()
    server.start()
    return server


def _chroot(place: Path) -> str:
    return f"{_server().url()}/contract/{place.name}-{abs(hash(place))}"


def _zookeeper(place: Path) -> Opener:
    return lambda: open_store(_chroot(place))


class _Rereading(ZookeeperStore):
    """Reads all znodes again, where the others believe what they remember."""

    def load(self) -> Snapshot:
        self._begin()
        return super().load()


def _rereading(place: Path) -> Opener:
    return lambda: _Rereading.open(_chroot(place))


KEEPERS: Mapping[str, Callable[[Path], Opener]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "folding": _folding,
    "zookeeper": _zookeeper,
    "rereading": _rereading,
}
DURABLE = tuple(name for name in KEEPERS if name != "memory")
