"""Backups of a store, with and without a running server."""

from __future__ import annotations

import stat
from pathlib import Path
from threading import Event, Thread

import pytest

from kconf.errors import StoreError, StoreMismatch, StoreUnavailable
from kconf.model.resource import Resource
from kconf.model.snapshot import replay
from kconf.store.base import Store
from kconf.store.registry import open_store
from kconf.store.sqlite.backup import backup
from tests.contract.changes import commit, pending, put

ORDERS = Resource.topic("orders")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "live.db"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "copy.db"


def opened(path: Path) -> Store:
    return open_store(f"sqlite:///{path}")


def made(path: Path) -> None:
    store = opened(path)
    commit(store, put(ORDERS, "pw", "secret", sensitive=True))
    store.close()


def test_a_copy_of_a_closed_store_has_the_same_content(source: Path, target: Path) -> None:
    made(source)

    done = backup(source, target)

    assert (done.revision, done.bytes) == (1, target.stat().st_size)
    live, copy = opened(source), opened(target)
    assert (copy.load(), copy.cluster_id, copy.changes(0)) == (live.load(), live.cluster_id, live.changes(0))
    live.close()
    copy.close()


def test_a_copy_and_its_key_are_readable_only_by_their_owner(source: Path, target: Path) -> None:
    made(source)
    backup(source, target)

    copies = sorted(each for each in target.parent.iterdir() if each.name.startswith("copy"))
    assert [each.name for each in copies] == ["copy.db", "copy.db.key"]
    assert [stat.S_IMODE(each.stat().st_mode) for each in copies] == [0o600, 0o600]


def test_a_store_is_copied_consistently_while_it_is_written(source: Path, target: Path) -> None:
    store = opened(source)
    writing, enough = Event(), Event()

    def write() -> None:
        number = 0
        while not enough.is_set():
            number += 1
            batch = [pending(put(Resource.group(f"{number}-{place}"), "k", str(number))) for place in range(20)]
            store.commit([*batch, pending(put(ORDERS, "last", str(number)))])
            writing.set()

    writer = Thread(target=write)
    writer.start()
    try:
        assert writing.wait(10)
        copies = [target.with_name(f"copy-{place}.db") for place in range(5)]
        done = [backup(source, each) for each in copies]
    finally:
        enough.set()
        writer.join()
        store.close()

    assert [each.revision for each in done] == sorted(each.revision for each in done)
    for path, result in zip(copies, done, strict=True):
        copy = opened(path)
        state = copy.load()
        assert state.revision == result.revision
        assert state.revision % 21 == 0  # whole transactions
        assert replay((each.number, each.changes) for each in copy.changes(0, 10**9)) == state
        copy.close()


def test_an_existing_file_is_not_overwritten_by_default(source: Path, target: Path) -> None:
    made(source)
    target.write_text("precious")

    with pytest.raises(StoreError, match="already exists"):
        backup(source, target)
    assert target.read_text() == "precious"

    backup(source, target, overwrite=True)
    opened(target).close()


def test_a_copy_never_replaces_a_store_in_use(source: Path, target: Path) -> None:
    made(source)
    running = opened(target)
    commit(running, put(ORDERS, "a", "1"))

    with pytest.raises(StoreError, match="in use"):
        backup(source, target, overwrite=True)
    with pytest.raises(StoreError, match="in use"):
        backup(target, target, overwrite=True)

    running.close()


def test_a_missing_source_creates_no_target(source: Path, target: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"live\.db"):
        backup(source, target)

    assert list(target.parent.iterdir()) == []


def test_only_kconf_stores_are_copied(source: Path, target: Path) -> None:
    source.write_text("some notes\n" * 1000)

    with pytest.raises(StoreMismatch, match="not a kconf store"):
        backup(source, target)

    assert list(target.parent.iterdir()) == [source]


def test_a_target_without_a_directory_is_reported_in_one_sentence(source: Path, tmp_path: Path) -> None:
    made(source)

    with pytest.raises(StoreUnavailable, match="nowhere"):
        backup(source, tmp_path / "nowhere" / "copy.db")
