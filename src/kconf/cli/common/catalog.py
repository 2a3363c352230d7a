"""What the catalog knows of a key: how it may be changed, and everything that `explain` tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.configdef.key import ConfigKey
    from kconf.model.entry import Entry
    from kconf.model.resource import Resource


def known_key(kind: ResourceType, name: str) -> ConfigKey | None:
    """The definition of a key; for brokers also of one with a listener's name before it."""
    from kconf.cli.common.units import keys_for

    keys = keys_for(kind)
    if kind is ResourceType.BROKER and name.startswith("listener.name."):
        from kconf.configdef.dynamic import base_name

        return keys.get(base_name(name))
    return keys.get(name)


def update_mode(resource: Resource, entry: Entry) -> str:
    """`read-only`, `per-broker`, `cluster-wide`, or `dynamic` where there is no such distinction.

    From the catalog: the wire calls every key of another broker read-only, and some that can be changed.
    """
    if resource.type is not ResourceType.BROKER:
        return "read-only" if entry.read_only else "dynamic"
    key = known_key(ResourceType.BROKER, entry.name)
    if key is None or key.mode is None:
        return "read-only" if entry.read_only else "dynamic"
    return str(key.mode)
