"""Damage of a store file is found at start, by `verify` and by `backup`, and always reported as damage."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kconf.errors import StoreDamaged, StoreError
from kconf.model.journal import AuditEntry, RequestContext
from kconf.model.resource import Resource
from kconf.store.base import Verification
from kconf.store.copy import copy_store
from kconf.store.sqlite import integrity
from kconf.store.sqlite.backup import backup
from kconf.store.sqlite.integrity import verify
from kconf.store.sqlite.store import SqliteStore
from tests.contract.changes import commit, put, topic, turned

PAGE = 4096
REVISIONS = 400
ORDERS = Resource.topic("orders")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with some hundred pages."""
    path = tmp_path_factory.mktemp("store") / "kconf.db"
    store = SqliteStore.open(f"sqlite:///{path}")
    commit(store, turned(None, topic("orders")))
    for number in range(1, REVISIONS):
        commit(store, put(Resource.topic(f"t-{number % 50}"), "retention.ms", str(number) * 200))
    caller = RequestContext("User:ada")
    store.append_attempts([AuditEntry(5, caller, 1, ORDERS, ("a",), 29, False) for _ in range(200)])
    store.close()
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "kconf.db"
    for suffix in ("", ".key"):
        shutil.copy(f"{original}{suffix}", f"{copy}{suffix}")
    return copy


def opened(path: Path) -> SqliteStore:
    return SqliteStore.open(f"sqlite:///{path}")


def pages_of(path: Path, table: str) -> list[int]:
    """The numbers of a table's leaf pages, from 0. Found by content, because dbstat is not always available."""
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    data = path.read_bytes()
    found, todo = [], [root]
    while todo:
        number = todo.pop()
        page = data[(number - 1) * PAGE : number * PAGE]
        if page[0] in (2, 5):  # an interior page
            count = int.from_bytes(page[3:5], "big")
            cells = [int.from_bytes(page[12 + 2 * each : 14 + 2 * each], "big") for each in range(count)]
            todo += [int.from_bytes(page[each : each + 4], "big") for each in cells]
            todo.append(int.from_bytes(page[8:12], "big"))
        else:
            found.append(number - 1)
    return sorted(found)


def overwrite(path: Path, page: int, content: bytes, at: int = 0) -> None:
    with path.open("r+b") as file:
        file.seek(page * PAGE + at)
        file.write(content)


def status(found: Verification) -> dict[str, bool]:
    return {each.name: not each.problems for each in found.parts}


def test_an_undamaged_store_is_verified_as_intact(path: Path) -> None:
    found = verify(path)

    assert status(found) == dict.fromkeys(("state", "journal", "audit log", "agreement", "pages"), True)
    assert [each.detail for each in found.parts][:3] == [
        "1 topics, 51 resources",
        f"revisions 1 to {REVISIONS}",
        "200 entries",
    ]


def test_a_store_in_use_is_verified_with_its_unmerged_changes(path: Path) -> None:
    store = opened(path)
    commit(store, put(ORDERS, "retention.ms", "1"), put(ORDERS, "password", "x", sensitive=True))
    commit(store, put(ORDERS, "retention.ms", "2"))
    found = verify(path)
    store.close()

    assert not found.is_damaged
    assert not verify(path).is_damaged


def test_a_damaged_journal_page_prevents_the_start_and_the_state_is_reported_as_intact(path: Path) -> None:
    overwrite(path, pages_of(path, "journal")[3], random.Random(1).randbytes(PAGE))

    with pytest.raises(
        StoreDamaged, match=r"is damaged \(state: intact; journal: .*copy the state with `kconf store copy`"
    ):
        opened(path)
    assert status(verify(path)) == {"state": True, "journal": False, "audit log": True}


def test_a_damaged_page_of_the_state_is_reported_as_such(path: Path) -> None:
    overwrite(path, pages_of(path, "resources")[0], random.Random(1).randbytes(PAGE))

    with pytest.raises(StoreDamaged, match=r"is damaged \(state: .*\): restore a backup$"):
        opened(path)
    assert status(verify(path)) == {"state": False, "journal": True, "audit log": True}


def test_a_backup_of_a_damaged_store_fails_and_leaves_nothing(path: Path, tmp_path: Path) -> None:
    overwrite(path, pages_of(path, "journal")[3], random.Random(1).randbytes(PAGE))

    with pytest.raises(StoreDamaged, match="is damaged, so it was not backed up"):
        backup(path, tmp_path / "copy.db")
    assert not list(tmp_path.glob("copy.db*"))


@pytest.mark.parametrize("page", [0, 3])
def test_the_state_of_a_store_with_a_damaged_journal_can_be_copied(
    path: Path, tmp_path: Path, original: Path, page: int
) -> None:
    overwrite(path, pages_of(path, "journal")[page], random.Random(1).randbytes(PAGE))

    copy_store(f"sqlite:///{path}", f"sqlite:///{tmp_path / 'new.db'}")

    old, new = opened(original), opened(tmp_path / "new.db")
    assert new.load().configs == old.load().configs
    old.close()
    new.close()


