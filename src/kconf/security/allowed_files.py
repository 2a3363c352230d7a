"""Restricts which files a server reads because of configs that clients can set.

Paths in the static configuration are always allowed. Any other path must be below one of the allowed directories,
before and after resolving symbolic links. The error for another path does not show whether it exists. Only regular
files up to `MAX_BYTES` are read, since opening a FIFO or reading a device could block forever.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from kconf.errors import ConfigurationError

MAX_BYTES: Final = 4 * 1024 * 1024

ReadFile = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class AllowedFiles:
    """`paths` are always allowed; other files only below one of `directories`."""

    directories: tuple[str, ...] = ()
    paths: frozenset[str] = frozenset()

    @classmethod
    def of(cls, directories: Iterable[str], paths: Iterable[str]) -> AllowedFiles:
        """Create from settings. By default the directories are those of the paths, except the root."""
        named = frozenset(paths)
        around = {os.path.dirname(os.path.abspath(each)) for each in named} - {"/"}
        return cls(tuple(directories) or tuple(sorted(around)), named)

    def read(self, path: str) -> bytes:
        """The content of a file. Raises ConfigurationError."""
        if path in self.paths:
            return read_regular_file(path)
        return read_regular_file(self._resolved(path), shown=path, flags=os.O_NOFOLLOW)

    def _resolved(self, path: str) -> str:
        refused = ConfigurationError(f"{path} is not below a directory that dynamic.files.directories allows")
        wanted = os.path.abspath(path)
        if "\0" in path or not any(_is_below(wanted, os.path.abspath(each)) for each in self.directories):
            raise refused
        resolved = os.path.realpath(path)
        if not any(_is_below(resolved, os.path.realpath(each)) for each in self.directories):
            raise refused
        return resolved


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip("/") + "/")


def read_regular_file(path: str, *, shown: str | None = None, flags: int = 0) -> bytes:
    """The content of a regular file of at most `MAX_BYTES`. Never waits for another process."""
    shown = shown or path
    try:
        # O_NONBLOCK: opening a FIFO does not wait for a writer. It has no effect on regular files.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | flags)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigurationError(f"{shown} cannot be read: not a regular file")
            data = _read(descriptor)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a valid path"
        raise ConfigurationError(f"{shown} cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"{shown} is larger than {MAX_BYTES:,} bytes")
    return data


def _read(descriptor: int) -> bytes:
    """All bytes, or one more than `MAX_BYTES`."""
    parts, left = [], MAX_BYTES + 1
    while left and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
