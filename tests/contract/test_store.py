"""What kconf.store.base promises, on every store."""

from __future__ import annotations

from inspect import getattr_static
from pathlib import Path

import pytest

from kconf.errors import JournalTrimmed, RevisionConflict
from kconf.model.journal import RequestContext, Revision
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot, decode_id, replay
from kconf.store.base import SingleServerMixin, Store
from tests.contract.changes import ALICE, commit, pending, put, topic, turned
from tests.contract.stores import DURABLE_STORES, STORED, STORES, Opener

ORDERS = Resource.topic("orders")
PAYMENTS = Resource.topic("payments")
BROKERS = Resource.brokers()


def numbers(revisions: object) -> list[int]:
    assert isinstance(revisions, list | tuple)
    return [each.number for each in revisions]


def replayed(store: Store) -> Snapshot:
    return replay((each.number, each.changes) for each in store.changes(0))


def test_a_new_store_is_empty_at_revision_0(store: Store) -> None:
    assert store.load() == Snapshot.EMPTY
    assert store.changes(0) == []


def test_the_cluster_id_is_a_uuid_as_kafka_writes_them(store: Store) -> None:
    assert len(store.cluster_id) == 22
    assert decode_id(store.cluster_id).version == 4


def test_a_commit_is_seen_by_load(store: Store) -> None:
    done = commit(store, put(ORDERS, "a", "1"), put(BROKERS, "b", "2"))

    after = store.load()
    assert done.number == after.revision == 1
    assert dict(after.configs) == {ORDERS: {"a": "1"}, BROKERS: {"b": "2"}}
    assert dict(after.changed) == {ORDERS: 1, BROKERS: 1}


def test_later_commits_do_not_change_a_loaded_snapshot(store: Store) -> None:
    before = store.load()
    commit(store, put(ORDERS, "a", "1"))
    between = store.load()
    commit(store, put(ORDERS, "a", "2"))

    assert before.overrides(ORDERS) == {}
    assert between.overrides(ORDERS) == {"a": "1"}
    assert store.load().overrides(ORDERS) == {"a": "2"}


def test_the_journal_has_principal_time_and_change(store: Store) -> None:
    change = put(ORDERS, "a", "2", before="1")
    commit(store, change, time=1234)

    assert store.changes(0) == [Revision(1, 1234, ALICE, (change,))]


def test_a_caller_without_a_reason_is_stored_without_one(store: Store) -> None:
    store.commit([pending(put(ORDERS, "a", "1"), caller=RequestContext())])

    assert store.changes(0)[0].caller == RequestContext()


def test_each_pending_commit_of_a_batch_is_one_revision_in_order(store: Store) -> None:
    results = store.commit([pending(put(ORDERS, "a", str(value))) for value in range(5)])

    assert numbers(results) == [1, 2, 3, 4, 5]
    assert [each.changes[0].after for each in store.changes(0)] == ["0", "1", "2", "3", "4"]
    assert store.load().overrides(ORDERS) == {"a": "4"}


def test_revisions_are_in_the_order_of_commits_not_of_times(store: Store) -> None:
    for time in (3000, 1000, 2000):
        commit(store, put(ORDERS, "a", str(time)), time=time)

    assert [(each.number, each.time) for each in store.changes(0)] == [(1, 3000), (2, 1000), (3, 2000)]


def test_changes_of_a_revision_keep_their_order(store: Store) -> None:
    lines = tuple(put(ORDERS, f"k{place}", "v") for place in range(20))
    commit(store, *reversed(lines))

    assert store.changes(0)[0].changes == tuple(reversed(lines))


def test_the_last_change_of_a_key_in_a_revision_wins(store: Store) -> None:
    commit(store, put(ORDERS, "a", "1"), put(ORDERS, "a", None), put(ORDERS, "b", "1"), put(ORDERS, "b", "2"))

    assert store.load().overrides(ORDERS) == {"b": "2"}


def test_a_removed_override_leaves_the_others(store: Store) -> None:
    commit(store, put(ORDERS, "a", "1"), put(ORDERS, "b", "2"))
    commit(store, put(ORDERS, "a", None, before="1"))

    assert store.load().overrides(ORDERS) == {"b": "2"}