def test_a_damaged_state_is_not_copied(path: Path, tmp_path: Path) -> None:
    overwrite(path, pages_of(path, "resources")[0], random.Random(1).randbytes(PAGE))

    with pytest.raises(StoreDamaged, match="including its state"):
        copy_store(f"sqlite:///{path}", f"sqlite:///{tmp_path / 'new.db'}")
    assert not (tmp_path / "new.db").exists()


def _sql(statement: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(statement)

    return run


@pytest.mark.parametrize(
    ("damage", "part", "problem"),
    [
        (_sql("DELETE FROM journal WHERE number = 7"), "journal", "revision 7 is missing; 8 is next"),
        (_sql("UPDATE journal SET record = '[1]' WHERE number = 7"), "journal", "revision 7 of the journal cannot be"),
        (_sql("DELETE FROM touched WHERE number = 9"), "journal", "revision 9 of .* is missing from the index"),
        (_sql("UPDATE resources SET overrides = '[' WHERE revision = 399"), "state", "the state cannot be read"),
        (
            _sql("UPDATE resources SET overrides = '{}' WHERE revision = 399"),
            "agreement",
            "retention.ms is set in the journal but not in the state",
        ),
        (
            _sql("UPDATE resources SET overrides = replace(overrides, '9', '8') WHERE revision = 399"),
            "agreement",
            "retention.ms has different values in the state and in the journal",
        ),
        (_sql("UPDATE resources SET revision = 1 WHERE revision = 399"), "agreement", "399 in the journal, 1 in the"),
        (_sql("DELETE FROM topics"), "agreement", "the topic differs"),
        (_sql("UPDATE attempts SET record = '{' WHERE number = 3"), "audit log", "entry 3 of the audit log cannot"),
    ],
)
def test_verify_finds_what_sqlite_does_not(path: Path, damage: Callable[[Path], None], part: str, problem: str) -> None:
    damage(path)

    found = verify(path)

    [damaged] = [each for each in found.parts if each.problems]
    assert damaged.name == part
    assert re.search(problem, damaged.problems[0])


def test_a_reader_that_meets_damage_reports_it_as_damage(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It was not found at start, because it is in an old part of a long journal."""
    _sql("UPDATE journal SET record = '[5,0,0,0,0,0,0,0,[1]]' WHERE number = 7")(path)
    store = SqliteStore.open(f"sqlite:///{path}", integrity=lambda *_: None)
    reader = store.journal_reader()

    assert len(reader.changes(10)) == REVISIONS - 10
    assert store.problem is None
    for _ in range(2):
        with pytest.raises(StoreDamaged, match="revision 7 of the journal cannot be read"):
            reader.changes(0)

    assert isinstance(store.problem, StoreDamaged)
    assert caplog.text.count("run `kconf store verify` for details") == 1
    reader.close()
    store.close()


def test_damage_in_an_old_part_of_a_long_journal_is_found_only_by_verify(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrity, "MAX_CHECKED", 100)
    pages = pages_of(path, "journal")
    overwrite(path, pages[3], random.Random(1).randbytes(PAGE))
    opened(path).close()

    assert not status(verify(path))["journal"]
    overwrite(path, pages[-3], random.Random(1).randbytes(PAGE))
    with pytest.raises(StoreDamaged):
        opened(path)


def damages() -> Iterator[tuple[int, int]]:
    """Seeds, and the length of the overwritten data: a page, a sector, or some bytes."""
    for seed in range(20):
        for length in (PAGE, 512, 48):
            yield seed, length


def test_random_damage_is_found_or_harmless(original: Path, tmp_path: Path) -> None:
    """For any damaged page, either StoreError is raised, or the store has all its contents."""
    whole = opened(original)
    state, journal = whole.load(), whole.changes(0)
    whole.close()
    pages = original.stat().st_size // PAGE
    refused = 0
    for seed, length in damages():
        chance = random.Random(seed)
        path = tmp_path / f"{seed}-{length}.db"
        for suffix in ("", ".key"):
            shutil.copy(f"{original}{suffix}", f"{path}{suffix}")
        overwrite(path, chance.randrange(pages), chance.randbytes(length), chance.randrange(PAGE - length + 1))
        try:
            store = opened(path)
        except StoreError:
            refused += 1
            with pytest.raises(StoreError):
                backup(path, tmp_path / "copy.db")
            continue
        try:
            assert store.load().configs == state.configs
            assert store.changes(0) == journal
        except StoreDamaged:
            assert verify(path).is_damaged
        store.close()

    assert refused > 20
