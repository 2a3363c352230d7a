"""The resolved answer for one key on one resource, and for all of them.

Entries are shared: two topics without overrides hold the very same objects. `memo` keeps what others derive from an
entry or a view (its bytes on the wire, say), so that it lives exactly as long as what it was derived from.
No dataclasses here: every command pays for this module at its start.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import IntEnum
from typing import Any, Final, NamedTuple

from kconf.model.resource import Resource, ResourceType


class Source(IntEnum):
    """The level a value comes from."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    DEFAULT_BROKER = 3
    STATIC = 4
    DEFAULT = 5
    LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


SOURCE_NAMES: Final = {
    Source.UNKNOWN: "UNKNOWN",
    Source.TOPIC: "DYNAMIC_TOPIC_CONFIG",
    Source.BROKER: "DYNAMIC_BROKER_CONFIG",
    Source.DEFAULT_BROKER: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    Source.STATIC: "STATIC_BROKER_CONFIG",
    Source.DEFAULT: "DEFAULT_CONFIG",
    Source.LOGGER: "DYNAMIC_BROKER_LOGGER_CONFIG",
    Source.CLIENT_METRICS: "DYNAMIC_CLIENT_METRICS_CONFIG",
    Source.GROUP: "DYNAMIC_GROUP_CONFIG",
}
"""What Kafka calls the levels."""

_OWN: Final = {
    ResourceType.TOPIC: Source.TOPIC,
    ResourceType.BROKER: Source.BROKER,
    ResourceType.BROKER_LOGGER: Source.LOGGER,
    ResourceType.CLIENT_METRICS: Source.CLIENT_METRICS,
    ResourceType.GROUP: Source.GROUP,
}


def own_source(resource: Resource) -> Source:
    """The level at which a resource's own values stand."""
    if resource.type is ResourceType.BROKER and not resource.name:
        return Source.DEFAULT_BROKER
    return _OWN.get(resource.type, Source.UNKNOWN)


class ValueType(IntEnum):
    """The type of a key, by its number on the wire."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Synonym(NamedTuple):
    """One level of the precedence: a value, where it is set and under which name."""

    name: str
    value: str | None
    source: Source


class Entry:
    """The resolved answer for one key. A sensitive one has no value, here or in its synonyms."""

    __slots__ = (  # noqa: RUF023 – in the order of the arguments
        "name",
        "value",
        "source",
        "type",
        "read_only",
        "sensitive",
        "synonyms",
        "documentation",
        "memo",
    )

    def __init__(
        self,
        name: str,
        value: str | None,
        source: Source,
        type: ValueType = ValueType.UNKNOWN,  # noqa: A002
        read_only: bool = False,
        sensitive: bool = False,
        synonyms: tuple[Synonym, ...] = (),
        documentation: str | None = None,
    ) -> None:
        self.name: Final = name
        self.value: Final = value
        self.source: Final = source
        self.type: Final = type
        self.read_only: Final = read_only
        self.sensitive: Final = sensitive
        self.synonyms: Final = synonyms
        self.documentation: Final = documentation
        self.memo: Final[dict[Hashable, Any]] = {}

    def __repr__(self) -> str:
        flags = f"read_only={self.read_only}, sensitive={self.sensitive}"
        return (
            f"Entry(name={self.name!r}, value={self.value!r}, source={self.source!r}, type={self.type!r}, {flags}, "
            f"synonyms={self.synonyms!r})"
        )

    @property
    def is_default(self) -> bool:
        return self.source == Source.DEFAULT


class View:
    """All entries of a resource at a snapshot, in ascending order of their names."""

    __slots__ = ("entries", "memo")

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries: Final = entries
        self.memo: Final[dict[Hashable, Any]] = {}

    def __repr__(self) -> str:
        return f"View({self.entries!r})"

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(name)
