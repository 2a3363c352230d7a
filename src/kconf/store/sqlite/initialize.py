"""A new SQLite store that goes on where another ended; it grows under a hidden name, and gets its own at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex

from kconf.errors import StoreMismatch
from kconf.security.value_cipher import Secrets
from kconf.store.base import InitialIdentity
from kconf.store.sqlite.files import check_place, failures
from kconf.store.sqlite.store import SCHEME, SqliteStore, path_of
from kconf.util.atomic_files import beside, sync_directory


@contextmanager
def founded(url: str, founding: InitialIdentity, secrets: Secrets) -> Iterator[SqliteStore]:
    """The store to fill. FILE and FILE.key appear when the block ends well; else nothing is left."""
    path = path_of(url)
    with failures(path):
        check_place(path)
        for each in (path, beside(path, ".key")):
            if each.exists():
                raise StoreMismatch(f"{each} is already there: a copy goes into an empty place")
        part = path.with_name(f".{path.name}.{token_hex(4)}.part")
        try:
            store = SqliteStore.open(f"{SCHEME}{part}", secrets, founding)
            try:
                yield store
            finally:
                store.close()
            os.replace(beside(part, ".key"), beside(path, ".key"))
            os.replace(part, path)
            sync_directory(path.parent)
        finally:
            for ending in ("", ".key", ".lock", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    beside(part, ending).unlink()
