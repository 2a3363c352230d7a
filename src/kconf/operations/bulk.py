"""Operations on thousands of resources: a rate limit, and a resume file that lists completed resources.

The resume file begins with a fingerprint of the assignments, so that another command does not use it. Completed
resources follow, one per line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TypeVar

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.model.resource import Resource

T = TypeVar("T")

Advance = Callable[[int], None]
"""Called with the number of resources that were processed."""
Progress = Callable[[int], AbstractContextManager[Advance]]
"""Shows the progress of an operation on this number of resources while it is open."""


@contextmanager
def no_progress(total: int) -> Iterator[Advance]:
    """Shows no progress."""
    yield lambda _: None


def paced(
    batches: Iterable[Sequence[T]], rate: float | None, clock: Callable[[], float], sleep: Callable[[float], None]
) -> Iterator[Sequence[T]]:
    """Yield the batches at no more than `rate` items per second."""
    due = clock()
    for batch in batches:
        if rate is not None:
            now = clock()
            if now < due:
                sleep(due - now)
            due = max(due, now) + len(batch) / rate
        yield batch


class ResumeFile:
    """The resources that an earlier run completed. Without a path it is empty and records nothing."""

    def __init__(self, path: str | None, command: str, assignments: str) -> None:
        self._path = path
        self._done: set[str] = set()
        if path is None:
            return
        head = f"kconf {command} {_fingerprint(assignments)}"
        try:
            with open(path, encoding="utf-8") as file:
                first, *names = (file.read() or head).split("\n")
        except FileNotFoundError:
            self._write("x", [head])
            return
        except (OSError, UnicodeDecodeError):
            raise ConfigurationError(f"the resume file {path} cannot be read") from None
        if first.split()[:3] != head.split()[:3]:
            raise ConfigurationError(f"the resume file {path} was written by another command; use another file")
        self._done = set(names)

    def missing(self, resources: Iterable[Resource]) -> list[Resource]:
        return [each for each in resources if _line(each) not in self._done]

    def record(self, done: Collection[Resource]) -> None:
        if self._path is not None and done:
            self._write("a", [_line(each) for each in done])

    def _write(self, mode: str, lines: Sequence[str]) -> None:
        assert self._path is not None
        try:
            with open(self._path, mode, encoding="utf-8", opener=_owner_only) as file:
                file.writelines(f"{each}\n" for each in lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigurationError(f"the resume file {self._path} cannot be written: {error.strerror}") from None


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _line(resource: Resource) -> str:
    return str(resource).replace("\n", "\\n")


def _fingerprint(assignments: str) -> str:
    from hashlib import sha256

    return sha256(assignments.encode()).hexdigest()[:16]
