"""The file of an open store: its lock, its links, and what happens if it is deleted or replaced."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kconf.errors import StoreLocked, StoreLost, StoreMismatch
from kconf.model.resource import Resource
from kconf.store.registry import open_store
from kconf.store.sqlite.open_file import OpenFile
from kconf.store.sqlite.store import SqliteStore
from tests.contract.changes import commit, put

ORDERS = Resource.topic("orders")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kconf.db"


def opened(path: Path) -> SqliteStore:
    return SqliteStore.open(f"sqlite:///{path}")


def filled(path: Path) -> SqliteStore:
    store = opened(path)
    commit(store, put(ORDERS, "a", "1"))
    return store


def delete(path: Path) -> None:
    path.unlink()


def delete_all(path: Path) -> None:
    for each in path.parent.iterdir():
        each.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def replace(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    copy.replace(path)


def move_directory(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


@pytest.mark.parametrize("lose", [delete, delete_all, move, replace, move_directory])
def test_a_store_whose_database_file_was_removed_accepts_no_changes(
    path: Path, lose: object, caplog: pytest.LogCaptureFixture
) -> None:
    store = filled(path)
    assert store.problem is None
    assert callable(lose)
    lose(path)

    for _ in range(2):
        with pytest.raises(StoreLost, match=r"kconf\.db was deleted, moved or replaced while the store was open"):
            commit(store, put(ORDERS, "a", "2"))
    with pytest.raises(StoreLost):
        store.housekeep(notification_retention=1.0)
    with pytest.raises(StoreLost):
        store.append_attempts([])

    assert isinstance(store.problem, StoreLost)
    assert caplog.text.count("changes are refused; restore the store and restart the server") == 1
    assert store.load().overrides(ORDERS) == {"a": "1"}
    store.close()


def test_a_write_ahead_log_that_was_deleted_is_noticed_at_the_next_change(path: Path) -> None:
    store = filled(path)
    path.with_name("kconf.db-wal").unlink()

    with pytest.raises(StoreLost, match="-wal was deleted"):
        commit(store, put(ORDERS, "a", "2"))
    assert isinstance(store.problem, StoreLost)
    store.close()


def test_changes_that_only_a_deleted_write_ahead_log_has_are_saved(path: Path, tmp_path: Path) -> None:
    """The test then reads only the file and its key, as if the process had been killed."""
    store = filled(path)
    path.with_name("kconf.db-wal").unlink()
    with pytest.raises(StoreLost):
        store.housekeep(notification_retention=1.0)

    copy = tmp_path / "copy" / "kconf.db"
    copy.parent.mkdir()
    for suffix in ("", ".key"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    again = opened(copy)
    assert again.load().overrides(ORDERS) == {"a": "1"}
    again.close()
    store.close()


def test_closing_a_deleted_store_does_not_delete_the_log_of_its_replacement(path: Path) -> None:
    """Closing a store deletes its write-ahead log by name, but must not delete that of a new server."""
    store = filled(path)
    delete_all(path)
    code = (
        "import sys; from kconf.store.registry import open_store\n"
        "from tests.unit.store.sqlite.test_open_file import *\n"
        "commit(open_store(sys.argv[1]), put(ORDERS, 'a', '7')); print('committed', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, f"sqlite:///{path}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "committed\n"
        store.close()
        other.kill()

    again = opened(path)
    assert again.load().overrides(ORDERS) == {"a": "7"}
    again.close()


def test_two_names_of_one_file_are_refused(path: Path) -> None:
    filled(path).close()
    path.with_name("second.db").hardlink_to(path)

    with pytest.raises(StoreMismatch, match="has 2 hard links"):
        opened(path)


def test_a_store_opened_by_another_name_is_locked_too(path: Path) -> None:
    store = filled(path)
    linked = path.with_name("linked.db")
    linked.symlink_to(path)

    with pytest.raises(StoreLocked, match=f"in use by process {os.getpid()}"):
        opened(linked)
    code = "import sys; from kconf.store.registry import open_store; open_store(sys.argv[1])"
    url = f"sqlite:///{linked}"
    second = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, check=False)
    store.close()

    assert f"linked.db is in use by process {os.getpid()}" in second.stderr


def test_a_refused_second_open_does_not_release_the_locks_of_sqlite(path: Path) -> None:
    """Closing any descriptor of the file would release them. Then another process could delete the log in use."""
    store = filled(path)
    with pytest.raises(StoreLocked):
        opened(path)
    code = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "print(db.execute('PRAGMA journal_mode = DELETE').fetchone()[0])"
    )
    other = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    store.close()

    assert "locked" in other.stderr


def test_a_new_store_is_not_created_next_to_the_key_of_a_missing_one(path: Path) -> None:
    filled(path).close()
    path.unlink()

    with pytest.raises(StoreMismatch, match=r"kconf.db is missing, but its key kconf.db.key exists: restore the store"):
        opened(path)
    assert not path.exists()


def test_an_empty_file_with_a_key_file_is_refused(path: Path) -> None:
    filled(path).close()
    key = path.with_name("kconf.db.key").read_bytes()
    path.write_bytes(b"")

    with pytest.raises(StoreMismatch, match=r"kconf.db is empty, but its key kconf.db.key exists: restore the store"):
        opened(path)
    assert path.with_name("kconf.db.key").read_bytes() == key


def test_a_store_can_be_created_after_its_first_start_was_killed(path: Path) -> None:
    """Killed between writing the key and the tables, and between the tables and the key name."""
    path.write_bytes(b"")
    path.with_name("kconf.db.key.new").write_bytes(b"0" * 32)
    filled(path).close()
    key = path.with_name("kconf.db.key")
    first = key.read_bytes()
    assert first != b"0" * 32
    key.rename(path.with_name("kconf.db.key.new"))

    opened(path).close()

    assert key.read_bytes() == first
    assert sorted(each.name for each in path.parent.iterdir()) == ["kconf.db", "kconf.db.key"]


def test_an_orphaned_key_file_does_not_replace_the_key_of_a_store(path: Path) -> None:
    filled(path).close()
    key = path.with_name("kconf.db.key").read_bytes()
    path.with_name("kconf.db.key.new").write_bytes(b"0" * 32)

    opened(path).close()

    assert path.with_name("kconf.db.key").read_bytes() == key


def test_a_store_that_is_not_a_file_is_refused_at_once(path: Path) -> None:
    os.mkfifo(path)

    with pytest.raises(StoreMismatch, match="not a regular file"):
        opened(path)


def test_a_released_lock_can_be_taken_again(path: Path) -> None:
    path.touch()
    file = OpenFile(path)
    with pytest.raises(StoreLocked):
        OpenFile(path)
    file.release()
    file.release()

    OpenFile(path).release()


def test_other_programs_can_read_the_file_of_an_open_store(path: Path) -> None:
    store = filled(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM journal").fetchone() == (1,)
    open_store_again = pytest.raises(StoreLocked)
    with open_store_again:
        open_store(f"sqlite:///{path}")
    store.close()
