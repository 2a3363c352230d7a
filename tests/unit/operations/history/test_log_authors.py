"""Authors of changes in a followed log: known if the journals have exactly one, otherwise unknown."""

from __future__ import annotations

from pathlib import Path

from kconf.client.kraft.archive import LogSegment
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.resource import Resource, ResourceType
from kconf.operations.history.entries import HistoryEntry
from kconf.operations.history.log_authors import with_authors

ORDERS = Resource.topic("orders")
ALICE, BOB = RequestContext("User:alice", reason="ticket 1"), RequestContext("User:bob", reason="ticket 2")


def change(value: str | None, *, sensitive: bool = False) -> Change:
    return Change(ChangeKind.CONFIG, ORDERS, "retention.ms", None, value, "set", sensitive)


def logged(time: int, value: str | None, *, sensitive: bool = False) -> HistoryEntry:
    return HistoryEntry(time, time, 0, change(value, sensitive=sensitive), RequestContext(""), "log")


def at(offset: int, time: int, value: str | None) -> HistoryEntry:
    return logged(time, value)._replace(revision=offset)


def requested(
    time: int,
    value: str | None,
    who: RequestContext,
    *,
    answered: int | None = None,
    sensitive: bool = False,
    offsets: tuple[int, int] | None = None,
) -> HistoryEntry:
    end = time + 50 if answered is None else answered
    entry = HistoryEntry(time, time * 1000, 0, change(value, sensitive=sensitive), who, "client", "user", answered=end)
    return entry if offsets is None else entry._replace(log_begin=offsets[0], log_end=offsets[1])


def segment(begin: int, end: int, *, is_gap: bool = False) -> LogSegment:
    return LogSegment(Path(), begin, end, is_gap)


def authors(entries: list[HistoryEntry], *segments: LogSegment) -> list[tuple[str, str | None, str]]:
    found = with_authors(entries, segments).entries
    return [(each.origin, each.change.after, each.caller.principal) for each in found]


def test_a_request_and_its_log_record_become_one_change_with_an_author() -> None:
    assert authors([requested(10_000, "1", ALICE), logged(10_020, "1")]) == [("client", "1", "User:alice")]


def test_unrecorded_changes_have_no_author() -> None:
    assert authors([requested(10_000, "1", ALICE), logged(10_020, "1"), logged(50_000, "2")]) == [
        ("client", "1", "User:alice"),
        ("outside", "2", ""),
    ]


def test_the_same_value_set_later_by_another_tool_has_no_author() -> None:
    assert authors([requested(10_000, "1", ALICE), logged(10_020, "1"), logged(20_000, "2"), logged(30_000, "1")]) == [
        ("client", "1", "User:alice"),
        ("outside", "2", ""),
        ("outside", "1", ""),
    ]


def test_two_identical_concurrent_requests_make_the_author_unknown() -> None:
    entries = [requested(10_000, "1", ALICE), requested(10_010, "1", BOB), logged(10_020, "1")]

    assert authors(entries) == [("outside", "1", "")]


def test_a_request_that_the_log_does_not_contain_is_kept() -> None:
    entries = [requested(10_000, "1", ALICE), logged(90_000, "2")]

    assert authors(entries) == [("client", "1", "User:alice"), ("outside", "2", "")]


def test_a_secret_is_matched_by_its_key() -> None:
    entries = [requested(10_000, "hmac:aa", ALICE, sensitive=True), logged(10_020, "log:7", sensitive=True)]

    assert authors(entries) == [("client", "log:7", "User:alice")]


def test_without_a_log_entries_are_unchanged() -> None:
    entries = [requested(10_000, "1", ALICE), requested(10_000, "1", BOB)]

    assert with_authors(entries).entries == entries


def test_offsets_distinguish_a_request_from_one_of_another_tool_in_the_same_second() -> None:
    entries = [requested(10_000, "1", ALICE, offsets=(7, 9)), at(5, 9_990, "1"), at(8, 10_020, "1")]

    assert authors(entries) == [("outside", "1", ""), ("client", "1", "User:alice")]


def test_offsets_match_although_the_clocks_are_an_hour_apart() -> None:
    entries = [requested(10_000, "1", ALICE, offsets=(7, 9)), at(8, 3_610_000, "1")]

    assert authors(entries) == [("client", "1", "User:alice")]


