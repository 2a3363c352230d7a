"""The command line."""

import atexit
import gc
from typing import Final

_THRESHOLD: Final = 10_000  # new objects; Python's default is 700


def collect_rarely() -> None:
    """Run the garbage collector rarely: otherwise a short command would spend a sixth of its time on it.

    Such a command imports a lot and leaves no garbage. At exit, Python collects once more, except frozen objects.
    """
    gc.set_threshold(_THRESHOLD)
    atexit.register(gc.freeze)


def collect_at_exit() -> None:
    """Let Python collect all objects at exit, because DuckDB reports remaining objects on stderr."""
    atexit.unregister(gc.freeze)
