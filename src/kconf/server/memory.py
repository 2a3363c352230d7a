"""Giving memory back to the system after something large has passed.

The C library keeps freed memory for later, tens of megabytes of it after a frame of a hundred; a server that is to stay
small asks it to let go.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

LARGE = 4 << 20


def give_back() -> None:
    """Let the C library return what is free; where it cannot, nothing happens."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], object] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
