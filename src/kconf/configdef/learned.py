"""Keys that only the cluster of this process has: a gateway has one cluster, and learns its keys from the brokers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.configdef.key import ConfigKey

_learned: dict[ResourceType, Mapping[str, ConfigKey]] = {}


def learned_key(kind: ResourceType, name: str) -> ConfigKey | None:
    """The definition of a key that no release which kconf knows has."""
    return _learned[kind].get(name) if kind in _learned else None


def learn_keys(keys: Mapping[ResourceType, Mapping[str, ConfigKey]]) -> None:
    """Replace the keys that were learned before."""
    _learned.clear()
    _learned.update(keys)
