"""A reader that closes the pipe early, as `| head` does, is not a failure."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final

SIGPIPE_STATUS: Final = 141
"""How a shell reports a program that SIGPIPE ended: for output that was cut before the command was done."""


def discard_output() -> None:
    """Discard further output to stdout, so that Python does not report the closed pipe at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
