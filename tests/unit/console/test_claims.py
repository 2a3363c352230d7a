"""Pages never claim more than is known: what the record or the cluster does not show is unknown."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from kconf.client.contexts.context import Context
from kconf.console.cluster import monitor as module
from kconf.console.cluster.events import ClusterEvent
from kconf.console.cluster.feed import LogPosition
from kconf.console.cluster.history import HistoryIndex
from kconf.console.cluster.monitor import ClusterMonitor
from kconf.console.cluster.record import ClusterRecord
from kconf.console.cluster.snapshot import ClusterSnapshot, Feed, LakeFacts
from kconf.errors import ApiError, ConfigurationError, ErrorCode
from kconf.model.cluster_state import ClusterState, MissingPart
from kconf.model.journal import Change, ChangeKind, Revision
from kconf.model.resource import Resource, ResourceType
from kconf.operations.history.entries import LOG_ORIGIN, JournalStart, RecordedHistory, entries_of
from kconf.operations.target import Target, UserCredential
from tests.unit.console.world import DAY, JSON, START, client, history, revision, set_key, snapshot, topics

MINUTE = 60_000
ORDERS = {"orders": {"retention.ms": str(3 * DAY)}}


def page(found: ClusterSnapshot, path: str) -> dict[str, Any]:
    response = client({"home": found}).get(path, headers=JSON)
    assert response.status_code == 200, response.text
    result: dict[str, Any] = response.json()
    return result


def set_then(number: int, before: str | None, after: str | None) -> Revision:
    return revision(number, set_key("orders", "retention.ms", before, after))


def seen(*revisions: Revision, since: int) -> HistoryIndex:
    """What a console has seen in a metadata log since a time."""
    entries = [
        e._replace(is_from_log=True, origin=LOG_ORIGIN, caller=replace(e.caller, principal=""))
        for each in revisions
        for e in entries_of(each)
    ]
    return HistoryIndex.of(RecordedHistory(LOG_ORIGIN, "cluster-1", entries, []), since=since)


@pytest.mark.parametrize(
    ("error", "note"), [("home has no journal", "home has no journal"), ("", "have not been read yet")]
)
def test_without_a_record_an_earlier_time_is_unknown(error: str, note: str) -> None:
    found = snapshot(topics(ORDERS), None, history_error=error)
    then = page(found, "/home/topic/orders?at=2020-01-01")
    assert [(each["then"], each["now"], each["is_unknown"]) for each in then["at_rows"]] == [(None, "3d", True)]
    assert not then["is_at_known"]
    diff = page(found, "/home/topic/orders?from=2020-01-01")["diff"]
    assert (diff["differences"], diff["is_known"], note in diff["notes"][0]) == ([], False, True)
    html = client({"home": found}).get("/home/topic/orders?from=2020-01-01").text
    assert "Whether something differs is unknown." in html
    assert "No differences" not in html
    compared = page(found, "/home/compare?from=2020-01-01")
    assert compared["total"] is None
    assert note in compared["error"]


def test_for_a_time_before_the_journal_begins_the_page_shows_values_as_unknown() -> None:
    recorded = history(set_then(5, None, str(3 * DAY))).recorded._replace(trimmed=JournalStart(5, START + 5 * MINUTE))
    found = snapshot(topics(ORDERS), HistoryIndex.of(recorded))
    then = page(found, f"/home/topic/orders?at={START}")
    assert [(each["key"], each["is_unknown"]) for each in then["at_rows"]] == [("retention.ms", True)]
    assert "begins at revision 5" in str(then["notes"])


def test_values_before_the_log_was_followed_are_uncertain() -> None:
    recorded = seen(set_then(5, str(DAY), str(3 * DAY)), since=START)
    then = page(snapshot(topics(ORDERS), recorded, feed=Feed.LOG, is_kconf=False), f"/home/topic/orders?at={START - 1}")
    assert [(each["then"], each["is_uncertain"]) for each in then["at_rows"] if each["key"]] == [("1d", True)]
    assert any("The record begins at" in each for each in then["notes"])


def test_the_last_recorded_value_is_uncertain_afterwards_if_others_can_change_it() -> None:
    """Even if the live value is the previous one, which a slow broker may still show."""
    entries = [each._replace(origin="client") for each in entries_of(set_then(5, "1", str(DAY)))]
    recorded = HistoryIndex.of(RecordedHistory("journal", "cluster-1", entries, []))
    state = replace(topics({"orders": {"retention.ms": "1"}}), started=START + 5 * MINUTE + 1000)
    path = f"/home/topic/orders?at={START + 5 * MINUTE + 500}"
    rows = page(snapshot(state, recorded, is_kconf=False), path)["at_rows"]
    assert [(each["then"], each["is_uncertain"]) for each in rows if each["key"]] == [("1d", True)]


def test_a_value_between_two_polls_of_a_gateway_is_uncertain() -> None:
    polled = replace(set_then(5, str(DAY), str(3 * DAY)), not_before=START + 3 * MINUTE)
    found = snapshot(topics(ORDERS), history(polled))
    between, before = (page(found, f"/home/topic/orders?at={START + each * MINUTE}")["at_rows"][0] for each in (4, 2))
    assert (between["is_uncertain"], before["is_uncertain"], before["then"]) == (True, False, "1d")
    assert page(found, "/home/topic/orders")["changes"][0]["not_before"] == START + 3 * MINUTE
    assert "when detected; made after" in client({"home": found}).get("/home/activity").text
    assert not page(found, "/")["clusters"][0]["has_all_changes"]


def test_a_value_that_the_record_does_not_have_yet_has_no_author() -> None:
    found = snapshot(topics(ORDERS), history(set_then(1, None, str(DAY))))
    assert page(found, "/home/topic/orders")["keys"][0]["author"]["who"] == "unknown: the record has not been read yet"


@pytest.mark.parametrize(
    ("recorded", "has_all"),
    [
        (history(), True),
        (seen(since=START), True),
        (seen(since=2**62), False),
        (HistoryIndex.of(RecordedHistory("journal", "cluster-1", [], [])), False),
        (None, False),
    ],
)
def test_changes_of_today_are_counted_exactly_only_if_none_can_be_missing(
    recorded: HistoryIndex | None, has_all: bool
) -> None:
    found = snapshot(topics({}), recorded)
    assert page(found, "/")["clusters"][0]["has_all_changes"] == has_all
    html = client({"home": found}).get("/").text
    assert ("≥ 0" in html) == (recorded is not None and not has_all)


def test_parts_of_a_user_that_could_not_be_read_are_unknown() -> None:
    refused = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no right")
    state = replace(topics({}), missing=tuple(MissingPart(each, refused) for each in ("acls", "quotas", "users")))
    credential = Change(ChangeKind.CONFIG, Resource(ResourceType.SCRAM, "ana"), "SCRAM-SHA-256", None, "x", "set", True)
    recorded = history(revision(1, credential))
    found = snapshot(state, recorded)
    assert [each["empty"] for each in page(found, "/home/user/ana")["tables"]] == ["Unknown: no right"] * 3
    assert not page(found, "/home/users")["is_known"]
    assert "The users are unknown." in client({"home": found}).get("/home/users").text


def test_drift_from_the_lake_is_shown_with_the_time_of_its_run() -> None:
    lake = LakeFacts(START, drifted={}, violations={})
    facts = page(snapshot(topics(ORDERS), history(), lake=lake), "/home/topic/orders")["facts"]
    assert "0 values (run of 2026-" in str(facts)


@pytest.mark.parametrize(("recorded", "title"), [(history(), "Changed by"), (None, "Recorded author")])
def test_a_list_shows_the_last_author_only_if_no_change_can_be_missing(
    recorded: HistoryIndex | None, title: str
) -> None:
    columns = page(snapshot(topics(ORDERS), recorded), "/home/topics")["columns"]
    assert columns[-1]["title"] == title


# -- the monitor ----------------------------------------------------------------------------------------------------


def test_people_see_only_changes_of_resources_that_the_cluster_shows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The metadata log is followed with the credential of the context, which sees everything."""

    async def read(_: object, before: ClusterSnapshot, __: object) -> ClusterSnapshot:
        return before

    monkeypatch.setattr(module, "read_changed", read)
    credential = UserCredential("bo", "secret")
    watched = ClusterMonitor(Target(Context("home", "127.0.0.1:1"), credential=credential), 30.0)
    watched.snapshot = snapshot(topics({"mine": {}}), seen(since=0), feed=Feed.LOG, is_kconf=False)
    events: list[ClusterEvent] = []
    monkeypatch.setattr(watched.subscribers, "publish", events.append)
    revisions = [revision(1, set_key("theirs", "a", None, "1")), revision(2, set_key("mine", "a", None, "1"))]
    asyncio.run(watched._apply(None, revisions))  # type: ignore[arg-type]
    assert [each.change.resource.name for each in events[0].entries] == ["mine"]
    assert watched.snapshot.history is not None
    assert [each.change.resource.name for each in watched.snapshot.history.latest(9)] == ["mine"]


def test_a_gap_in_the_followed_log_starts_a_new_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nothing(_: Target) -> HistoryIndex:
        raise ConfigurationError("home has no journal")

    monkeypatch.setattr("kconf.console.cluster.record.read_index", nothing)
    position = LogPosition()
    record = ClusterRecord(Target(Context("home", "127.0.0.1:1")), position)

    async def read(before: ClusterSnapshot) -> ClusterSnapshot:
        return await record._with_history(before)

    position.begin(7)
    first = asyncio.run(read(snapshot(ClusterState("cluster-1"), None, feed=Feed.LOG, is_kconf=False)))
    assert first.history is not None
    kept = first.history.extended(list(entries_of(set_then(8, None, "1"))))
    again = asyncio.run(read(replace(first, history=kept)))
    assert again.history is kept
    position.begin(20)  # the log did not reach back
    anew = asyncio.run(read(again))
    assert anew.history is not None
    assert (anew.history.count, anew.history_error) == (0, "")