def test_offsets_match_although_another_tool_changed_the_value_after_the_client_had_read_it() -> None:
    record = at(8, 10_020, "1")
    later = record._replace(change=record.change._replace(before="7"))

    assert authors([requested(10_000, "1", ALICE, offsets=(7, 9)), later]) == [("client", "1", "User:alice")]
    assert authors([requested(10_000, "1", ALICE), later])[-1] == ("outside", "1", "")


def test_two_records_between_the_offsets_make_the_author_unknown() -> None:
    entries = [requested(10_000, "1", ALICE, offsets=(7, 12)), at(8, 10_010, "1"), at(11, 10_020, "1")]

    assert authors(entries, segment(0, 20)) == [("outside", "1", ""), ("outside", "1", "")]


def test_the_author_is_unknown_if_clocks_differ_by_more_than_a_second() -> None:
    entries = [at(1, 1_000, "0"), requested(10_000, "1", ALICE), at(8, 15_000, "1"), at(9, 90_000, "2")]
    found = with_authors(entries, [segment(0, 20)])

    assert [(each.origin, each.change.after) for each in found.entries] == [
        ("outside", "0"),
        ("outside", "1"),
        ("outside", "2"),
    ]
    assert [each.change.after for each in found.contradicted] == ["1"]


def test_a_request_in_a_gap_of_the_log_is_kept() -> None:
    entries = [at(1, 1_000, "0"), requested(10_000, "1", ALICE), at(80, 90_000, "2")]

    assert authors(entries, segment(0, 5), segment(5, 60, is_gap=True), segment(60, 90)) == [
        ("outside", "0", ""),
        ("client", "1", "User:alice"),
        ("outside", "2", ""),
    ]


def test_a_request_after_the_end_of_the_followed_log_is_kept() -> None:
    entries = [at(1, 1_000, "0"), requested(10_000, "1", ALICE, offsets=(30, 32))]

    assert authors(entries, segment(0, 20)) == [("outside", "0", ""), ("client", "1", "User:alice")]


def test_a_request_in_a_gap_is_ordered_by_offset_although_its_clock_is_an_hour_ahead() -> None:
    request = requested(3_610_000, "1", ALICE, offsets=(30, 32))
    entries = [at(1, 1_000, "0"), request, at(80, 90_000, "2")]
    found = with_authors(entries, [segment(0, 5), segment(5, 60, is_gap=True), segment(60, 90)]).entries

    assert [(each.change.after, each.time) for each in found] == [("0", 1_000), ("1", 90_000), ("2", 90_000)]


def test_the_log_decides_whether_a_request_without_a_response_was_made() -> None:
    begun = requested(10_000, "1", ALICE)._replace(outcome="unknown", answered=None)
    found = with_authors([at(1, 1_000, "0"), begun, at(9, 90_000, "2")], [segment(0, 20)])

    assert [each.change.after for each in found.entries] == ["0", "2"]
    assert found.contradicted == []


def test_the_level_of_a_logger_is_never_in_a_log() -> None:
    logger = Change(ChangeKind.CONFIG, Resource(ResourceType.BROKER_LOGGER, "1"), "kafka", "INFO", "WARN", "set")
    request = requested(10_000, "1", ALICE)._replace(change=logger)

    assert authors([at(1, 1_000, "0"), request, at(9, 90_000, "2")], segment(0, 20))[1] == (
        "client",
        "WARN",
        "User:alice",
    )


def test_the_order_is_that_of_the_offsets_although_the_next_leaders_clock_is_behind() -> None:
    found = with_authors([at(8, 10_000, "1"), at(9, 4_000, "2"), at(10, 12_000, "3")]).entries

    assert [(each.change.after, each.time) for each in found] == [("1", 10_000), ("2", 10_000), ("3", 12_000)]


def test_changes_in_a_gap_are_dated_after_the_last_change_before_it() -> None:
    gap = at(59, 50_000, "9")._replace(origin="snapshot")
    (_, shown) = with_authors([at(1, 1_000, "0"), gap], [segment(0, 5), segment(5, 60, is_gap=True)]).entries

    assert (shown.not_before, shown.read_since, shown.is_from_log) == (1_000, 50_000, True)
