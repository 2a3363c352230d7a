"""The resolved value of one key of a resource (Entry), and of all its keys (View).

Entries are shared: topics without overrides have the same objects. `memo` caches derived data, such as encoded bytes,
for the lifetime of the entry or view. Dataclasses are not used, because every command imports this module at startup.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple

from kconf.model.resource import Resource, ResourceType


class Source(IntEnum):
    """The config source of a value, as in Kafka."""

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
"""Kafka's names of the config sources."""

_OWN: Final = {
    ResourceType.TOPIC: Source.TOPIC,
    ResourceType.BROKER: Source.BROKER,
    ResourceType.BROKER_LOGGER: Source.LOGGER,
    ResourceType.CLIENT_METRICS: Source.CLIENT_METRICS,
    ResourceType.GROUP: Source.GROUP,
}


def own_source(resource: Resource) -> Source:
    """The config source of the values that are set on a resource itself."""
    if resource.type is ResourceType.BROKER and not resource.name:
        return Source.DEFAULT_BROKER
    return _OWN.get(resource.type, Source.UNKNOWN)


class ValueType(IntEnum):
    """The type of a key, by its number in the protocol."""

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
    """One candidate in order of precedence: a value, its config source and the key that sets it."""

    name: str
    value: str | None
    source: Source


class Entry:
    """The resolved value of one key. A sensitive entry and its synonyms have no values."""

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
        """Shows the value and its source, without type, synonyms and documentation."""
        flags = "".join(f", {name}=True" for name in ("read_only", "sensitive") if getattr(self, name))
        return f"Entry({self.name!r}, {self.value!r}, {SOURCE_NAMES[self.source]}{flags})"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Entry):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _COMPARED)

    def __hash__(self) -> int:
        return hash((self.name, self.value, self.source))

    @property
    def shown(self) -> str:
        """The value as text, or [hidden] if it is sensitive."""
        return ("[hidden]" if self.sensitive else "") if self.value is None else self.value

    @property
    def is_default(self) -> bool:
        return self.source == Source.DEFAULT


_COMPARED: Final = ("name", "value", "source", "type", "read_only", "sensitive", "synonyms", "documentation")
_SHOWN: Final = 5  # maximum entries in a repr


class View(Mapping[str, Entry]):
    """All entries of a resource at a snapshot, by name, sorted."""

    __slots__ = ("_by_name", "entries", "memo")

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries: Final = entries
        self.memo: Final[dict[Hashable, Any]] = {}
        self._by_name: dict[str, Entry] | None = None  # created when needed

    def __repr__(self) -> str:
        """Shows some entries that are not defaults."""
        own = [each for each in self.entries if not each.is_default]
        rows = [f"{each.name}={each.shown}" for each in own[:_SHOWN]]
        if len(own) > _SHOWN:
            rows.append(f"… and {len(own) - _SHOWN} more")
        return f"View({len(self.entries)} entries, {len(own)} not default: {{{', '.join(rows)}}})"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        from html import escape

        heads = "".join(f"<th>{each}</th>" for each in ("key", "value", "source"))
        rows = (
            f"<tr><td>{escape(each.name)}</td><td>{escape(each.shown)}</td><td>{SOURCE_NAMES[each.source]}</td></tr>"
            for each in self.entries
        )
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"

    def __getitem__(self, name: str) -> Entry:
        if self._by_name is None:
            self._by_name = {entry.name: entry for entry in self.entries}
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return (entry.name for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def static_overrides(view: View) -> dict[str, str]:
    """A broker's static configs. For passwords, only whether they are set."""
    return {
        synonym.name: synonym.value or ""
        for entry in view.entries
        for synonym in entry.synonyms
        if synonym.source == Source.STATIC and synonym.name == entry.name
    }
