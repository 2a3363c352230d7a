"""Memory settings of the process.

Garbage collection: the objects loaded at startup are excluded (frozen), and collections run less often, since objects
of requests hardly ever contain reference cycles. A full collection would also scan all objects of a large request, half
a second for a million of them, so it waits until none is being processed (`collect_fully`). The C library keeps freed
memory, tens of megabytes after a frame of a hundred; `give_back` returns it to the system.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

LARGE = 4 << 20
_INTERVAL: Final = 1.0  # seconds
_DUE: Final = 240  # collections of the middle generation before a full collection
_OVERDUE: Final = 10 * _DUE  # the same, while large requests are being processed
_NEVER: Final = 1 << 30
_SWITCH_INTERVAL: Final = 0.0005  # seconds


def settle() -> None:
    """Tune garbage collection after the state is loaded. Without this, a request for 1,000 topics takes a sixth longer.

    The middle generation is collected often, so that a collection takes 3 ms. The switch interval is 0.5 ms instead of
    5 ms, so that commits do not wait for a large request.
    """
    gc.freeze()
    gc.set_threshold(10_000, 2, _NEVER)
    sys.setswitchinterval(_SWITCH_INTERVAL)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Disable garbage collection while creating long-lived objects.

    For 100,000 topics, collecting takes as long as loading.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def permanent() -> Iterator[None]:
    """Exclude the objects created in the block, such as imported modules, from garbage collection."""
    with gc_paused():
        yield
        gc.freeze()


async def collect_fully(is_idle: Callable[[], bool]) -> None:
    """Run full collections when they are due and no large request is being processed. Runs until cancelled."""
    while True:
        await asyncio.sleep(_INTERVAL)
        if is_due(gc.get_count()[2], is_idle=is_idle()):
            gc.collect()


def is_due(collections: int, *, is_idle: bool) -> bool:
    """Whether a full collection is due after this many collections of the middle generation."""
    return collections >= (_DUE if is_idle else _OVERDUE)


def give_back() -> None:
    """Make the C library return free memory to the system, if supported."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], object] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
