"""Config keys that kconf does not know from any release, read from the brokers behind a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.configdef.key import ConfigKey

_learned: dict[ResourceType, Mapping[str, ConfigKey]] = {}


def learned_key(kind: ResourceType, name: str) -> ConfigKey | None:
    """The definition of a key that is not in any known release."""
    return _learned[kind].get(name) if kind in _learned else None


def learn_keys(keys: Mapping[ResourceType, Mapping[str, ConfigKey]]) -> None:
    """Replace the previous keys."""
    _learned.clear()
    _learned.update(keys)
