"""Looks up the definition of a key in any supported Kafka release, and how the key can be changed.

Only the tables of the requested resource type are loaded: a command about topics does not load 300 broker keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from kconf.configdef.learned import learned_key
from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.configdef.key import ConfigKey
    from kconf.model.entry import Entry
    from kconf.model.resource import Resource


@cache
def keys_for(kind: ResourceType) -> Mapping[str, ConfigKey]:
    """The keys of a resource type, including those that exist only in older releases."""
    match kind:
        case ResourceType.TOPIC:
            from kconf.configdef.topic import TOPIC, TOPIC_REMOVED

            return {**TOPIC_REMOVED, **TOPIC}
        case ResourceType.BROKER:
            from kconf.configdef.broker import BROKER, BROKER_REMOVED

            return {**BROKER_REMOVED, **BROKER}
        case ResourceType.GROUP:
            from kconf.configdef.group import GROUP

            return GROUP
        case ResourceType.CLIENT_METRICS:
            from kconf.configdef.client_metrics import CLIENT_METRICS

            return CLIENT_METRICS
        case ResourceType.QUOTA:
            from kconf.configdef.quota import IP_QUOTA, USER_QUOTA

            return {**USER_QUOTA, **IP_QUOTA}
        case _:
            return {}


def known_key(kind: ResourceType, name: str) -> ConfigKey | None:
    """The definition of a key. A broker key may have a listener prefix, `listener.name.<listener>.`.

    For a key that exists only after the base release, this is the part of its definition that is known.
    """
    if kind is ResourceType.BROKER and name.startswith("listener.name."):
        from kconf.configdef.dynamic import base_name

        name = base_name(name)
    found = keys_for(kind).get(name)
    if found is None:
        found = learned_key(kind, name)
    return found if found is not None else _newer_key(kind, name)


def release_key(kind: ResourceType, name: str, release: str) -> ConfigKey | None:
    """The definition of a key in a release, or in another one. None if no known release has it."""
    from kconf.configdef.releases.keys import key_in_release

    return key_in_release(kind, name, release) or known_key(kind, name)


def _newer_key(kind: ResourceType, name: str) -> ConfigKey | None:
    from kconf.configdef.releases.history import newer_keys

    return newer_keys(kind).get(name)


def similar_key(kind: ResourceType, name: str) -> str | None:
    """A suggestion for an unknown key: the key that falls back to it, or one with a similar name."""
    from difflib import get_close_matches

    keys = keys_for(kind)
    inheriting = [each for each, key in keys.items() if any(one.name == name for one in key.fallbacks)]
    near = inheriting or get_close_matches(name, keys, 1, 0.8)
    return near[0] if near else None


def update_mode(resource: Resource, entry: Entry) -> str:
    """`read-only`, `per-broker` or `cluster-wide`; `dynamic` for other resource types.

    Taken from the catalog, since a broker reports every key of another broker as read-only, and some dynamic keys too.
    """
    if resource.type is not ResourceType.BROKER:
        return "read-only" if entry.read_only else "dynamic"
    key = known_key(ResourceType.BROKER, entry.name)
    if key is None or key.mode is None:
        return "read-only" if entry.read_only else "dynamic"
    return str(key.mode)
