"""The contract of a store's journal reader, and of attempts; on every store."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kconf.errors import JournalTrimmed
from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.store.base import Store

ORDERS, PAYMENTS = Resource.topic("orders"), Resource.topic("payments ü")


def put(store: Store, resource: Resource, value: str, *, time: int = 0, sensitive: bool = False) -> None:
    before = store.load().overrides(resource).get("k")
    change = Change(ChangeKind.CONFIG, resource, "k", before, value, "set", sensitive)
    store.commit([PendingCommit(RequestContext(), time, [change], {})])


def numbers(found: Sequence[object]) -> list[int]:
    return [each.number for each in found]  # type: ignore[attr-defined]  # revisions and attempts both have one


def test_a_reader_sees_every_commit_at_once(store: Store) -> None:
    reader = store.journal_reader()
    put(store, ORDERS, "1")
    put(store, PAYMENTS, "1")

    assert numbers(reader.changes(0)) == [1, 2]
    put(store, ORDERS, "2")
    assert numbers(reader.changes(2)) == [3]
    reader.close()


def test_changes_for_finds_the_revisions_of_one_resource(store: Store) -> None:
    reader = store.journal_reader()
    for turn in range(12):
        put(store, ORDERS if turn % 3 else PAYMENTS, str(turn))

    assert numbers(reader.changes_for([PAYMENTS], 0)) == [1, 4, 7, 10]
    assert numbers(reader.changes_for([PAYMENTS], 4)) == [7, 10]
    assert numbers(reader.changes_for([PAYMENTS], 0, 3)) == [1, 4, 7]
    assert numbers(reader.changes_for([PAYMENTS, ORDERS], 3)) == [4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert numbers(reader.changes_for([Resource.topic("none")], 0)) == []
    reader.close()


def test_reverse_changes_returns_the_same_revisions_newest_first(store: Store) -> None:
    reader = store.journal_reader()
    for turn in range(12):
        put(
            store, ORDERS if turn % 3 else PAYMENTS, str(turn), sensitive=turn == 5
        )  # which merges the journal, if the store does that

    for resources in ([PAYMENTS], [ORDERS], [PAYMENTS, ORDERS], [Resource.topic("none")]):
        for after in (0, 4, 11, 12):
            assert list(reader.reverse_changes(resources, after)) == list(reader.changes_for(resources, after))[::-1]
    reader.close()


def test_a_time_is_resolved_to_the_last_revision_committed_by_then(store: Store) -> None:
    reader = store.journal_reader()
    assert reader.revision_at(10) == 0
    for turn in range(9):
        put(store, ORDERS, str(turn), time=100 + 10 * turn)

    assert [reader.revision_at(time) for time in (99, 100, 109, 110, 179, 180, 999)] == [0, 1, 1, 2, 8, 9, 9]
    reader.close()


def test_a_revision_with_a_future_time_counts_as_committed_before_later_revisions(store: Store) -> None:
    """The clock jumps ahead twice, and is set back twice."""
    reader = store.journal_reader()
    for turn, time in enumerate([100, 110, 900, 910, 120, 130, 130, 500, 140, 150]):
        put(store, ORDERS, str(turn), time=time)

    expected = {99: 0, 100: 1, 115: 2, 120: 5, 125: 5, 130: 7, 139: 7, 140: 9, 150: 10, 500: 10, 905: 10, 999: 10}
    assert {time: reader.revision_at(time) for time in expected} == expected
    reader.close()


def test_times_may_decrease_within_a_batch(store: Store) -> None:
    reader = store.journal_reader()
    changes = [Change(ChangeKind.CONFIG, ORDERS, "k", None, str(time), "set") for time in range(6)]
    times = (100, 900, 110, 120, 800, 130)
    pending = [PendingCommit(RequestContext(), time, [each], {}) for time, each in zip(times, changes, strict=True)]
    store.commit(pending)

    expected = {99: 0, 105: 1, 110: 3, 125: 4, 130: 6, 850: 6}
    assert {time: reader.revision_at(time) for time in expected} == expected
    reader.close()


def test_revisions_with_future_times_do_not_delay_trimming_by_time(store: Store) -> None:
    for turn, time in enumerate([100, 10**12, 110, 120, 10**12, 130, 140]):
        put(store, ORDERS, str(turn), time=time)
    reader = store.journal_reader()

    assert store.trim(before_time=111) == 3
    assert [reader.revision_at(time) for time in (120, 129, 130, 10**13)] == [4, 4, 6, 7]
    assert store.trim(before_time=135) == 3
    assert numbers(store.changes(6)) == [7]
    assert reader.revision_at(10**12) == 7
    reader.close()


def test_trimmed_revisions_are_reported(store: Store) -> None:
    reader = store.journal_reader()
    for turn in range(9):
        put(store, ORDERS, str(turn), time=turn)
    store.trim(keep_last=3)

    with pytest.raises(JournalTrimmed) as found:
        reader.changes_for([ORDERS], 2)
    assert found.value.oldest == 7
    with pytest.raises(JournalTrimmed):
        list(reader.reverse_changes([ORDERS], 2))
    with pytest.raises(JournalTrimmed):
        reader.changes(2)
    with pytest.raises(JournalTrimmed):
        reader.revision_at(3)
    assert numbers(reader.changes_for([ORDERS], 6)) == [7, 8, 9]
    reader.close()


def test_redact_returns_the_revision_as_the_journal_has_it(store: Store) -> None:
    change = Change(ChangeKind.CONFIG, ORDERS, "k", None, "secret", "set", sensitive=True)
    (made,) = store.commit([PendingCommit(RequestContext(), 0, [change], {})])

    (kept,) = store.changes(0)

    assert store.redact(made) == kept  # type: ignore[arg-type]  # no guard, no conflict
    assert "secret" not in str(kept.changes[0].after)


def test_attempts_are_stored_in_order_without_becoming_revisions(store: Store) -> None:
    reader = store.journal_reader()
    assert reader.attempts(0) == []
    who = RequestContext("User:alice", "tool", "10.0.0.1", "AlterConfigs", 7, "why not")
    tries = [AuditEntry(time, who, 3, ORDERS, ("a", "b"), 40, time % 2 == 0) for time in range(5)]
    store.append_attempts(tries[:2])
    store.append_attempts(tries[2:])

    found = reader.attempts(0)

    assert numbers(found) == [1, 2, 3, 4, 5]
    assert [(each.time, each.caller, each.keys, each.code, each.dry_run) for each in found] == [
        (each.time, who, ("a", "b"), 40, each.time % 2 == 0) for each in tries
    ]
    assert numbers(reader.attempts(3, 1)) == [4]
    assert store.load().revision == 0
    reader.close()
