"""Long loops in slices: they call `pause` every `STEP` items, so that a server can do other work in between.

A loop that a client can make long runs over `in_slices(items)`. Outside a server, and for short sequences, that costs
nothing. Inside, work that a `SliceScheduler` (slice_scheduler.py) runs may be suspended there: state that other
requests change must not be iterated over in slices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final, TypeVar

STEP: Final = 64  # items between two calls of `pause`

T = TypeVar("T")


def _nothing() -> None:
    """No scheduler is in use."""


class _Hook:
    """What `pause` does; slice_scheduler.py replaces it when it is imported."""

    pause: Callable[[], None] = staticmethod(_nothing)


hook: Final = _Hook()


def in_slices(items: Collection[T]) -> Iterable[T]:
    """The same items; with a pause after every `STEP` of them."""
    return items if len(items) <= STEP else chain.from_iterable(_slices(items))


def _slices(items: Iterable[T]) -> Iterator[tuple[T, ...]]:
    left = iter(items)
    while some := tuple(islice(left, STEP)):
        hook.pause()
        yield some


def discard(items: list[Any]) -> None:
    """Free what a long list holds, with pauses."""
    while items:
        del items[-STEP:]
        hook.pause()


def steps(count: int) -> Iterable[int]:
    """`count` as the sizes of slices, with a pause before each: for code that counts."""
    return (count,) if count <= STEP else _steps(count)


def _steps(count: int) -> Iterator[int]:
    for done in range(0, count, STEP):
        hook.pause()
        yield min(STEP, count - done)
