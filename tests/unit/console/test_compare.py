"""Compare two clusters or two times, and promote a value into the form of a change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from kconf.client.contexts.context import Context
from kconf.console.cluster.history import HistoryIndex
from kconf.console.cluster.snapshot import ClusterSnapshot, Status
from kconf.errors import ApiError, ErrorCode
from kconf.model.cluster_state import MissingPart
from kconf.operations.history.entries import JournalStart
from tests.unit.console.world import DAY, JSON, START, WEEK, client, history, revision, set_key, snapshot, topics

MINUTE = 60_000
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def browser() -> TestClient:
    here = {"orders": {"retention.ms": str(3 * DAY)}, "same": {}, "only-here": {}, HOSTILE: {"retention.ms": "1"}}
    there = {"orders": {"cleanup.policy": "compact"}, "same": {}, HOSTILE: {"retention.ms": "2"}}
    recorded = history(
        revision(1, set_key("orders", "retention.ms", None, str(DAY)), reason="INC-1"),
        revision(2, set_key("orders", "retention.ms", str(DAY), str(3 * DAY)), by="User:bo", reason="INC-2"),
        revision(3, set_key("same", "cleanup.policy", None, "compact")),
        revision(4, set_key("same", "cleanup.policy", "compact", None)),
    )
    contexts = [Context("fixed", "127.0.0.1:1", read_only=True)]
    snapshots = {
        "home": snapshot(topics(here), recorded),
        "away": snapshot(topics(there)),
        "fixed": snapshot(topics(there)),
        "down": ClusterSnapshot(status=Status.UNREACHABLE, error="connection refused"),
    }
    return client(snapshots, contexts)


def page(browser: TestClient, **query: str) -> dict[str, Any]:
    found: dict[str, Any] = browser.get(f"/home/compare?{urlencode(query)}", headers=JSON).json()
    return found


def rows(found: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["resource"], each["key"]): each for each in found["rows"]}


def test_two_clusters_are_compared_by_overrides_and_effective_values(browser: TestClient) -> None:
    found = page(browser, **{"with": "away", "resource": "orders"})
    values = {name: (each["one"], each["other"]) for name, each in rows(found).items()}
    assert values == {
        ("topic:orders", "cleanup.policy"): ("delete", "compact"),
        ("topic:orders", "retention.ms"): ("3d", "7d"),
    }
    everything = rows(page(browser, **{"with": "away"}))
    assert ("topic:only-here", "") in everything
    assert not any(name == "topic:same" for name, _ in everything)


def test_a_value_is_promoted_in_both_directions_into_the_form(browser: TestClient) -> None:
    row = rows(page(browser, **{"with": "away"}))["topic:orders", "retention.ms"]
    assert [(each["title"], each["path"]) for each in row["promotions"]] == [
        ("to home", f"/home/change?resource=topic%3Aorders&set=retention.ms%3D{WEEK}"),
        ("to away", f"/away/change?resource=topic%3Aorders&set=retention.ms%3D{3 * DAY}"),
    ]
    form = browser.get(row["promotions"][1]["path"], headers=JSON).json()
    field = next(each for each in form["fields"] if each["key"] == "retention.ms")
    assert (field["op"], field["value"], field["effective"]) == ("set", str(3 * DAY), "7d")


def test_nothing_is_promoted_from_a_missing_resource_or_to_a_read_only_context(browser: TestClient) -> None:
    assert rows(page(browser, **{"with": "away"}))["topic:only-here", ""]["promotions"] == []
    fixed = rows(page(browser, **{"with": "fixed"}))["topic:orders", "retention.ms"]
    assert [each["title"] for each in fixed["promotions"]] == ["to home"]


def test_two_times_have_authors_and_the_first_value_can_be_restored(browser: TestClient) -> None:
    found = page(browser, **{"from": str(START + MINUTE)})
    assert list(rows(found)) == [("topic:orders", "retention.ms")]
    row = found["rows"][0]
    assert (row["one"], row["other"], row["author"], row["reason"]) == ("1d", "3d", "User:bo", "INC-2")
    assert [each["title"] for each in row["promotions"]] == ["restore"]
    assert row["promotions"][0]["path"].endswith(f"set=retention.ms%3D{DAY}")
    first = page(browser, **{"from": str(START), "to": str(START + MINUTE)})["rows"][0]
    assert (first["one"], first["other"]) == (None, "1d")
    restore = browser.get(first["promotions"][0]["path"], headers=JSON).json()
    assert [each["op"] for each in restore["fields"] if each["key"] == "retention.ms"] == ["unset"]


def test_comparing_with_a_time_before_the_record_is_an_error() -> None:
    recorded = history(revision(9, set_key("orders", "retention.ms", None, "1")))
    trimmed = HistoryIndex.of(recorded.recorded._replace(trimmed=JournalStart(9, START + 9 * MINUTE)))
    found = page(client({"home": snapshot(topics({"orders": {}}), trimmed)}), **{"from": str(START)})
    assert "begins at revision 9" in found["error"]
    assert found["total"] is None


def test_values_that_an_incomplete_record_does_not_contain_are_unknown() -> None:
    complete = history(revision(2, set_key("orders", "retention.ms", None, str(DAY)))).recorded
    partial = HistoryIndex.of(complete._replace(source="journal", notes=["only kconf's own changes are recorded"]))
    state = topics({"orders": {"retention.ms": str(DAY), "cleanup.policy": "compact"}})
    found = page(client({"home": snapshot(state, partial)}), **{"from": str(START)})
    assert found["notes"][0] == "only kconf's own changes are recorded"
    assert "topic:orders cleanup.policy" in found["unknown"]


@pytest.mark.parametrize(
    ("query", "status"),
    [({"with": "nowhere"}, 404), ({"from": "nonsense"}, 400), ({"from": str(START + 5), "to": str(START)}, 400)],
)
def test_an_invalid_comparison_is_refused(browser: TestClient, query: dict[str, str], status: int) -> None:
    assert browser.get(f"/home/compare?{urlencode(query)}").status_code == status


def test_a_cluster_that_was_not_read_is_not_reported_as_equal(browser: TestClient) -> None:
    found = page(browser, **{"with": "down"})
    assert (found["error"], found["total"]) == ("down has not been read yet: connection refused", None)


def test_parts_that_could_not_be_read_are_named() -> None:
    missing = MissingPart("acls", ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    other = snapshot(replace(topics({}), missing=(missing,)))
    found = page(client({"home": snapshot(topics({})), "away": other}), **{"with": "away"})
    assert found["notes"] == ["away: acls cannot be read, so it is unknown whether they differ"]


def test_names_are_escaped(browser: TestClient) -> None:
    text = browser.get("/home/compare?with=away").text
    assert "&lt;script&gt;alert(1)" in text
    assert HOSTILE not in text
