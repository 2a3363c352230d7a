"""The keys of one resource type in one release. Avoids loading the keys of other types."""

from __future__ import annotations

from kconf.configdef.dynamic import base_name
from kconf.configdef.key import ConfigDef, ConfigKey
from kconf.configdef.releases.data import BASE
from kconf.model.resource import ResourceType


def release_keys(kind: ResourceType, release: str) -> ConfigDef:
    """The keys of a resource type in a release."""
    if release != BASE:
        from kconf.configdef.releases.catalogs import catalog_of

        return catalog_of(release).of(kind)
    match kind:
        case ResourceType.TOPIC:
            from kconf.configdef.topic import TOPIC

            return TOPIC
        case ResourceType.GROUP:
            from kconf.configdef.group import GROUP

            return GROUP
        case _:
            from kconf.configdef.catalog import kafka_43

            return kafka_43().of(kind)


def key_in_release(kind: ResourceType, name: str, release: str) -> ConfigKey | None:
    """The definition of a key in a release. A broker key may have a listener prefix."""
    keys = release_keys(kind, release)
    found = keys.get(name)
    return found if found is not None or kind is not ResourceType.BROKER else keys.get(base_name(name))
