"""Registers SQLite stores with registry.py."""

from __future__ import annotations

from pathlib import Path

from kconf.store.base import Backend, Backup
from kconf.store.sqlite.files import path_of
from kconf.store.sqlite.initialize import initialize
from kconf.store.sqlite.integrity import verify
from kconf.store.sqlite.store import SqliteStore


def _backup(url: str, target: Path, overwrite: bool) -> Backup:
    from kconf.store.sqlite.backup import backup

    return backup(path_of(url), target, overwrite=overwrite)


BACKEND = Backend(
    open=SqliteStore.open,
    initialize=initialize,
    backup=_backup,
    open_damaged=SqliteStore.open_damaged,
    verify=lambda url: verify(path_of(url)),
)
