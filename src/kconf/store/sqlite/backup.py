"""Copy the store of a running server: `kconf backup FILE`.

The copy is taken in one read transaction, so it is the store as of one revision; the server continues to commit
meanwhile. The copy appears under its final name complete or not at all, and FILE.key is copied with it.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path
from secrets import token_hex

from kconf.errors import StoreError
from kconf.store.base import Backup
from kconf.store.sqlite.files import connect, read_store_key, store_errors
from kconf.store.sqlite.integrity import check_copy
from kconf.store.sqlite.schema import check
from kconf.util.atomic_files import beside, create, sync_directory


def backup(source: Path, target: Path, *, overwrite: bool = False) -> Backup:
    """Copy a store, in use or not, to a new file; FILE.key is copied with FILE."""
    if target.exists() and not overwrite:
        raise StoreError(f"{target} already exists")
    if beside(target, "-wal").exists():
        raise StoreError(f"{target} is a store in use and cannot be replaced by a backup")
    part = beside(target, f".{token_hex(4)}.part")
    with store_errors(target):
        try:
            revision = _copy(source, part)
            done = Backup(revision, part.stat().st_size)
            _put_key(source, target)
            os.replace(part, target)
            sync_directory(target.parent)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()
    return done


def _copy(source: Path, part: Path) -> int:
    """Write all pages durably to `part`; returns the revision of the copy."""
    with store_errors(source), closing(connect(source, read_only=True)) as live:
        live.execute("BEGIN")
        check(live, source)
        (revision,) = live.execute("SELECT coalesce(max(number), 0) FROM journal").fetchone()
        create(part)
        with store_errors(part), closing(connect(part)) as copy:
            copy.execute("PRAGMA synchronous = OFF")  # one fsync at the end makes all of it durable
            live.backup(copy)
            check_copy(copy, source)  # damage must not be found when the backup is needed
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return int(revision)


def _put_key(source: Path, target: Path) -> None:
    part = beside(target, f".key.{token_hex(4)}.part")
    create(part, read_store_key(source))
    os.replace(part, beside(target, ".key"))
