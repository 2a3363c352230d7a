"""The file of an open store: its lock, its identity, and its problem, if any.

The lock is an flock on the file itself, so that two names of one file are one store. Its descriptor is opened before
SQLite opens the file and closed after SQLite has closed it: closing any descriptor of a file releases the POSIX locks
of the process on it, which SQLite uses. For the same reason, a file that this process already has open is refused
without opening it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from logging import getLogger
from pathlib import Path
from typing import NamedTuple

from kconf.errors import StoreDamaged, StoreFailed, StoreLocked, StoreLost, StoreMismatch
from kconf.util.atomic_files import beside

log = getLogger(__name__)

_open_here: set[FileIdentity] = set()  # the stores that this process has open


class FileIdentity(NamedTuple):
    device: int
    inode: int

    @classmethod
    def of(cls, path: Path | str) -> FileIdentity | None:
        """The identity of a file, or None if it does not exist."""
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return cls(found.st_dev, found.st_ino)


class OpenFile:
    """Holds the lock until `release`. `problem` is the first problem found; it stays until the store is closed."""

    def __init__(self, path: Path) -> None:
        self.problem: StoreFailed | None = None
        self._lost: StoreLost | None = None
        self.path = path.absolute()
        self.is_wal_lost = False
        self._wal = str(beside(self.path, "-wal"))
        self._watched: list[tuple[str, FileIdentity]] = []
        _check_kind(path)
        identity = FileIdentity.of(path)
        if identity in _open_here:
            raise StoreLocked(f"{path} is in use by process {os.getpid()}")
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self.identity = self._lock(path)
        except BaseException:
            os.close(self._descriptor)
            raise
        _open_here.add(self.identity)
        self._watched.append((str(self.path), self.identity))

    def _lock(self, path: Path) -> FileIdentity:
        found = os.fstat(self._descriptor)
        identity = FileIdentity(found.st_dev, found.st_ino)
        try:
            flock(self._descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            raise StoreLocked(f"{path} is in use by {_holder(identity)}") from None
        if FileIdentity.of(path) != identity:
            raise StoreLocked(f"{path} was replaced while being opened; try again")
        return identity

    def watch_wal(self) -> None:
        """Also check SQLite's write-ahead log from now on. It exists while the store is open."""
        identity = FileIdentity.of(self._wal)
        if identity is not None:
            self._watched.append((self._wal, identity))

    def check(self) -> None:
        """Raise StoreLost if a path no longer refers to the open file, since writes would be lost.

        Called before each commit. Two calls of `stat` take 3 µs.
        """
        if self._lost is None:
            for path, identity in self._watched:
                if not _is_at(path, identity):
                    self._lose(path)
                    break
        if self._lost is not None:
            raise self._lost

    def _lose(self, path: str) -> None:
        self.is_wal_lost = path == self._wal
        self.problem = self._lost = StoreLost(f"{path} was deleted, moved or replaced while the store was open")
        log.error("%s: changes are refused; restore the store and restart the server", self._lost)

    def note_damage(self, error: StoreDamaged) -> None:
        """Log the first damage that is found."""
        if self.problem is None:
            self.problem = error
            log.error("%s; run `kconf store verify` for details", error)

    def release(self) -> None:
        """Release the lock. Call it after SQLite has closed the file."""
        if self._descriptor >= 0:
            _open_here.discard(self.identity)
            os.close(self._descriptor)
            self._descriptor = -1


def _is_at(path: str, identity: FileIdentity) -> bool:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return found.st_ino == identity.inode and found.st_dev == identity.device


def _check_kind(path: Path) -> None:
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise StoreMismatch(f"{path} is not a regular file")
    if found.st_nlink > 1:
        raise StoreMismatch(
            f"{path} has {found.st_nlink} hard links, but SQLite's WAL files belong to one name only. Remove the "
            "other links, or copy the file (kconf backup)"
        )


def _holder(identity: FileIdentity) -> str:
    """The process that holds the lock, if it can be determined."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and int(fields[5].rpartition(":")[2]) == identity.inode and int(fields[4]) > 0:
                return f"process {fields[4]}"
    return "another process"
