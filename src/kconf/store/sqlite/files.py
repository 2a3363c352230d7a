"""The files of a SQLite store, and what can go wrong with them.

FILE has the state and the journal; FILE.lock is held by its one writer; FILE.key has the 32 random bytes that seal
sensitive values and never enter the database. All are 0600, whatever the umask says; SQLite gives FILE-wal and FILE-shm
the mode of FILE.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_bytes
from urllib.parse import quote

from kconf.errors import StoreError, StoreMismatch, StoreUnavailable
from kconf.util.atomic_files import beside, create

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


def check_place(path: Path) -> None:
    """Say plainly what SQLite would only call "unable to open", before a lock file is left there."""
    if path.is_dir():
        raise StoreUnavailable(f"cannot use {path}: it is a directory")
    if not path.parent.is_dir():
        raise StoreUnavailable(f"cannot use {path}: there is no directory {path.parent}")


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