def test_a_resource_without_overrides_keeps_its_revision(store: Store) -> None:
    """Otherwise an expected revision would match again after its last change is forgotten."""
    commit(store, put(ORDERS, "a", "1"))
    commit(store, put(ORDERS, "a", None))

    assert ORDERS not in store.load().configs
    assert store.load().changed[ORDERS] == 2


def test_removing_an_unset_override_is_a_revision_too(store: Store) -> None:
    commit(store, put(ORDERS, "a", None))

    assert not store.load().configs
    assert store.load().changed[ORDERS] == 1


@pytest.mark.parametrize(
    "odd",
    [
        "",
        " ",
        'a"b',
        "a\\b",
        "a'b",
        "a.b[0]",
        "$.a",
        "a\x00b",
        "\x00",
        "\n\t",
        "é",
        "\U0001f600",
        "null",
        "{}",
        "\ufeff",
    ],
)
def test_unusual_texts_are_stored_unchanged(store: Store, odd: str) -> None:
    resource = Resource.group(odd)
    caller = RequestContext(odd, odd, odd, odd, 1, odd)
    change = put(resource, odd, odd, before=odd)
    store.commit([pending(change, caller=caller)])
    assert store.load().overrides(resource) == {odd: odd}

    commit(store, put(resource, "other", "1"))
    commit(store, put(resource, odd, None))

    assert dict(store.load().configs) == {resource: {"other": "1"}}
    assert store.changes(0, 1) == [Revision(1, 1000, caller, (change,))]


def test_names_that_differ_in_case_or_type_are_different(store: Store) -> None:
    resources = [Resource.topic("a"), Resource.topic("A"), Resource.group("a"), Resource.broker(1), Resource.logger(1)]
    commit(store, *(put(each, "k", str(place)) for place, each in enumerate(resources)))

    assert [store.load().overrides(each)["k"] for each in resources] == ["0", "1", "2", "3", "4"]


def test_resources_are_loaded_with_their_types(store: Store) -> None:
    commit(store, put(ORDERS, "a", "1"))

    (loaded,) = store.load().configs
    (read,) = store.changes(0)[0].changes
    assert (str(loaded), str(read.resource), read.kind.name) == ("topic:orders", "topic:orders", "CONFIG")


def test_an_empty_pending_commit_takes_no_revision(store: Store) -> None:
    commit(store, put(ORDERS, "a", "1"))
    results = store.commit([pending(), pending(put(ORDERS, "a", "2")), pending()])

    assert numbers(results) == [1, 2, 2]
    assert numbers(store.changes(0)) == [1, 2]


def test_an_empty_batch_does_nothing(store: Store) -> None:
    assert list(store.commit([])) == []
    assert store.load() == Snapshot.EMPTY


def test_an_empty_pending_commit_with_a_broken_guard_conflicts(store: Store) -> None:
    commit(store, put(ORDERS, "a", "1"))

    (result,) = store.commit([pending(guards={ORDERS: 0})])

    assert isinstance(result, RevisionConflict)


def test_an_expected_revision_is_valid_until_the_resource_changes(store: Store) -> None:
    commit(store, put(ORDERS, "a", "1"))
    commit(store, put(PAYMENTS, "a", "1"), guards={ORDERS: 1, PAYMENTS: 0})

    (result,) = store.commit([pending(put(ORDERS, "a", "2"), guards={PAYMENTS: 1})])

    assert isinstance(result, RevisionConflict)
    assert "topic:payments" in str(result)
    assert store.load().overrides(ORDERS) == {"a": "1"}


def test_a_broken_guard_leaves_out_only_its_own_pending_commit(store: Store) -> None:
    commit(store, put(ORDERS, "a", "1"))

    first, second, third = store.commit(
        [
            pending(put(PAYMENTS, "a", "1")),
            pending(put(ORDERS, "a", "2"), guards={ORDERS: 0}),
            pending(put(PAYMENTS, "b", "1")),
        ]
    )

    assert isinstance(second, RevisionConflict)
    assert numbers([first, third]) == [2, 3]
    assert numbers(store.changes(0)) == [1, 2, 3]
    assert dict(store.load().configs) == {ORDERS: {"a": "1"}, PAYMENTS: {"a": "1", "b": "1"}}


