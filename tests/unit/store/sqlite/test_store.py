"""Features of the SQLite store only: files, lock, refusals, schema. The rest is in tests/contract."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kconf.errors import ConfigurationError, StoreError, StoreLocked, StoreMismatch, StoreUnavailable
from kconf.model.resource import Resource
from kconf.store.registry import open_store
from kconf.store.sqlite.backup import backup
from kconf.store.sqlite.files import path_of
from kconf.store.sqlite.schema import TABLES, VERSION
from kconf.store.sqlite.store import SqliteStore
from kconf.version import __version__
from tests.contract.changes import commit, pending, put, topic, turned

ORDERS = Resource.topic("orders")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kconf.db"


def url(path: Path) -> str:
    return f"sqlite:///{path}"


def meta(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as db:
        return dict(db.execute("SELECT key, value FROM meta"))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def test_a_url_with_three_slashes_is_relative_and_with_four_absolute() -> None:
    assert path_of("sqlite:///a/b.db") == Path("a/b.db")
    assert path_of("sqlite:////a/b.db") == Path("/a/b.db")


@pytest.mark.parametrize("wrong", ["sqlite:///", "sqlite://a", "sqlite:a", "nowhere://a"])
def test_a_url_without_a_file_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigurationError):
        open_store(wrong)


def test_a_relative_url_is_opened_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    open_store("sqlite:///here.db").close()

    assert (tmp_path / "here.db").exists()


@pytest.mark.parametrize("name", ["a b.db", "a?mode=memory", "a%20b", "a#b", "ü.db", "file:x"])
def test_a_file_name_with_special_characters_is_used_literally(tmp_path: Path, name: str) -> None:
    store = open_store(url(tmp_path / name))
    commit(store, put(ORDERS, "a", "1"))
    store.close()

    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([name, f"{name}.key"])


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_only_the_owner_can_access_the_files_with_any_umask(path: Path, mask: int) -> None:
    with umask(mask):
        store = open_store(url(path))
        commit(store, put(ORDERS, "a", "1"))

    modes = {each.name.removeprefix("kconf.db"): mode(each) for each in path.parent.iterdir()}
    store.close()
    assert modes == dict.fromkeys(["", "-wal", "-shm", ".key"], 0o600)


def test_a_second_process_gets_the_process_id_that_holds_the_store(path: Path) -> None:
    store = open_store(url(path))
    code = "import sys; from kconf.store.registry import open_store; open_store(sys.argv[1])"

    second = subprocess.run([sys.executable, "-c", code, url(path)], capture_output=True, text=True, check=False)
    store.close()

    last_line = second.stderr.strip().splitlines()[-1]
    assert last_line == (f"kconf.errors.StoreLocked: {path} is in use by process {os.getpid()}")
    open_store(url(path)).close()


def test_the_lock_of_a_killed_process_is_free(path: Path) -> None:
    code = (
        "import sys; from kconf.store.registry import open_store\n"
        "kept = open_store(sys.argv[1]); print('open', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, url(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreLocked, match=f"in use by process {holder.pid}$"):
            open_store(url(path))
        holder.send_signal(signal.SIGKILL)

    open_store(url(path)).close()


def test_a_store_that_could_not_be_opened_is_not_locked(path: Path) -> None:
    path.write_text("not a database, but long enough to be taken for one" * 100)
    with pytest.raises(StoreMismatch):
        open_store(url(path))
    path.unlink()

    open_store(url(path)).close()


def test_a_store_can_be_closed_twice(path: Path) -> None:
    store = open_store(url(path))
    store.close()
    store.close()


def test_a_closed_store_is_unavailable(path: Path) -> None:
    store = open_store(url(path))
    store.close()

    with pytest.raises(StoreUnavailable, match=r"kconf\.db"):
        commit(store, put(ORDERS, "a", "1"))


def test_a_file_that_is_not_a_database_is_not_changed(path: Path) -> None:
    path.write_text("some notes\n" * 1000)

    with pytest.raises(StoreMismatch, match="not a kconf store"):
        open_store(url(path))

    assert path.read_text() == "some notes\n" * 1000
    assert not path.with_name("kconf.db.key").exists()


@pytest.mark.parametrize(
    "tables", ["CREATE TABLE songs (title)", "CREATE TABLE meta (key, value)", "CREATE TABLE meta (x)"]
)
def test_a_database_of_another_program_is_not_changed(path: Path, tables: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(tables)
    before = path.read_bytes()

    with pytest.raises(StoreMismatch, match="not a kconf store"):
        open_store(url(path))

    assert path.read_bytes() == before
    assert not path.with_name("kconf.db.key").exists()


def test_a_newer_schema_is_refused_and_its_writer_named(path: Path) -> None:
    open_store(url(path)).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
        db.execute("UPDATE meta SET value = '7.8.9' WHERE key = 'written_by'")

    with pytest.raises(StoreMismatch, match=r"newer version of kconf \(7\.8\.9\): its schema version is 99"):
        open_store(url(path))


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()

    open_store(url(path)).close()

    assert meta(path)["schema"] == str(VERSION)
    assert meta(path)["written_by"] == __version__


def version_1(path: Path) -> None:
    """A store of version 1: the tables without the views."""
    with closing(sqlite3.connect(path)) as db, db:
        for statement in TABLES:
            db.execute(statement)
        db.executemany(
            "INSERT INTO meta VALUES (?, ?)",
            [("schema", "1"), ("cluster_id", "AAAAAAAAQACAAAAAAAAAAA"), ("written_by", "0.0.1")],
        )
        line = '["config",[2,"orders"],"a",null,"1","SET",false]'
        db.execute("INSERT INTO journal VALUES (1, ?)", (f'[5,"User:a","","","",0,null,"kconf",[{line}]]',))
        db.execute("""INSERT INTO resources VALUES ('[2,"orders"]', 1, '{"a":"1"}')""")
    path.with_name(path.name + ".key").write_bytes(bytes(32))


def test_a_store_of_schema_version_1_is_migrated_with_its_content(path: Path) -> None:
    version_1(path)

    store = open_store(url(path))
    commit(store, put(ORDERS, "b", "2"))
    store.close()

    facts = {"schema": "3", "cluster_id": "AAAAAAAAQACAAAAAAAAAAA", "written_by": __version__, "folded": "2"}
    assert meta(path) == facts
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT revision, line, key, after FROM changes").fetchall() == [
            (1, 0, "a", "1"),
            (2, 0, "b", "2"),
        ]
        assert db.execute("SELECT * FROM overrides").fetchall() == [(2, "orders", "a", "1"), (2, "orders", "b", "2")]


def test_a_migration_that_fails_leaves_the_old_version(path: Path) -> None:
    version_1(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE VIEW changes AS SELECT 1")

    with pytest.raises(StoreError, match="changes"):
        open_store(url(path))

    assert meta(path)["schema"] == "1"
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall() == [("changes",)]


def test_views_show_the_journal_as_columns(path: Path) -> None:
    store = open_store(url(path))
    commit(store, turned(None, topic("orders")), put(ORDERS, "a", "2", before="1"))
    store.close()

    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT number, time, principal, api, reason, origin FROM revisions").fetchall() == [
            (1, 1000, "User:alice", "INCREMENTAL_ALTER_CONFIGS", "because", "kconf")
        ]
        assert db.execute("SELECT line, kind, resource, key, before, after, op FROM changes").fetchall()[1] == (
            1, "config", '[2,"orders"]', "a", "1", "2", "SET"
        )  # fmt: skip


def test_a_store_without_its_key_is_refused(path: Path) -> None:
    open_store(url(path)).close()
    key = path.with_name("kconf.db.key")
    kept = key.read_bytes()
    key.unlink()
    with pytest.raises(StoreMismatch, match=r"kconf\.db\.key is missing"):
        open_store(url(path))

    key.write_bytes(kept[:5])
    with pytest.raises(StoreMismatch, match="not a key"):
        open_store(url(path))


def test_no_secret_and_no_key_reaches_the_journal_or_the_image_file(path: Path) -> None:
    store = open_store(url(path))
    commit(store, put(Resource.brokers(), "pw", "s3cr3t", sensitive=True))
    commit(store, put(Resource.brokers(), "pw", None, before="s3cr3t", sensitive=True))
    store.close()

    whole = path.read_bytes()
    assert b"s3cr3t" not in whole
    assert path.with_name("kconf.db.key").read_bytes() not in whole


def test_a_directory_instead_of_the_file_is_reported_in_one_sentence(path: Path) -> None:
    path.mkdir()

    with pytest.raises(StoreUnavailable, match="it is a directory"):
        open_store(url(path))

    assert list(path.parent.iterdir()) == [path]


def test_a_missing_directory_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="there is no directory"):
        open_store(url(tmp_path / "nowhere" / "kconf.db"))


def test_a_file_instead_of_the_directory_is_reported_in_one_sentence(path: Path) -> None:
    path.touch()

    with pytest.raises(StoreUnavailable, match="there is no directory"):
        open_store(url(path / "kconf.db"))


def test_an_unwritable_path_is_reported_in_one_sentence() -> None:
    with pytest.raises(StoreUnavailable, match=r"/proc/kconf\.db"):
        open_store("sqlite:////proc/kconf.db")


@contextmanager
def no_file_longer_than(length: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_fails_the_batch_and_later_commits_succeed(path: Path) -> None:
    store = open_store(url(path))
    commit(store, put(ORDERS, "a", "1"))
    before = store.load()
    wal = path.with_name("kconf.db-wal").stat().st_size

    with no_file_longer_than(wal + 5000), pytest.raises(StoreUnavailable, match=r"kconf\.db"):
        store.commit([pending(put(ORDERS, f"k{number}", "x" * 1000)) for number in range(100)])

    assert store.load() == before
    assert commit(store, put(ORDERS, "a", "2"), guards={ORDERS: 1}).number == 2
    state = store.load()
    store.close()
    again = open_store(url(path))
    assert again.load() == state
    again.close()


def test_a_damaged_file_is_a_store_error(path: Path) -> None:
    store = open_store(url(path))
    store.commit([pending(put(Resource.group(str(number)), "k", "x" * 500)) for number in range(200)])
    store.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (size - 8192))

    with pytest.raises(StoreError, match="damaged"):
        open_store(url(path))


def test_the_store_uses_a_write_ahead_log_and_syncs_every_commit(path: Path) -> None:
    """WAL with synchronous=FULL: without it, a power failure could lose acknowledged revisions."""
    store = SqliteStore.open(url(path))
    try:
        pragmas = [store._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    finally:
        store.close()

    assert pragmas == ["wal", 2]


def test_equal_overrides_are_stored_once(path: Path) -> None:
    store = open_store(url(path))
    store.commit([pending(put(Resource.group(str(number)), "k", "v")) for number in range(10)])
    store.close()

    store = open_store(url(path))
    assert len({id(overrides) for overrides in store.load().configs.values()}) == 1
    store.close()


def test_journal_entries_that_are_not_in_the_state_tables_are_read(path: Path) -> None:
    store = open_store(url(path))
    store.commit([pending(put(Resource.group(str(number)), "k", "v")) for number in range(3000)])
    store.commit([pending(put(ORDERS, "a", "1")), pending(put(Resource.group("0"), "k", None))])
    folded, state = meta(path)["folded"], store.load()

    backup(path, path.with_name("copy.db"))  # as after a crash
    copy = open_store(url(path.with_name("copy.db")))

    assert (folded, state.revision) == ("3000", 3002)
    assert copy.load() == state
    copy.close()
    store.close()


def test_a_commit_with_a_secret_merges_the_journal_into_the_state(path: Path) -> None:
    """The journal cannot restore a secret, and an earlier plain value must not overwrite it."""
    store = open_store(url(path))
    commit(store, put(ORDERS, "a", "plain"))
    commit(store, put(ORDERS, "a", "secret", sensitive=True))

    assert meta(path)["folded"] == "2"
    assert store.load().overrides(ORDERS) == {"a": "secret"}
    commit(store, put(ORDERS, "a", "plain again"))
    assert store.load().overrides(ORDERS) == {"a": "plain again"}
    store.close()
