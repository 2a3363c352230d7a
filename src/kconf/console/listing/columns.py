"""The columns of a list: properties of a resource, or any key. The address selects the columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kconf.configdef.lookup import known_key, similar_key
from kconf.configdef.units import MINUS_ONE_IS_UNLIMITED, NUMBERS, shown_value
from kconf.console.listing.query import QueryError
from kconf.console.words import short_time
from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot

Cell = Any
"""The plain value of a cell, for JSON and sorting. None if unknown or not set."""


@dataclass(frozen=True)
class ListColumn:
    """`values` has the values by row name. `shown` formats a cell."""

    name: str
    title: str
    values: Mapping[str, Cell]
    shown: Callable[[Cell], str] = str
    is_number: bool = False
    is_key: bool = False
    rank: Callable[[Cell], Any] = str
    """The sort key of a row."""

    def cell(self, name: str) -> Cell:
        return self.values.get(name)

    def text(self, name: str) -> str:
        value = self.values.get(name)
        return "" if value is None else self.shown(value)


def key_column(snapshot: ClusterSnapshot, kind: ResourceType, key: str) -> ListColumn:
    """A column with the effective values of a key."""
    known = known_key(kind, key)
    if known is None:
        near = similar_key(kind, key)
        raise QueryError(f"{key} is not a key of a {kind.word}" + (f"; did you mean {near}?" if near else ""))
    if known.sensitive:
        raise QueryError(f"{key} is a secret; Kafka does not show it")
    values = snapshot.column(kind, key)
    is_number = known.type in NUMBERS
    rank = (lambda value: _amount(key, value)) if is_number else str
    return ListColumn(key, key, values, lambda value: shown_value(key, value), is_number, True, rank)


def _amount(key: str, value: str) -> float:
    """A number to sort by: -1 sorts above all others if it means unlimited for the key."""
    if value == "-1" and key in MINUS_ONE_IS_UNLIMITED:
        return math.inf
    try:
        return float(value)
    except ValueError:
        return -math.inf


def number_column(name: str, title: str, values: Mapping[str, int]) -> ListColumn:
    return ListColumn(name, title, values, lambda value: f"{value:,}", is_number=True, rank=float)


def text_column(name: str, title: str, values: Mapping[str, str]) -> ListColumn:
    return ListColumn(name, title, values)


def time_column(name: str, title: str, values: Mapping[str, int]) -> ListColumn:
    return ListColumn(name, title, values, short_time, is_number=True, rank=float)
