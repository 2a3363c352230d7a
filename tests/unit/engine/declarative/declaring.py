"""Helpers for tests of declarative files: a few invented keys, and hand-written cluster states."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from kconf.configdef.key import ConfigDef, ConfigKey
from kconf.engine.declarative.model import Declared
from kconf.engine.declarative.parser import read_declared
from kconf.model.cluster_state import TopicShape
from kconf.model.entry import Entry, Source, Synonym, ValueType, View, own_source
from kconf.model.resource import Resource, ResourceType

KEYS: dict[ResourceType, ConfigDef] = {
    ResourceType.TOPIC: {
        "retention.ms": ConfigKey(name="retention.ms", type=ValueType.LONG),
        "segment.bytes": ConfigKey(name="segment.bytes", type=ValueType.INT),
        "tags": ConfigKey(name="tags", type=ValueType.LIST),
    },
    ResourceType.BROKER: {
        "log.retention.ms": ConfigKey(name="log.retention.ms", type=ValueType.LONG),
        "ssl.key.password": ConfigKey(name="ssl.key.password", type=ValueType.PASSWORD),
    },
}


def keys(kind: ResourceType) -> ConfigDef:
    return KEYS.get(kind, {})


def declared(text: str, own: str = "") -> Declared:
    """`own` is a second file, such as one with the selector."""
    return read_declared([("f.yaml", text), ("own.yaml", own)], keys)


def shape(partitions: int = 1, replication: int = 1, *, internal: bool = False) -> TopicShape:
    return TopicShape(UUID(int=1), partitions, replication, internal)


def entry(
    resource: Resource, name: str, own: str | None = None, inherited: str | None = None, *, sensitive: bool = False
) -> Entry:
    """An entry that is set on the resource (`own`) or inherited."""
    key = keys(resource.type).get(name)
    kind = key.type if key is not None else ValueType.STRING
    here = own_source(resource)
    rungs = [Synonym(name, own, here)] if own is not None else []
    if inherited is not None:
        rungs.append(Synonym(name, inherited, Source.DEFAULT))
    first = rungs[0] if rungs else Synonym(name, None, Source.DEFAULT)
    return Entry(
        name, None if sensitive else first.value, first.source, kind, sensitive=sensitive, synonyms=tuple(rungs)
    )


def view(resource: Resource, own: Mapping[str, str] | None = None, **inherited: str) -> View:
    """The view of a topic: its overrides, and inherited values (`retention_ms` for retention.ms)."""
    defaults = {name.replace("_", "."): value for name, value in inherited.items()}
    names = sorted({*(own or {}), *defaults})
    return View(tuple(entry(resource, name, (own or {}).get(name), defaults.get(name)) for name in names))
