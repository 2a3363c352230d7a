"""The command line."""

import atexit
import gc
from typing import Final

_THRESHOLD: Final = 10_000  # new objects; Python's default is 700


def collect_rarely() -> None:
    """Garbage collection would take a sixth of the time of a short command, which imports much and leaves no garbage.

    Python looks through all objects once more before it exits, except for frozen ones.
    """
    gc.set_threshold(_THRESHOLD)
    atexit.register(gc.freeze)


def collect_at_exit() -> None:
    """Let Python look through all objects before it exits: DuckDB reports objects that are left on stderr."""
    atexit.unregister(gc.freeze)
