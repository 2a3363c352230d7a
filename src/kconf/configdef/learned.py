"""Config keys that kconf does not know from any release, read from the brokers behind a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.configdef.key import ConfigKey

_learned: Mapping[ResourceType, Mapping[str, ConfigKey]] = {}


def learned_key(kind: ResourceType, name: str) -> ConfigKey | None:
    """The definition of a key that is in no release that kconf knows."""
    keys = _learned.get(kind)
    return None if keys is None else keys.get(name)


def learn_keys(keys: Mapping[ResourceType, Mapping[str, ConfigKey]]) -> None:
    """Replace all learned keys at once, since other threads read them: a missing key would be hidden as sensitive."""
    global _learned
    _learned = dict(keys)
