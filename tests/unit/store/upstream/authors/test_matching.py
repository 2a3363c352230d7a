"""Which log records are the gateway's own changes: the only candidate, otherwise unknown."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, ResourceType
from kconf.store.upstream.authors.matching import ExpectedChanges, with_authors

ORDERS, OTHERS = Resource.topic("orders"), Resource.topic("others")
ALICE, BOB = RequestContext("User:alice", reason="A-1"), RequestContext("User:bob")


def change(
    resource: Resource,
    value: str | None,
    *,
    key: str = "retention.ms",
    before: str | None = None,
    sensitive: bool = False,
) -> Change:
    return Change(ChangeKind.CONFIG, resource, key, before, value, "set", sensitive)


def pending(caller: RequestContext, *changes: Change) -> PendingCommit:
    return PendingCommit(caller, 0, changes, {})


def record(offset: int, *changes: Change, time: int = 1000, origin: str = "log") -> Revision:
    return Revision(offset, time, RequestContext(""), changes, origin)


def attribute(expected: ExpectedChanges, revisions: Sequence[Revision]) -> tuple[list[Revision], set[Resource]]:
    claims, done = expected.claims(revisions)
    return with_authors(revisions, claims), done


def authors(revisions: list[Revision]) -> list[str]:
    return [each.caller.principal for each in revisions]


def test_each_of_two_callers_gets_its_own_record() -> None:
    expected = ExpectedChanges([pending(ALICE, change(ORDERS, "1")), pending(BOB, change(OTHERS, "2"))])
    log = [record(7, change(OTHERS, "2")), record(8, change(ORDERS, "1"))]
    assert expected.are_in(log)
    assert not expected.are_in(log[:1])
    found, done = attribute(expected, log)
    assert authors(found) == ["User:bob", "User:alice"]
    assert [each.origin for each in found] == ["kconf", "kconf"]
    assert found[1].caller.reason == "A-1"
    assert done == {ORDERS, OTHERS}


def test_a_record_with_another_value_has_another_author() -> None:
    expected = ExpectedChanges([pending(ALICE, change(ORDERS, "1"))])
    found, done = attribute(expected, [record(7, change(ORDERS, "9")), record(8, change(ORDERS, "1"))])
    assert authors(found) == ["", "User:alice"]
    assert done == {ORDERS}


def test_the_author_is_unknown_if_two_records_match() -> None:
    expected = ExpectedChanges([pending(ALICE, change(ORDERS, "1"))])
    found, _ = attribute(expected, [record(7, change(ORDERS, "1")), record(8, change(ORDERS, "1"))])
    assert authors(found) == ["", ""]


def test_a_request_that_sets_the_current_value_may_or_may_not_have_a_record() -> None:
    """It has one if another client had just changed it."""
    same = change(ORDERS, "1")
    expected = ExpectedChanges([PendingCommit(ALICE, 0, (), {}, unchanged=[same])])
    assert not expected.are_certain
    assert expected.are_in([])
    assert attribute(expected, []) == ([], {ORDERS})
    found, _ = attribute(expected, [record(7, change(ORDERS, "9")), record(8, same)])
    assert authors(found) == ["", "User:alice"]


def test_refused_changes_are_not_expected() -> None:
    expected = ExpectedChanges([pending(ALICE, change(ORDERS, "1"), change(OTHERS, "2"))], refused={OTHERS})
    found, done = attribute(expected, [record(7, change(ORDERS, "1")), record(8, change(OTHERS, "2"))])
    assert authors(found) == ["User:alice", ""]
    assert done == {ORDERS}


def test_a_secret_is_matched_by_whether_it_is_set_or_removed() -> None:
    password = change(Resource.brokers(), "clear", key="ssl.keystore.password", sensitive=True)
    expected = ExpectedChanges([pending(ALICE, password)])
    removed = record(7, change(Resource.brokers(), None, key="ssl.keystore.password", sensitive=True))
    was_set = record(8, change(Resource.brokers(), "log:8", key="ssl.keystore.password", sensitive=True))
    found, _ = attribute(expected, [removed, was_set])
    assert authors(found) == ["", "User:alice"]


def test_a_resource_is_not_done_until_all_of_its_changes_are_visible() -> None:
    expected = ExpectedChanges([pending(ALICE, change(ORDERS, "1"), change(ORDERS, "2", key="segment.ms"))])
    _, done = attribute(expected, [record(7, change(ORDERS, "1"))])
    assert done == set()


TWO_KEYS = (change(ORDERS, "1"), change(ORDERS, "2", key="segment.ms"))
BOTH = (record(7, TWO_KEYS[0]), record(8, TWO_KEYS[1]))


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (BOTH, ["User:alice", "User:alice"]),
        ((BOTH[0], record(9, TWO_KEYS[1])), ["", "User:alice"]),  # another request was executed in between
        ((BOTH[0], record(8, TWO_KEYS[1], time=1030)), ["", "User:alice"]),  # another batch
        ((record(5, TWO_KEYS[1]), record(9, TWO_KEYS[0])), ["", "User:alice"]),
    ],
)
def test_keys_of_one_request_are_matched_only_if_adjacent_in_the_log(
    log: tuple[Revision, ...], expected: list[str]
) -> None:
    """Another client has set one of them to the same value shortly before."""
    found, done = attribute(ExpectedChanges([pending(ALICE, *TWO_KEYS)]), log)
    assert authors(found) == expected
    assert done == {ORDERS}


def test_a_record_that_restores_a_value_is_not_matched_with_an_earlier_request() -> None:
    """Another client has changed the value afterwards, and back again."""
    changed, back = change(ORDERS, "9", before="1"), change(ORDERS, "1", before="9")
    other = change(ORDERS, "8", key="segment.ms", before="2")
    log = [record(5, TWO_KEYS[1]), record(6, changed), record(7, other), record(9, back)]
    found, _ = attribute(ExpectedChanges([pending(ALICE, *TWO_KEYS)]), log)
    assert authors(found) == ["User:alice", "", "", ""]


def test_the_author_is_unknown_if_either_record_could_be_of_this_request() -> None:
    between = change(ORDERS, "8", key="segment.ms", before="2")
    again = change(ORDERS, "2", key="segment.ms", before="8")
    set_before = PendingCommit(ALICE, 0, [TWO_KEYS[0]], {}, unchanged=[TWO_KEYS[1]])
    log = [record(5, TWO_KEYS[0]), record(7, between), record(9, again)]
    found, done = attribute(ExpectedChanges([set_before]), log)
    assert authors(found) == ["", "", ""]
    assert done == {ORDERS}


def test_configs_of_a_new_topic_are_matched_although_not_adjacent_to_its_creation() -> None:
    created = Change(ChangeKind.TOPIC, ORDERS, "", None, "{}", "create")
    found, _ = attribute(ExpectedChanges([pending(ALICE, created, *TWO_KEYS)]), [*BOTH, record(12, created)])
    assert authors(found) == ["User:alice"] * 3


def test_changes_found_by_a_poll_are_matched_without_being_adjacent() -> None:
    polled = [record(7, TWO_KEYS[0], origin="outside"), record(9, TWO_KEYS[1], time=1030, origin="outside")]
    found, _ = attribute(ExpectedChanges([pending(ALICE, *TWO_KEYS)]), polled)
    assert authors(found) == ["User:alice", "User:alice"]


def test_acls_of_one_pattern_need_not_be_adjacent_in_a_request() -> None:
    acls = Resource(ResourceType.ACL, "topic:orders")
    own = [change(acls, "1", key=key) for key in ("one", "two")]
    found, _ = attribute(ExpectedChanges([pending(ALICE, *own)]), [record(7, own[0]), record(9, own[1])])
    assert authors(found) == ["User:alice", "User:alice"]