def test_a_guard_is_checked_against_earlier_commits_of_its_batch(store: Store) -> None:
    first, second, third = store.commit(
        [
            pending(put(ORDERS, "a", "1"), guards={ORDERS: 0}),
            pending(put(ORDERS, "a", "2"), guards={ORDERS: 0}),
            pending(put(ORDERS, "a", "3"), guards={ORDERS: 1}),
        ]
    )

    assert isinstance(second, RevisionConflict)
    assert numbers([first, third]) == [1, 2]
    assert store.load().overrides(ORDERS) == {"a": "3"}


def test_a_skipped_pending_commit_does_not_affect_later_ones(store: Store) -> None:
    commit(store, put(ORDERS, "a", "1"))

    first, second = store.commit(
        [
            pending(put(ORDERS, "a", "2"), put(PAYMENTS, "a", "2"), guards={ORDERS: 0}),
            pending(put(PAYMENTS, "a", "3"), guards={PAYMENTS: 0}),
        ]
    )

    assert isinstance(first, RevisionConflict)
    assert isinstance(second, Revision)


def test_a_topic_is_created_grown_and_deleted_with_its_overrides(store: Store) -> None:
    small, grown = topic("orders"), topic("orders", partitions=3)

    commit(store, turned(None, small), put(ORDERS, "a", "1"))
    assert dict(store.load().topics) == {"orders": small}
    assert dict(store.load().topic_ids) == {small.id: "orders"}

    commit(store, turned(small, grown))
    assert store.load().topics["orders"] == grown
    assert store.load().overrides(ORDERS) == {"a": "1"}

    commit(store, turned(grown, None), put(ORDERS, "a", None, before="1"))
    assert store.load() == Snapshot.of(3, Snapshot.EMPTY.topics, Snapshot.EMPTY.configs, store.load().changed)
    assert store.load().changed[ORDERS] == 3


def test_a_recreated_topic_has_only_its_new_id(store: Store) -> None:
    old, new = topic("orders", number=1), topic("orders", number=2)
    commit(store, turned(None, old), put(ORDERS, "a", "1"))

    store.commit(
        [pending(turned(old, None), put(ORDERS, "a", None)), pending(turned(None, new), put(ORDERS, "b", "1"))]
    )

    assert dict(store.load().topic_ids) == {new.id: "orders"}
    assert store.load().overrides(ORDERS) == {"b": "1"}


def test_a_topic_created_and_deleted_in_one_batch_does_not_exist(store: Store) -> None:
    once = topic("orders")
    store.commit([pending(turned(None, once)), pending(turned(once, None))])

    assert not store.load().topics
    assert store.load().changed[ORDERS] == 2


def test_replaying_the_journal_gives_the_state(store: Store) -> None:
    old, new = topic("my.orders", number=1), topic("my.orders", number=2, partitions=2)
    commit(store, turned(None, old), put(old.resource, "a", "1"), put(old.resource, "b", "2"))
    store.commit(
        [pending(put(BROKERS, "c", "3")), pending(put(old.resource, "a", None)), pending(put(BROKERS, "c", "4"))]
    )
    commit(store, turned(old, None), put(old.resource, "b", None))
    commit(store, turned(None, new))

    assert replayed(store) == store.load()


def test_changes_are_read_in_pages(store: Store) -> None:
    store.commit([pending(put(ORDERS, "a", str(value))) for value in range(10)])

    assert numbers(store.changes(0, 4)) == [1, 2, 3, 4]
    assert numbers(store.changes(4, 4)) == [5, 6, 7, 8]
    assert numbers(store.changes(8, 4)) == [9, 10]
    assert numbers(store.changes(10, 4)) == []
    assert numbers(store.changes(99)) == []


def test_a_sensitive_value_is_stored_in_the_state_and_redacted_in_the_journal(store: Store) -> None:
    result = commit(store, put(BROKERS, "pw", "old-secret", sensitive=True))
    commit(store, put(BROKERS, "pw", "new-secret", before="old-secret", sensitive=True))
    commit(store, put(BROKERS, "pw", None, before="new-secret", sensitive=True), put(BROKERS, "q", "x", sensitive=True))

    assert result.changes[0].after == "old-secret"
    first, second, third = (each.changes[0] for each in store.changes(0))
    assert (first.before, third.after) == (None, None)
    assert first.after == second.before != second.after == third.before
    assert "secret" not in f"{first.after}{second.after}{store.changes(0)}"
    assert store.load().overrides(BROKERS) == {"q": "x"}


