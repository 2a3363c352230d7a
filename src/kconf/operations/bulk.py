"""Thousands of resources in one command: a progress bar, a pace, and a file that says what is done.

The file of `--resume` begins with a fingerprint of what is wished, so that it is not taken for another command's; then
come the resources that are done, one per line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Self, TypeVar

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.model.resource import Resource

T = TypeVar("T")
_WIDTH: Final = 30
_FEW: Final = 100  # no bar for these


class Progress:
    """A bar on stderr, where that is a terminal and there is much to do."""

    def __init__(self, total: int) -> None:
        self.total, self.count = total, 0
        self._shows = total > _FEW and sys.stderr.isatty()

    def __enter__(self) -> Self:
        self._draw()
        return self

    def __exit__(self, *_: object) -> None:
        if self._shows:
            print(file=sys.stderr)

    def move(self, steps: int) -> None:
        self.count += steps
        self._draw()

    def _draw(self) -> None:
        if self._shows:
            filled = _WIDTH * self.count // self.total
            bar = "#" * filled + "." * (_WIDTH - filled)
            print(f"\r[{bar}] {self.count}/{self.total}", end="", file=sys.stderr, flush=True)


def paced(
    batches: Iterable[Sequence[T]], rate: float | None, clock: Callable[[], float], sleep: Callable[[float], None]
) -> Iterator[Sequence[T]]:
    """The batches, not faster than so many items per second."""
    due = clock()
    for batch in batches:
        if rate is not None:
            now = clock()
            if now < due:
                sleep(due - now)
            due = max(due, now) + len(batch) / rate
        yield batch


class Resumption:
    """What a file says is done. Without a file nothing is."""

    def __init__(self, path: str | None, command: str, wish: str) -> None:
        self._path = path
        self._done: set[str] = set()
        if path is None:
            return
        head = f"kconf {command} {_fingerprint(wish)}"
        try:
            with open(path, encoding="utf-8") as file:
                first, *names = (file.read() or head).split("\n")
        except FileNotFoundError:
            self._write("x", [head])
            return
        except (OSError, UnicodeDecodeError):
            raise ConfigurationError(f"{path} cannot be read") from None
        if first.split()[:3] != head.split()[:3]:
            raise ConfigurationError(f"{path} was written by another command; it cannot be resumed by this one")
        self._done = set(names)

    def missing(self, resources: Iterable[Resource]) -> list[Resource]:
        return [each for each in resources if _line(each) not in self._done]

    def note(self, done: Collection[Resource]) -> None:
        if self._path is not None and done:
            self._write("a", [_line(each) for each in done])

    def _write(self, mode: str, lines: Sequence[str]) -> None:
        assert self._path is not None
        try:
            with open(self._path, mode, encoding="utf-8", opener=_for_us_alone) as file:
                file.writelines(f"{each}\n" for each in lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigurationError(f"{self._path} cannot be written: {error.strerror}") from None


def _for_us_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _line(resource: Resource) -> str:
    return str(resource).replace("\n", "\\n")


def _fingerprint(wish: str) -> str:
    from hashlib import sha256

    return sha256(wish.encode()).hexdigest()[:16]
