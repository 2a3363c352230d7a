"""Creates files that only their owner can read, regardless of the umask, and that are written atomically.

A file for other readers (an archive segment, a snapshot) is written under a hidden name that readers ignore, synced,
and then renamed. The directory is synced too, so that the name is as durable as the contents.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from secrets import token_hex
from typing import Final, Self

from kconf.errors import ConfigurationError, StoreLocked, StoreMismatch

_URI: Final = re.compile(r"[a-z][a-z0-9+.-]+:/")  # Path turns s3:// into s3:/


def create(path: Path, content: bytes = b"") -> None:
    """Create a durable file that only its owner can read. Fails if it exists."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        os.write(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private_directory(path: Path) -> None:
    """Create a directory that only its owner can enter, and its parents, if missing."""
    if _URI.match(str(path)):
        raise ConfigurationError(
            f"{path.parts[0]}// cannot be written to; use a local directory, and copy its finished files to an object"
            " store"
        )
    if not path.is_dir():
        if not path.parent.is_dir():
            private_directory(path.parent)
        with suppress(FileExistsError):
            path.mkdir(0o700)
            sync_directory(path.parent)
    if not path.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(path))


def cluster_directory(parent: str | os.PathLike[str], cluster: str | None) -> Path:
    """The directory of a cluster's files. The id comes from a server, so it must not point to another directory."""
    name = cluster or "unknown"
    if re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", name) is None:
        raise StoreMismatch(f"the cluster ID {name!r} cannot be used as a directory name")
    return Path(parent) / name


class PartialFile:
    """A file that is being written under a hidden name. Deleted unless `publish` is called."""

    def __init__(self, directory: Path, hidden: str = ".new") -> None:
        self._path = directory / f"{hidden}-{token_hex(4)}.part"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.fchmod(descriptor, 0o600)
        self._file = os.fdopen(descriptor, "wb", buffering=1 << 20)
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self._path.unlink()

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self.size += len(data)

    def publish(self, name: str) -> Path:
        """Sync the file and rename it to its final name."""
        target = self._path.with_name(name)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._path.rename(target)
        sync_directory(target.parent)
        return target


def replace_file(path: str | Path, data: bytes) -> None:
    """Write a user's output file atomically, with permissions by umask."""
    target = Path(path)
    part = target.with_name(f".{target.name}.{token_hex(4)}.part")
    try:
        part.write_bytes(data)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


class FileLock:
    """A lock file, held by the single writer of a directory until `release` or the end of the process."""

    def __init__(self, path: Path) -> None:
        file = beside(path, ".lock")
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            flock(self._descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            who = f"process {holder}" if holder else "another process"
            raise StoreLocked(f"{path} is in use by {who} (it holds {file})") from None
        os.fchmod(self._descriptor, 0o600)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Release the lock. The file is not removed, since two processes could then each lock a file of that name."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1