def test_trimming_retains_the_newest_revisions(store: Store) -> None:
    store.commit([pending(put(ORDERS, "a", str(value))) for value in range(10)])
    before = store.load()
    assert store.oldest() == 1

    assert store.trim(keep_last=3) == 7
    assert store.trim(keep_last=3) == 0

    assert store.oldest() == 8
    assert numbers(store.changes(7)) == [8, 9, 10]
    assert store.load() == before
    with pytest.raises(JournalTrimmed) as caught:
        store.changes(6)
    assert caught.value.oldest == 8


def test_trimming_by_time_allows_for_a_clock_that_was_set_back(store: Store) -> None:
    """All revisions before an old one are trimmed, even if a clock that was ahead gave them a later time."""
    for time in (100, 200, 900, 300, 950):
        commit(store, put(ORDERS, "a", str(time)), time=time)

    assert store.trim(before_time=150) == 1
    assert numbers(store.changes(1)) == [2, 3, 4, 5]
    assert store.trim(before_time=500) == 3
    assert numbers(store.changes(4)) == [5]


def test_unarchived_revisions_are_not_trimmed(store: Store) -> None:
    revisions = store.commit([pending(put(ORDERS, "a", str(value)), time=value) for value in range(10)])
    made = [each.number for each in revisions if isinstance(each, Revision)]

    assert store.trim(keep_last=1, up_to=0) == 0
    assert store.trim(keep_last=3, before_time=8, up_to=made[3]) == 4
    assert store.trim(keep_last=3, before_time=8, up_to=made[3]) == 0
    assert numbers(store.changes(made[3])) == made[4:]
    assert store.trim(keep_last=3, up_to=made[9]) == 3
    assert store.acquire_archive_lock()


def test_the_newest_revision_is_never_trimmed(store: Store) -> None:
    assert store.trim(keep_last=0) == 0
    store.commit([pending(put(ORDERS, "a", str(value))) for value in range(3)])

    assert store.trim(before_time=10**15) + store.trim(keep_last=0) == 2
    assert numbers(store.changes(2)) == [3]
    assert commit(store, put(ORDERS, "a", "x")).number == 4


def test_everything_is_stored_after_reopening(durable: Opener) -> None:
    made = topic("orders")
    store = durable()
    commit(store, turned(None, made), put(ORDERS, "a", "1"), put(ORDERS, "pw", "secret", sensitive=True))
    commit(store, put(PAYMENTS, "a", "1"), put(PAYMENTS, "a", None))
    store.trim(keep_last=1)
    state, journal, cluster = store.load(), store.changes(1), store.cluster_id
    store.close()

    again = durable()

    assert (again.load(), again.changes(1), again.cluster_id, again.oldest()) == (state, journal, cluster, 2)
    assert again.load().overrides(ORDERS)["pw"] == "secret"
    (result,) = again.commit([pending(put(PAYMENTS, "a", "2"), guards={PAYMENTS: 1})])
    assert isinstance(result, RevisionConflict)
    assert commit(again, put(PAYMENTS, "a", "2")).number == 3
    again.close()


def test_equal_secrets_are_redacted_alike_across_a_restart(durable: Opener) -> None:
    for key in ("a", "b"):
        store = durable()
        commit(store, put(BROKERS, key, "secret", sensitive=True))
        store.close()

    store = durable()
    first, second = (each.changes[0].after for each in store.changes(0))
    assert first == second
    store.close()


@pytest.mark.parametrize("name", DURABLE_STORES)
def test_a_password_is_stored_only_encrypted(tmp_path: Path, name: str) -> None:
    opener = STORES[name](tmp_path)
    store = opener()
    password = put(BROKERS, "ssl.keystore.password", "hunter2-keystore", sensitive=True)
    commit(store, password, put(ORDERS, "a", "plain-1"))
    store.close()

    found = STORED[name](tmp_path)
    assert b"plain-1" in found
    assert b"hunter2-keystore" not in found
    store = opener()
    assert store.load().overrides(BROKERS) == {"ssl.keystore.password": "hunter2-keystore"}
    store.close()


def test_a_new_store_begins_with_epoch_1(store: Store) -> None:
    assert store.epoch == 1


def test_a_store_that_can_be_unreachable_can_be_stale(store: Store) -> None:
    assert store.can_be_stale or getattr_static(store, "is_reachable") is SingleServerMixin.is_reachable
