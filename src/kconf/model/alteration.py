"""A wish: what a caller would like to change. Nothing here has happened yet."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from kconf.model.resource import Resource


class OpType(IntEnum):
    """KIP-339's operations. The wire may bring other numbers: they fail their resource."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterConfigOp(NamedTuple):
    """One wish about one key."""

    op: int
    key: str
    value: str | None = None

    def __repr__(self) -> str:
        """Without the value: what is wished for may be a secret, and only its resource's keys could tell."""
        return f"Alteration(op={self.op!r}, key={self.key!r}, value={None if self.value is None else '[hidden]'})"


class ResourceAlterations(NamedTuple):
    """The wishes about one resource. They are granted together or not at all.

    Compare-and-set: with an `expected` revision they are refused if the resource has changed after it (-1: any).
    """

    resource: Resource
    alterations: Sequence[AlterConfigOp]
    expected: int = -1


class NewTopic(NamedTuple):
    """A topic to be made; -1 means the cluster's default, `assignment` maps partitions to broker ids."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignment: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Sequence[tuple[str, str | None]] = ()
