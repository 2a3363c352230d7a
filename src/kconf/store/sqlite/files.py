"""The files of a SQLite store, and their errors.

FILE has the state and the journal. FILE.lock is held by the process that has the store open. FILE.key has the store
key: 32 random bytes that redact and encrypt sensitive values, and are never in the database. All have mode 0600
regardless of the umask; SQLite gives FILE-wal and FILE-shm the mode of FILE.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_bytes
from urllib.parse import quote

from kconf.errors import ConfigurationError, StoreError, StoreMismatch, StoreUnavailable
from kconf.util.atomic_files import beside, create

SCHEME = "sqlite:///"
KEY_BYTES = 32


def path_of(url: str) -> Path:
    """The file that a URL names: three slashes for a relative path, four for an absolute one."""
    name = url.removeprefix(SCHEME)
    if name in {"", url}:
        raise ConfigurationError(f"{url!r} names no file: use sqlite:///FILE or sqlite:////DIRECTORY/FILE")
    return Path(name)


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection without implicit transactions. The path is quoted, so that none is parsed as a URI."""
    mode = "ro" if read_only else "rw"
    return sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=10,
    )


def check_location(path: Path) -> None:
    """Explain what SQLite would report as "unable to open", before a lock file is created."""
    if path.is_dir():
        raise StoreUnavailable(f"cannot use {path}: it is a directory")
    if not path.parent.is_dir():
        raise StoreUnavailable(f"cannot use {path}: there is no directory {path.parent}")


def read_store_key(path: Path, *, new: bool) -> bytes:
    """The key of a store. If the key of an existing store is missing, no new one is created."""
    file = beside(path, ".key")
    if new and not file.exists():
        create(file, token_bytes(KEY_BYTES))
    try:
        key = file.read_bytes()
    except FileNotFoundError:
        raise StoreMismatch(
            f"{file} is missing: restore it, or put {KEY_BYTES} random bytes there"
            " and lose the passwords that it encrypts, and the comparison of sensitive values with older ones"
        ) from None
    if len(key) != KEY_BYTES:
        raise StoreMismatch(f"{file} is not a key: it has {len(key)} bytes, not {KEY_BYTES}")
    return key


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Convert errors of SQLite and the file system to StoreError; the message names the file."""
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
