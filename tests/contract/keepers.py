"""Every keeper that the contract is run on. A new one is one more line in KEEPERS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from kconf.store.base import Store, open_store
from kconf.store.memory import MemoryStore
from kconf.store.sqlite import SqliteStore

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


KEEPERS: Mapping[str, Callable[[Path], Opener]] = {"memory": _memory, "sqlite": _sqlite, "folding": _folding}
DURABLE = tuple(name for name in KEEPERS if name != "memory")
