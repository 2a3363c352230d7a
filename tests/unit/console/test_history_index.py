"""The recorded changes of a cluster by resource: extended without copies, and limited to what a person may see."""

from __future__ import annotations

from dataclasses import replace

from kconf.console.cluster.history import HistoryIndex, _begun
from kconf.errors import ApiError, ErrorCode
from kconf.model.cluster_state import MissingPart
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.operations.history.entries import JournalStart, RecordedHistory, entries_of
from tests.unit.console.world import START, history, revision, set_key, topics

MINUTE = 60_000
ORDERS, PAYMENTS = Resource.topic("orders"), Resource.topic("payments")


def test_extending_an_index_does_not_change_the_old_one() -> None:
    first = history(revision(1, set_key("orders", "a", None, "1")))
    second = first.extended(list(entries_of(revision(2, set_key("orders", "a", "1", "2")))))
    assert [each.revision for each in first.latest(10)] == [1]
    assert [each.revision for each in second.latest(10)] == [2, 1]
    assert [len(each.about([ORDERS]).entries) for each in (first, second)] == [1, 2]


def test_entries_since_a_time_are_counted() -> None:
    found = history(*(revision(number, set_key("orders", "a", None, "1")) for number in (1, 2, 3)))
    assert [found.number_since(START + number * MINUTE) for number in (0, 2, 3, 4)] == [3, 2, 1, 0]


def test_a_person_sees_only_entries_of_resources_that_the_cluster_shows_them() -> None:
    user = Change(ChangeKind.CONFIG, Resource(ResourceType.SCRAM, "ana"), "SCRAM-SHA-512", None, "x", "set", True)
    changes = (set_key("orders", "a", None, "1"), set_key("payments", "a", None, "1"), user)
    entries = [entry for number, each in enumerate(changes) for entry in entries_of(revision(number, each))]
    found = HistoryIndex.of(RecordedHistory("journal", "cluster-1", entries, []))
    refused = MissingPart("users", ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    state = replace(topics({"orders": {}}), missing=(refused,))
    assert list(found.shown_by(state).by_resource) == [ORDERS]
    assert PAYMENTS in found.by_resource


def test_a_fully_trimmed_journal_begins_at_the_time_at_which_it_was_read() -> None:
    start = JournalStart(20, 2**63)
    found = _begun(RecordedHistory("feed", "cluster-1", [], [], start), 1_000)
    assert found.trimmed == JournalStart(20, 1_000)
    index = HistoryIndex.of(found).extended(list(entries_of(revision(21, set_key("orders", "a", None, "1")))))
    index.about([Resource.topic("orders")]).check_reaches(time=1_000)
    assert (index.begin, index.has_all_since(1_000), index.has_all_since(999)) == (1_000, True, False)


def test_entries_that_were_read_already_are_not_added_again() -> None:
    """The feed of a server begins before its journal is read."""
    first, second = (revision(n, set_key("orders", "a", None, str(n))) for n in (1, 2))
    again = history(first, second).extended(
        [e for each in (second, revision(3, set_key("orders", "a", "2", "3"))) for e in entries_of(each)]
    )
    assert [each.revision for each in again.latest(10)] == [3, 2, 1]
