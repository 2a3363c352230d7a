"""How the process treats its memory.

What was loaded at the start stays: the collector need not look at it again and again, and it looks less often at what
comes and goes with requests, hardly any of which is in circles. The C library keeps freed memory for later, tens of
megabytes of it after a frame of a hundred; a server that is to stay small asks it to let go.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from functools import cache

LARGE = 4 << 20


def settle() -> None:
    """The state is loaded: collect around it. A request of 1,000 topics took a sixth longer without this."""
    gc.freeze()
    gc.set_threshold(10_000, 5, 80)  # the middle generation often: 200,000 objects of a large request take 50 ms


def give_back() -> None:
    """Let the C library return what is free; where it cannot, nothing happens."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], object] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
