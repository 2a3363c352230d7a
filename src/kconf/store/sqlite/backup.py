"""Copies the store of a running server: `kconf backup FILE`.

The copy is made in one read transaction, so it is consistent as of one revision. The server continues to commit
meanwhile. The copy gets its final name only when it is complete. FILE.key is copied with it.
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
    """Copy a store to a new file, with its FILE.key. The store may be in use."""
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
    """Write all pages durably to `part`. Returns the revision of the copy."""
    with store_errors(source), closing(connect(source, read_only=True)) as live:
        live.execute("BEGIN")
        check(live, source)
        (revision,) = live.execute("SELECT coalesce(max(number), 0) FROM journal").fetchone()
        create(part)
        with store_errors(part), closing(connect(part)) as copy:
            copy.execute("PRAGMA synchronous = OFF")  # one fsync at the end makes all of it durable
            live.backup(copy)
            check_copy(copy, source)  # detect damage now, not when the backup is needed
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
