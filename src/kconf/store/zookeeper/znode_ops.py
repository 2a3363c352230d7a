"""The operations of a commit, as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from kconf.model.snapshot import Snapshot

ANY_VERSION: Final = -1


class ZnodeOp(NamedTuple):
    """One operation of a multi. `create_sequential` appends a number to the path."""

    kind: Literal["create", "set", "delete", "check", "create_sequential"]
    path: str
    data: bytes = b""
    version: int = ANY_VERSION


@dataclass(slots=True)
class ZnodeWrites:
    """The operations of one commit, and what they change in the znode cache."""

    snapshot: Snapshot  # the state after the commit
    ops: list[ZnodeOp] = field(default_factory=list)
    versions: dict[str, int | None] = field(default_factory=dict)  # znode versions after the commit; None if deleted
    marked: set[str] = field(default_factory=set)
    unmarked: set[str] = field(default_factory=set)
    notifications: Sequence[str] = ()  # the paths that ZooKeeper returned

    @property
    def notified(self) -> Mapping[str, int]:
        """The number of notifications that the commit creates in each directory."""
        return Counter(op.path.rpartition("/")[0] for op in self.ops if op.kind == "create_sequential")

    @property
    def size(self) -> int:
        return sum(len(op.path.encode()) + len(op.data) + 64 for op in self.ops)
