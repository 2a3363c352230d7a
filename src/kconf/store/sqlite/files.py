"""The files of a SQLite store, and the conversion of their errors.

FILE has the state and the journal. FILE.key has the store key: 32 random bytes that redact and encrypt sensitive
values, and are never in the database. Both have mode 0600 regardless of the umask; SQLite gives FILE-wal and FILE-shm
the mode of FILE.

The key of a new store is in FILE.key.new until its tables are durable. If FILE.key exists and FILE has no tables, its
contents were lost, and the store is refused.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes
from urllib.parse import quote

from kconf.errors import ConfigurationError, StoreDamaged, StoreError, StoreMismatch, StoreUnavailable
from kconf.store.record_codec import DamagedRecord
from kconf.util.atomic_files import beside, create, sync_directory

SCHEME = "sqlite:///"
KEY = ".key"
KEY_BYTES = 32
NEW_KEY = ".key.new"
_DAMAGED_TEXTS = ("malformed JSON", "Could not decode to UTF-8", "malformed database schema")


def path_of(url: str) -> Path:
    """The file of a URL: three slashes for a relative path, four for an absolute one."""
    name = url.removeprefix(SCHEME)
    if name in {"", url}:
        raise ConfigurationError(f"{url!r} contains no file name: use sqlite:///FILE or sqlite:////DIRECTORY/FILE")
    return Path(name)


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection without implicit transactions. The path is quoted, so that it is not parsed as a URI."""
    mode = "ro" if read_only else "rw"
    return sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=10,
    )


def check_location(path: Path) -> None:
    """Raise a clear error where SQLite would report "unable to open"."""
    if path.is_dir():
        raise StoreUnavailable(f"cannot use {path}: it is a directory")
    if not path.parent.is_dir():
        raise StoreUnavailable(f"cannot use {path}: there is no directory {path.parent}")


def create_store_file(path: Path) -> None:
    """Create FILE if it does not exist. Raises StoreMismatch if only its key exists: the store was deleted."""
    if path.exists():
        return
    _refuse_key(path, "is missing")
    with suppress(FileExistsError):  # created in the meantime by another process, which has the lock
        create(path)


def create_store_key(path: Path) -> bytes:
    """Create the key of a store without tables, under a temporary name. `publish_store_key` renames it."""
    _refuse_key(path, "is empty")
    file = beside(path, NEW_KEY)
    file.unlink(missing_ok=True)
    create(file, token_bytes(KEY_BYTES))
    return file.read_bytes()


def publish_store_key(path: Path) -> None:
    """Rename the key to its final name, if that is not done."""
    with suppress(FileNotFoundError):
        os.replace(beside(path, NEW_KEY), beside(path, KEY))
        sync_directory(path.parent)


def _refuse_key(path: Path, fact: str) -> None:
    file = beside(path, KEY)
    if file.exists():
        raise StoreMismatch(
            f"{path} {fact}, but its key {file.name} exists: restore the store from a backup, or remove the key to "
            "start with an empty store"
        )


def read_store_key(path: Path) -> bytes:
    """Read the key of a store with tables. If it is missing, no new one is created."""
    file = beside(path, KEY)
    if not file.exists() and beside(path, NEW_KEY).exists():  # the process ended before it renamed the key
        publish_store_key(path)
    try:
        key = file.read_bytes()
    except FileNotFoundError:
        raise StoreMismatch(
            f"{file} is missing: restore it. If you replace it with {KEY_BYTES} random bytes, encrypted passwords are "
            "lost, and sensitive values can no longer be compared with older ones"
        ) from None
    if len(key) != KEY_BYTES:
        raise StoreMismatch(f"{file} is not a key: it has {len(key)} bytes, not {KEY_BYTES}; restore it from a backup")
    return key


class store_errors:
    """Converts errors of SQLite and the file system to StoreError. The message names the file.

    A class, because it is reusable, which makes commits faster.
    """

    __slots__ = ("_on_damage", "_path")

    def __init__(self, path: Path, on_damage: Callable[[StoreDamaged], None] = lambda _: None) -> None:
        self._path, self._on_damage = path, on_damage

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        if isinstance(error, sqlite3.Error):
            converted = _converted(self._path, error)
        elif isinstance(error, DamagedRecord):
            converted = StoreDamaged(f"{self._path} is damaged: {error}")
        elif isinstance(error, OSError):
            converted = StoreUnavailable(f"cannot use {error.filename or self._path}: {error.strerror or error}")
        else:
            return
        if isinstance(converted, StoreDamaged):
            self._on_damage(converted)
        raise converted from error


def _converted(path: Path, error: sqlite3.Error) -> StoreError:
    if is_damage(error):
        return StoreDamaged(f"{path} is damaged: {error}")
    if _primary_code(error) != sqlite3.SQLITE_NOTADB:
        return StoreUnavailable(f"cannot use {path}: {error}")
    if beside(path, KEY).exists():
        return StoreDamaged(f"{path} is damaged: {error}")
    return StoreMismatch(f"{path} is not a kconf store: {error}")


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error means that the file is damaged. Invalid JSON or UTF-8 has no error code of its own."""
    code = _primary_code(error)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH):
        return True
    return code in (0, sqlite3.SQLITE_ERROR) and any(each in str(error) for each in _DAMAGED_TEXTS)


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
