"""One resource: keys, precedence, authors, timeline, a time, a difference."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from kconf.model.resource import Resource
from tests.unit.console.world import DAY, JSON, START, WEEK, client, history, revision, set_key, snapshot, topics

MINUTE = 60_000


@pytest.fixture
def browser() -> TestClient:
    state = topics({"orders": {"retention.ms": str(3 * DAY)}})
    recorded = history(
        revision(1, set_key("orders", "retention.ms", None, str(DAY)), reason="INC-1"),
        revision(2, set_key("orders", "cleanup.policy", None, "compact"), by="User:bo"),
        revision(3, set_key("orders", "retention.ms", str(DAY), str(3 * DAY)), by="User:<b>eve"),
        revision(4, set_key("orders", "cleanup.policy", "compact", None)),
    )
    return client({"home": snapshot(state, recorded)})


def page(browser: TestClient, query: str = "") -> dict[str, Any]:
    found = browser.get(f"/home/topic/orders{query}", headers=JSON)
    assert found.status_code == 200
    result: dict[str, Any] = found.json()
    return result


def test_set_keys_are_listed_before_keys_that_were_only_changed(browser: TestClient) -> None:
    keys = page(browser)["keys"]
    assert [(each["name"], each["is_set"]) for each in keys] == [("retention.ms", True), ("cleanup.policy", False)]


def test_a_key_has_its_value_with_its_unit_its_source_and_its_author(browser: TestClient) -> None:
    key = page(browser)["keys"][0]
    assert (key["shown"], key["value"], key["unit"], key["source"]) == ("3d", str(3 * DAY), "time", "topic")
    assert (key["author"]["who"], key["author"]["revision"]) == ("User:<b>eve", 3)
    assert [(each["source"], each["wins"]) for each in key["precedence"]] == [("topic", True)]
    assert key["docs"] == "https://kafka.apache.org/documentation/#topicconfigs_retention.ms"


def test_changes_are_newest_first_with_who_when_and_why(browser: TestClient) -> None:
    changes = page(browser)["changes"]
    assert [each["revision"] for each in changes] == [4, 3, 2, 1]
    assert (changes[-1]["who"], changes[-1]["reason"], changes[-1]["time"]) == ("User:ana", "INC-1", START + MINUTE)


def test_the_values_of_a_time_are_shown_next_to_current_ones(browser: TestClient) -> None:
    rows = page(browser, f"?at={START + 2 * MINUTE}")["at_rows"]
    assert {each["key"]: (each["then"], each["now"], each["differs"]) for each in rows} == {
        "cleanup.policy": ("compact", None, True),
        "retention.ms": ("1d", "3d", True),
    }


def test_a_value_that_was_changed_back_is_no_difference_between_two_times(browser: TestClient) -> None:
    found = page(browser, f"?from={START}&to={START + 4 * MINUTE}")["diff"]["differences"]
    assert [(each["key"], each["before"], each["after"]) for each in found] == [("retention.ms", None, "3d")]


@pytest.mark.parametrize("query", ["?at=nonsense", f"?from={START + 5}&to={START}"])
def test_invalid_times_are_a_bad_request(browser: TestClient, query: str) -> None:
    assert browser.get(f"/home/topic/orders{query}").status_code == 400


def test_one_key_has_its_own_timeline(browser: TestClient) -> None:
    found = page(browser, "?key=retention.ms")
    assert found["key"]["name"] == "retention.ms"
    (lane,) = found["key_timeline"]["lanes"]
    assert [each["title"] for each in lane["spans"]] == ["not set", "1d", "3d"]
    assert "INC-1" in lane["marks"][0]["title"]


def test_the_page_escapes_principals_and_reasons(browser: TestClient) -> None:
    text = browser.get("/home/topic/orders?key=retention.ms").text
    assert "User:&lt;b&gt;eve" in text
    assert "<b>eve" not in text


def test_a_missing_topic_is_not_found_and_a_deleted_one_has_its_history() -> None:
    recorded = history(revision(1, set_key("gone", "retention.ms", None, str(WEEK))))
    browser = client({"home": snapshot(topics({"orders": {}}), recorded)})
    assert browser.get("/home/topic/nothing").status_code == 404
    assert "not listed now" in browser.get("/home/topic/gone").text


def test_the_page_reports_a_missing_record_and_shows_the_state() -> None:
    state = topics({"orders": {"retention.ms": "1"}})
    browser = client({"home": snapshot(state, None, history_error="home has no journal")})
    found = page(browser)
    assert (found["source"], found["changes"], found["slider"]) == (None, [], None)
    assert "home has no journal" in found["notes"]
    assert found["keys"][0]["author"]["who"] == "unknown: not recorded"


def test_a_ghost_config_is_marked_in_the_list_and_explained_on_its_page() -> None:
    found = "ghost config: the cluster shows 1, the metadata log has no such value: it belongs to a deleted topic"
    state = topics({"orders": {"retention.ms": "1"}})
    ghosts = {(Resource.topic("orders"), "retention.ms"): found}
    browser = client({"home": snapshot(state, None, findings=ghosts)})
    assert page(browser)["keys"][0]["finding"] == found
    assert f'title="{found}">ghost config<' in browser.get("/home/topic/orders").text
    assert f'<p class="alert quiet">{found}</p>' in browser.get("/home/topic/orders?key=retention.ms").text


def test_a_resource_leads_to_its_activity_and_to_who_can_read_it(browser: TestClient) -> None:
    assert [(each["title"], each["path"]) for each in page(browser)["related"]] == [
        ("Activity", "/home/activity?resource=topic%3Aorders"),
        ("Who can read it", "/home/access?operation=read&resource=topic%3Aorders"),
    ]
    for each in page(browser)["related"]:
        assert browser.get(each["path"]).status_code == 200
    activity = browser.get("/home/activity?resource=topic%3Aorders", headers=JSON).json()
    assert activity["matching"] == 4
