"""The files of a SQLite store, and what can go wrong with them.

FILE has the state and the journal; FILE.lock is held by its one writer; FILE.key has the 32 random bytes that seal
sensitive values and never enter the database. All are 0600, whatever the umask says; SQLite gives FILE-wal and FILE-shm
the mode of FILE.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from secrets import token_bytes
from urllib.parse import quote

from kconf.errors import StoreError, StoreLocked, StoreMismatch, StoreUnavailable

KEY_BYTES = 32


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection without transactions of its own making. A path is never taken for a URI, whatever is in its name."""
    mode = "ro" if read_only else "rw"
    return sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=10,
    )


def create(path: Path, content: bytes = b"") -> None:
    """Make a file that only its owner can read, and make it last. Fails where one is already."""
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


def check_place(path: Path) -> None:
    """Say plainly what SQLite would only call "unable to open", before a lock file is left there."""
    if path.is_dir():
        raise StoreUnavailable(f"cannot use {path}: it is a directory")
    if not path.parent.is_dir():
        raise StoreUnavailable(f"cannot use {path}: there is no directory {path.parent}")


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def seal_key(path: Path, *, new: bool) -> bytes:
    """The key beside a store. A store that has lost its key is not given another one in silence."""
    file = beside(path, ".key")
    if new and not file.exists():
        create(file, token_bytes(KEY_BYTES))
    try:
        key = file.read_bytes()
    except FileNotFoundError:
        raise StoreMismatch(
            f"{file} is missing: restore it, or put {KEY_BYTES} random bytes there"
            " and give up the passwords that it locked, and comparing sensitive values with older ones"
        ) from None
    if len(key) != KEY_BYTES:
        raise StoreMismatch(f"{file} is not a key: it has {len(key)} bytes, not {KEY_BYTES}")
    return key


class Lock:
    """Held by the one writer of a store, until it is let go or the process ends."""

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
        """Let go. The file stays: removing it would let two others each lock a file of that name."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


@contextmanager
def failures(path: Path) -> Iterator[None]:
    """Turn what the disk and SQLite say about a store into our errors, each one sentence with the file's name."""
    try:
        yield
    except sqlite3.Error as error:
        primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if primary == sqlite3.SQLITE_NOTADB:
            raise StoreMismatch(f"{path} is not a kconf store: {error}") from error
        if primary == sqlite3.SQLITE_CORRUPT:
            raise StoreError(f"{path} is damaged: {error}") from error
        raise StoreUnavailable(f"cannot use {path}: {error}") from error
    except OSError as error:
        raise StoreUnavailable(f"cannot use {error.filename or path}: {error.strerror or error}") from error
