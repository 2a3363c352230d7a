"""A reader that has seen enough, as in `| head`, is no failure."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final

SIGPIPE_STATUS: Final = 141
"""How a shell reports a program that SIGPIPE ended: for output that was cut before the command was done."""


def discard_output() -> None:
    """Send what else goes to stdout to nowhere, so that Python does not report the closed pipe when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
