"""Handles readers that close the pipe early, such as `| head`, which is not a failure."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final

SIGPIPE_STATUS: Final = 141
"""The exit code of a program ended by SIGPIPE, for output that was cut off before the command finished."""


def discard_output() -> None:
    """Discard further output to stdout, so that Python does not report the closed pipe at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
