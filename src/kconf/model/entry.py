"""The resolved answer for one key on one resource, and for all of them.

Entries are shared: two topics without overrides hold the very same objects. `memo` keeps what others derive from an
entry or a view (its bytes on the wire, say), so that it lives exactly as long as what it was derived from.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple


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
    """One rung of the precedence ladder: a value, where it is set and under which name."""

    name: str
    value: str | None
    source: Source


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """The resolved answer for one key. A sensitive one has no value, here or in its synonyms."""

    name: str
    value: str | None
    source: Source
    type: ValueType = ValueType.UNKNOWN
    read_only: bool = False
    sensitive: bool = False
    synonyms: tuple[Synonym, ...] = ()
    documentation: str | None = None
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @property
    def is_default(self) -> bool:
        return self.source == Source.DEFAULT


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """All entries of a resource at a snapshot, in ascending order of their names."""

    entries: tuple[Entry, ...]
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(name)
