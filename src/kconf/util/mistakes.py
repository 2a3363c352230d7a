"""Collects all errors of a file. Reading continues after each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kconf.errors import ConfigurationError

_MAX_SHOWN: Final = 100


class Mistakes:
    """Collects error messages with their positions, in file order."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, sentence: str) -> None:
        self._found.append(sentence)

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Collect a `ConfigurationError` raised in the block; reading continues after it."""
        try:
            yield
        except ConfigurationError as error:
            self.add(str(error))

    def raise_all(self) -> None:
        """Raise one `ConfigurationError` with a line per error, if there are any."""
        if not self._found:
            return
        shown, more = self._found[:_MAX_SHOWN], len(self._found) - _MAX_SHOWN
        raise ConfigurationError("\n".join([*shown, *([f"… and {more} more errors"] if more > 0 else [])]))
