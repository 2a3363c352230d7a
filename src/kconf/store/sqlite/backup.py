"""Copy the store of a running server: `kconf backup FILE`.

The copy is taken inside one read transaction, so it is the store as it stood after some revision; the server goes on
committing meanwhile. It appears under its name whole or not at all, with its key beside it.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from kconf.errors import StoreError
from kconf.store.sqlite.files import connect, failures, seal_key
from kconf.store.sqlite.schema import check
from kconf.util.atomic_files import beside, create, sync_directory


@dataclass(frozen=True, slots=True)
class Backup:
    """What was copied: the store as of `revision`, `bytes` long."""

    revision: int
    bytes: int


def backup(source: Path, target: Path, *, overwrite: bool = False) -> Backup:
    """Copy a store, in use or not, to a new file; FILE.key goes with FILE."""
    if target.exists() and not overwrite:
        raise StoreError(f"{target} is already there")
    if beside(target, "-wal").exists():
        raise StoreError(f"{target} is a store in use: a copy cannot take its place")
    part = beside(target, f".{token_hex(4)}.part")
    with failures(target):
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
    """Write all pages to `part` and make them last; the revision that they stand for."""
    with failures(source), closing(connect(source, read_only=True)) as live:
        live.execute("BEGIN")
        check(live, source)
        (revision,) = live.execute("SELECT coalesce(max(number), 0) FROM journal").fetchone()
        create(part)
        with failures(part), closing(connect(part)) as copy:
            copy.execute("PRAGMA synchronous = OFF")  # one fsync at the end makes all of it last
            live.backup(copy)
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return int(revision)


def _put_key(source: Path, target: Path) -> None:
    part = beside(target, f".key.{token_hex(4)}.part")
    create(part, seal_key(source, new=False))
    os.replace(part, beside(target, ".key"))
