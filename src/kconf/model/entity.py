"""KIP-21's entities (type and name as strings), and configs to add and delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

_NOTHING: Mapping[str, str] = MappingProxyType({})


class ConfigEntity(NamedTuple):
    """A topic (`topic`, `topics`) or a client id (`client`, `clients`)."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


class EntityAlteration(NamedTuple):
    """Configs to add, and keys to delete (reset to their defaults)."""

    added: Mapping[str, str] = _NOTHING
    deleted: Sequence[str] = ()
