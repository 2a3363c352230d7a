"""A progress bar on stderr, if that is a terminal and there is much to do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from kconf.cli.output.safe_text import write_controls

_WIDTH: Final = 30
_FEW: Final = 100  # below this number of resources there is no progress bar


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """Call the result with the number of completed steps."""
    if total <= _FEW or not sys.stderr.isatty():
        yield lambda _: None
        return
    count = 0

    def draw() -> None:
        filled = _WIDTH * count // total
        bar = "#" * filled + "." * (_WIDTH - filled)
        write_controls(f"\r[{bar}] {count}/{total}", sys.stderr)

    def advance(steps: int) -> None:
        nonlocal count
        count += steps
        draw()

    draw()
    try:
        yield advance
    finally:
        print(file=sys.stderr)
