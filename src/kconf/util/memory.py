"""Memory settings of the process.

What was loaded at the start stays: the collector need not look at it again and again, and it looks less often at what
comes and goes with requests, hardly any of which is in circles. A full collection looks at all objects of a large
request too, a million of them for half a second: it waits until none is being worked on (`collect_fully`). The C
library keeps freed memory for later, tens of megabytes of it after a frame of a hundred; a server that is to stay small
asks it to let go.
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
_DUE: Final = 240  # collections of the middle generation, after which all objects are collected
_OVERDUE: Final = 10 * _DUE  # the same, if a large request is always being worked on
_NEVER: Final = 1 << 30
_SWITCH_INTERVAL: Final = 0.0005  # seconds


def settle() -> None:
    """The state is loaded: collect around it. A request of 1,000 topics took a sixth longer without this.

    The middle generation is collected often, so that it takes 3 ms. The thread that commits gets the interpreter after
    half a millisecond, not 5, while a large request is worked on.
    """
    gc.freeze()
    gc.set_threshold(10_000, 2, _NEVER)
    sys.setswitchinterval(_SWITCH_INTERVAL)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Disable garbage collection while building long-lived objects: for 100,000 topics, collecting takes as long as
    loading."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def permanent() -> Iterator[None]:
    """Neither collect now nor look later at what is made here, such as imported modules: it stays until the end."""
    with gc_paused():
        yield
        gc.freeze()


async def collect_fully(is_idle: Callable[[], bool]) -> None:
    """Collect all generations when that is due and no large request is being worked on, until cancelled."""
    while True:
        await asyncio.sleep(_INTERVAL)
        if is_due(gc.get_count()[2], is_idle=is_idle()):
            gc.collect()


def is_due(collections: int, *, is_idle: bool) -> bool:
    """Whether to collect all objects after so many collections of the middle generation."""
    return collections >= (_DUE if is_idle else _OVERDUE)


def give_back() -> None:
    """Let the C library return free memory to the system, if it supports that."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], object] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
