"""Reads config keys of the brokers that are not in kconf's catalog: keys of a newer release or of a vendor.

Their definition comes from the brokers: type, default, synonyms and documentation. Only the brokers validate their
values. A key that was read before its definition was known remains unknown, because its value was not stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from logging import getLogger
from typing import Final

from kconf.client.admin_sync import SyncAdminClient
from kconf.configdef.catalog import Catalog
from kconf.configdef.key import BrokerFallback, ConfigDef, ConfigKey, UpdateMode
from kconf.errors import KafkaError
from kconf.model.entry import Entry, Source, ValueType
from kconf.model.resource import Resource, ResourceType

log = getLogger(__name__)

OtherKeys = Mapping[ResourceType, ConfigDef]
NO_OTHER_KEYS: Final[OtherKeys] = {}
_LISTENER_PREFIX: Final = "listener.name."
_A_GROUP: Final = Resource(ResourceType.GROUP, "kconf-probe")  # all groups have the same keys


def read_other_keys(
    client: SyncAdminClient,
    broker: Resource,
    catalog: Catalog,
    *,
    is_exact: bool,
    hidden: Collection[tuple[ResourceType, str]] = (),
    timeout: float | None = None,
) -> OtherKeys:
    """Read the additional keys.

    `is_exact`: the brokers report exactly the catalog's release. The values of `hidden` keys are not stored. Topics are
    described only if the release differs or the brokers have additional keys.
    """
    found = _other(client, broker, catalog, timeout)
    if found or not is_exact:
        for resource in _samples(client, timeout):
            found |= _other(client, resource, catalog, timeout)
    known = {
        kind: {name: key for name, key in keys.items() if (kind, name) not in hidden} for kind, keys in found.items()
    }
    return {kind: keys for kind, keys in known.items() if keys}


def _samples(client: SyncAdminClient, timeout: float | None) -> Iterator[Resource]:
    """The resources to describe: a topic, if there is one, and a group."""
    name = min(client.list_topics(internal=True, timeout=timeout), default=None)
    if name is not None:
        yield Resource.topic(name)
    yield _A_GROUP


def _other(
    client: SyncAdminClient, resource: Resource, catalog: Catalog, timeout: float | None
) -> dict[ResourceType, dict[str, ConfigKey]]:
    try:
        view = client.describe_configs([resource], synonyms=True, documentation=True, timeout=timeout)[resource]
    except KafkaError as error:
        log.debug("cannot read the keys of %s: %s", resource, error)
        return {}
    defined = catalog.of(resource.type)
    keys = {each.name: _key(resource.type, each) for each in view.entries if _is_other(each, defined)}
    return {resource.type: keys} if keys else {}


def _is_other(entry: Entry, defined: ConfigDef) -> bool:
    """Whether the brokers define a key that is unknown or incomplete in the catalog.

    Undefined keys have no type. A key with a listener prefix is a value of another key, shown while it is set.
    """
    if entry.name.startswith(_LISTENER_PREFIX):
        return False
    known = defined.get(entry.name)
    return entry.type is not ValueType.UNKNOWN and (known is None or known.type is ValueType.UNKNOWN)


def _key(kind: ResourceType, entry: Entry) -> ConfigKey:
    return ConfigKey(
        name=entry.name,
        type=entry.type,
        default=_default(entry),
        mode=_mode(entry) if kind is ResourceType.BROKER else None,
        fallbacks=() if kind is ResourceType.BROKER else _fallbacks(entry),
        secret=entry.sensitive,
        about=entry.documentation or "",
    )


def _default(entry: Entry) -> str | None:
    for synonym in entry.synonyms:
        if synonym.source is Source.DEFAULT:
            return synonym.value
    return entry.value if entry.source is Source.DEFAULT else None


def _mode(entry: Entry) -> UpdateMode:
    """The update mode. The brokers decide whether the key can be set cluster-wide."""
    return UpdateMode.READ_ONLY if entry.read_only else UpdateMode.CLUSTER_WIDE


def _fallbacks(entry: Entry) -> tuple[BrokerFallback, ...]:
    """The broker keys from which a value is inherited. Empty if one has another unit, since its factor is unknown."""
    inherited = [each for each in entry.synonyms if each.name != entry.name]
    if inherited and entry.source is inherited[0].source and entry.value != inherited[0].value:
        return ()
    return tuple(map(BrokerFallback, dict.fromkeys(each.name for each in inherited)))
