"""A reader concurrent with the writer: nothing is missing, whatever the writer does between two statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kconf.errors import JournalTrimmed
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.store.sqlite.journal_reader import SqliteJournalReader
from kconf.store.sqlite.store import SqliteStore

ORDERS = Resource.topic("orders")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore.open(f"sqlite:///{tmp_path / 'kconf.db'}")
    yield made
    made.close()


def put(store: SqliteStore, value: int, *, sensitive: bool = False) -> None:
    change = Change(ChangeKind.CONFIG, ORDERS, "k", None, str(value), "set", sensitive)
    store.commit([PendingCommit(RequestContext(), value, [change], {})])


def meanwhile(reader: SqliteJournalReader, sign: str, act: Callable[[], object]) -> None:
    """Run the writer once when the reader starts a statement that contains this text."""

    def trace(statement: str) -> None:
        if sign in statement:
            reader._db.set_trace_callback(None)
            act()

    reader._db.set_trace_callback(trace)


def test_a_trim_between_the_check_and_the_read_leaves_no_gap(store: SqliteStore) -> None:
    for number in range(1, 10):
        put(store, number)
    reader = store.journal_reader()
    meanwhile(reader, "SELECT number, record", lambda: store.trim(keep_last=2))

    assert [each.number for each in reader.changes(3)] == [4, 5, 6, 7, 8, 9]
    with pytest.raises(JournalTrimmed):
        reader.changes(3)
    reader.close()


def test_merging_changes_between_the_index_and_the_rest_leaves_no_gap(store: SqliteStore) -> None:
    for number in range(1, 10):
        put(store, number)
    reader = store.journal_reader()
    meanwhile(
        reader, "'folded'", lambda: put(store, 10, sensitive=True)
    )  # sensitive values are merged into the state immediately

    assert [each.number for each in reader.changes_for([ORDERS], 0)] == list(range(1, 10))
    assert [each.number for each in reader.changes_for([ORDERS], 0)] == list(range(1, 11))
    reader.close()


def test_a_time_is_resolved_although_the_journal_is_trimmed_meanwhile(store: SqliteStore) -> None:
    for number in range(1, 10):
        put(store, number)
    reader = store.journal_reader()
    meanwhile(reader, "SELECT time", lambda: store.trim(keep_last=1))

    assert reader.revision_at(5) == 5
    reader.close()


def test_a_reader_can_be_used_after_an_unfinished_read(store: SqliteStore) -> None:
    for number in range(1, 10):
        put(store, number)
    reader = store.journal_reader()
    going_back = reader.reverse_changes([ORDERS], 0)
    assert next(going_back).number == 9
    going_back.close()  # type: ignore[attr-defined]  # it is a generator

    assert [each.number for each in reader.changes(8)] == [9]
    reader.close()
