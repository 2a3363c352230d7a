"""Escapes control characters in text from a server, so that it cannot control the terminal.

`guarded_output` wraps stdout and stderr in a stream that prints such characters as `\u001b`, in every format; in JSON
that is the escape of the same character. Newlines and tabs pass. Cells and other texts that must stay on one line also
go through `visible`. Control sequences of kconf itself (colors, a progress bar) go through `write_controls`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO, cast

from kconf.util.visible_text import UNSAFE

_IN_LINES: Final = {code: text for code, text in UNSAFE.items() if chr(code) not in "\n\t"}


def has_controls(text: str) -> bool:
    """Whether a guarded stream would change the text."""
    return text.translate(_IN_LINES) != text


class SafeStream:
    """Wraps a text stream: `write` makes control characters visible, everything else is passed on."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        self.unguarded.write(text.translate(_IN_LINES))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for each in lines:
            self.write(each)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


def write_controls(text: str, stream: TextIO) -> None:
    """Write kconf's own text with control characters. Text from elsewhere in it must have passed `visible`."""
    target = stream.unguarded if isinstance(stream, SafeStream) else stream
    target.write(text)
    target.flush()


@contextmanager
def guarded_output() -> Iterator[None]:
    """Guard stdout and stderr until the end of the block. Blocks may be nested."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _guarded(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, SafeStream) else cast(TextIO, SafeStream(stream))
