"""Splits the items of a call into requests."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

K = TypeVar("K")


def batches(items: Iterable[K], size: int, conflict_key: Callable[[K], Hashable]) -> Iterator[list[K]]:
    """Batches of at most `size` items, in order. Two items with the same conflict key are never in one batch."""
    found: list[list[K]] = [[]]
    conflicts: list[set[Hashable]] = [set()]
    for item in items:
        key = conflict_key(item)
        number = len(found) - 1
        if key is not None:
            free = (n for n, keys in enumerate(conflicts) if key not in keys and len(found[n]) < size)
            number = next(free, len(found))
        elif len(found[number]) >= size:
            number += 1
        if number == len(found):
            found.append([])
            conflicts.append(set())
        found[number].append(item)
        if key is not None:
            conflicts[number].add(key)
    yield from found
