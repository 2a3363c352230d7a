"""Who made the changes of a followed log: known if the journals have exactly one author, else unknown."""

from __future__ import annotations

from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.resource import Resource
from kconf.operations.history.log_authors import with_authors
from kconf.operations.history.sources import HistoryEntry

ORDERS = Resource.topic("orders")
ALICE, BOB = RequestContext("User:alice", reason="ticket 1"), RequestContext("User:bob", reason="ticket 2")


def change(value: str | None, *, sensitive: bool = False) -> Change:
    return Change(ChangeKind.CONFIG, ORDERS, "retention.ms", None, value, "set", sensitive)


def logged(time: int, value: str | None, *, sensitive: bool = False) -> HistoryEntry:
    return HistoryEntry(time, time, 0, change(value, sensitive=sensitive), RequestContext(""), "log")


def requested(
    time: int, value: str | None, who: RequestContext, *, answered: int | None = None, sensitive: bool = False
) -> HistoryEntry:
    end = time + 50 if answered is None else answered
    return HistoryEntry(time, time * 1000, 0, change(value, sensitive=sensitive), who, "client", "user", answered=end)


def authors(entries: list[HistoryEntry]) -> list[tuple[str, str | None, str]]:
    return [(each.origin, each.change.after, each.caller.principal) for each in with_authors(entries)]


def test_a_request_and_its_record_are_one_change_with_an_author() -> None:
    assert authors([requested(10_000, "1", ALICE), logged(10_020, "1")]) == [("log", "1", "User:alice")]


def test_what_nobody_recorded_has_no_author() -> None:
    assert authors([requested(10_000, "1", ALICE), logged(10_020, "1"), logged(50_000, "2")]) == [
        ("log", "1", "User:alice"),
        ("log", "2", ""),
    ]


def test_the_same_value_set_later_by_another_tool_is_not_theirs() -> None:
    assert authors([requested(10_000, "1", ALICE), logged(10_020, "1"), logged(20_000, "2"), logged(30_000, "1")]) == [
        ("log", "1", "User:alice"),
        ("log", "2", ""),
        ("log", "1", ""),
    ]


def test_two_who_asked_for_the_same_at_the_same_time_make_the_author_unknown() -> None:
    entries = [requested(10_000, "1", ALICE), requested(10_010, "1", BOB), logged(10_020, "1")]

    assert authors(entries) == [("log", "1", "")]


def test_a_request_that_the_log_does_not_show_stays() -> None:
    entries = [requested(10_000, "1", ALICE), logged(90_000, "2")]

    assert authors(entries) == [("client", "1", "User:alice"), ("log", "2", "")]


def test_a_secret_is_matched_by_its_key() -> None:
    entries = [requested(10_000, "hmac:aa", ALICE, sensitive=True), logged(10_020, "log:7", sensitive=True)]

    assert authors(entries) == [("log", "log:7", "User:alice")]


def test_without_a_log_nothing_changes() -> None:
    entries = [requested(10_000, "1", ALICE), requested(10_000, "1", BOB)]

    assert with_authors(entries) == entries
