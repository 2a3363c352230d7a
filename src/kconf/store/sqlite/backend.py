"""Registers SQLite stores with registry.py."""

from __future__ import annotations

from kconf.store.base import Backend
from kconf.store.sqlite.backup import backup
from kconf.store.sqlite.files import path_of
from kconf.store.sqlite.initialize import initialize
from kconf.store.sqlite.integrity import verify
from kconf.store.sqlite.store import SqliteStore

BACKEND = Backend(
    open=SqliteStore.open,
    initialize=initialize,
    backup=lambda url, target, overwrite: backup(path_of(url), target, overwrite=overwrite),
    open_damaged=SqliteStore.open_damaged,
    verify=lambda url: verify(path_of(url)),
)
