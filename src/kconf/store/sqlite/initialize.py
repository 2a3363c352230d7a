"""Creates a SQLite store for a copy, under a hidden name. It is renamed when it is complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex

from kconf.errors import StoreMismatch
from kconf.security.value_cipher import Secrets
from kconf.store.base import InitialIdentity
from kconf.store.sqlite.files import KEY, NEW_KEY, SCHEME, check_location, path_of, publish_store_key, store_errors
from kconf.store.sqlite.store import SqliteStore
from kconf.util.atomic_files import beside


@contextmanager
def initialize(url: str, identity: InitialIdentity, secrets: Secrets) -> Iterator[SqliteStore]:
    """Create a store to be filled. It gets its final name after the block ends; after an error, nothing is left."""
    path = path_of(url)
    with store_errors(path):
        check_location(path)
        for each in (path, beside(path, KEY)):
            if each.exists():
                raise StoreMismatch(f"{each} already exists; the target of a copy must be empty")
        part = path.with_name(f".{path.name}.{token_hex(4)}.part")
        try:
            store = SqliteStore.open(f"{SCHEME}{part}", secrets, identity)
            try:
                yield store
            finally:
                store.close()
            os.replace(beside(part, KEY), beside(path, NEW_KEY))
            os.replace(part, path)
            publish_store_key(path)
        finally:
            for suffix in ("", KEY, NEW_KEY, "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    beside(part, suffix).unlink()
