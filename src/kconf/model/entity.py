"""KIP-21's entities: a type and a name as texts, and what is to be added and deleted."""

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
    """Configs to add, and keys to delete, which have their defaults again."""

    added: Mapping[str, str] = _NOTHING
    deleted: Sequence[str] = ()
