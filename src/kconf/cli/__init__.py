"""The command line."""

import atexit
import gc
from typing import Final

_THRESHOLD: Final = 10_000  # new objects; Python's default is 700


def collect_rarely() -> None:
    """Collect rarely: a short command imports a lot and leaves no garbage, but would spend a sixth of its time on this.

    Python looks through all objects once more before it exits, except for frozen ones.
    """
    gc.set_threshold(_THRESHOLD)
    atexit.register(gc.freeze)


def collect_at_exit() -> None:
    """Let Python look through all objects before it exits, because DuckDB reports remaining objects on stderr."""
    atexit.unregister(gc.freeze)
