"""Long loops in slices: they call `pause` after every `STEP` items, so that a server can do other work in between.

Use `in_slices(items)` for loops whose length clients can determine. Outside a server, and for short sequences, it has
no cost. In a server, a `SliceScheduler` (slice_scheduler.py) may suspend the work there, so state that other requests
change must not be iterated in slices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final, TypeVar

STEP: Final = 64  # items between two calls of `pause`

T = TypeVar("T")


def _nothing() -> None:
    """The default hook: does nothing."""


class _Hook:
    """The function that `pause` calls. slice_scheduler.py replaces it when it is imported."""

    pause: Callable[[], None] = staticmethod(_nothing)


hook: Final = _Hook()


def in_slices(items: Collection[T]) -> Iterable[T]:
    """The same items, with a pause after every `STEP` items."""
    return items if len(items) <= STEP else chain.from_iterable(_slices(items))


def _slices(items: Iterable[T]) -> Iterator[tuple[T, ...]]:
    left = iter(items)
    while some := tuple(islice(left, STEP)):
        hook.pause()
        yield some


def discard(items: list[Any]) -> None:
    """Free the items of a long list, with pauses."""
    while items:
        del items[-STEP:]
        hook.pause()


def steps(count: int) -> Iterable[int]:
    """Split `count` into the sizes of slices, with a pause before each."""
    return (count,) if count <= STEP else _steps(count)


def _steps(count: int) -> Iterator[int]:
    for done in range(0, count, STEP):
        hook.pause()
        yield min(STEP, count - done)
