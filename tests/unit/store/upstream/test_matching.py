"""Which log records are the gateway's own changes: the only candidate, otherwise unknown."""

from __future__ import annotations

from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.store.upstream.matching import ExpectedChanges

ORDERS, OTHERS = Resource.topic("orders"), Resource.topic("others")
ALICE, BOB = RequestContext("User:alice", reason="A-1"), RequestContext("User:bob")


def change(resource: Resource, value: str | None, *, key: str = "retention.ms", sensitive: bool = False) -> Change:
    return Change(ChangeKind.CONFIG, resource, key, None, value, "set", sensitive)


def pending(caller: RequestContext, *changes: Change) -> PendingCommit:
    return PendingCommit(caller, 0, changes, {})


def record(offset: int, *changes: Change) -> Revision:
    return Revision(offset, 1000 + offset, RequestContext(""), changes, "log")


def authors(revisions: list[Revision]) -> list[str]:
    return [each.caller.principal for each in revisions]


def test_each_of_two_callers_gets_its_own_record() -> None:
    expected = ExpectedChanges([pending(ALICE, change(ORDERS, "1")), pending(BOB, change(OTHERS, "2"))])
    log = [record(7, change(OTHERS, "2")), record(8, change(ORDERS, "1"))]
    assert expected.are_in(log)
    assert not expected.are_in(log[:1])
    found, done = expected.attribute(log)
    assert authors(found) == ["User:bob", "User:alice"]
    assert [each.origin for each in found] == ["kconf", "kconf"]
    assert found[1].caller.reason == "A-1"
    assert done == {ORDERS, OTHERS}


def test_another_value_is_of_another_author() -> None:
    expected = ExpectedChanges([pending(ALICE, change(ORDERS, "1"))])
    found, done = expected.attribute([record(7, change(ORDERS, "9")), record(8, change(ORDERS, "1"))])
    assert authors(found) == ["", "User:alice"]
    assert done == {ORDERS}


def test_two_candidates_make_the_author_unknown() -> None:
    expected = ExpectedChanges([pending(ALICE, change(ORDERS, "1"))])
    found, _ = expected.attribute([record(7, change(ORDERS, "1")), record(8, change(ORDERS, "1"))])
    assert authors(found) == ["", ""]


def test_a_value_that_was_set_to_the_current_one_may_have_a_record() -> None:
    """It has one if another client had just changed it."""
    same = change(ORDERS, "1")
    expected = ExpectedChanges([PendingCommit(ALICE, 0, (), {}, unchanged=[same])])
    assert not expected.are_certain
    assert expected.are_in([])
    assert expected.attribute([]) == ([], {ORDERS})
    found, _ = expected.attribute([record(7, change(ORDERS, "9")), record(8, same)])
    assert authors(found) == ["", "User:alice"]


def test_refused_changes_are_not_expected() -> None:
    expected = ExpectedChanges([pending(ALICE, change(ORDERS, "1"), change(OTHERS, "2"))], refused={OTHERS})
    found, done = expected.attribute([record(7, change(ORDERS, "1")), record(8, change(OTHERS, "2"))])
    assert authors(found) == ["User:alice", ""]
    assert done == {ORDERS}


def test_a_secret_is_matched_by_being_set_or_not() -> None:
    password = change(Resource.brokers(), "clear", key="ssl.keystore.password", sensitive=True)
    expected = ExpectedChanges([pending(ALICE, password)])
    removed = record(7, change(Resource.brokers(), None, key="ssl.keystore.password", sensitive=True))
    was_set = record(8, change(Resource.brokers(), "log:8", key="ssl.keystore.password", sensitive=True))
    found, _ = expected.attribute([removed, was_set])
    assert authors(found) == ["", "User:alice"]


def test_a_resource_is_done_when_all_of_its_changes_are_visible() -> None:
    expected = ExpectedChanges([pending(ALICE, change(ORDERS, "1"), change(ORDERS, "2", key="segment.ms"))])
    _, done = expected.attribute([record(7, change(ORDERS, "1"))])
    assert done == set()
