"""Lists: search, conditions, order, pages, columns, and errors in the query."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from kconf.console.cluster.snapshot import LakeFacts
from kconf.console.words import short_time
from kconf.model.resource import Resource
from tests.unit.console.world import DAY, JSON, START, client, history, revision, set_key, snapshot, topics


@pytest.fixture
def browser() -> TestClient:
    configs = {
        "orders.events": {"retention.ms": str(60 * DAY)},
        "orders.audit": {"retention.ms": "-1"},
        "payments": {"cleanup.policy": "compact"},
        "search": {},
    }
    lake = LakeFacts(owners={"payments": "money"}, drifted={Resource.topic("search"): 2})
    return client({"home": snapshot(topics(configs), lake=lake)})


def names(browser: TestClient, query: str) -> list[str]:
    found = browser.get(f"/home/topics{query}", headers=JSON).json()
    assert found["error"] is None
    return [each["name"] for each in found["rows"]]


def test_all_topics_are_listed_by_name(browser: TestClient) -> None:
    assert names(browser, "") == ["orders.audit", "orders.events", "payments", "search"]


def test_a_word_matches_a_part_of_the_name_and_a_pattern_the_whole_name(browser: TestClient) -> None:
    assert names(browser, "?q=ORDERS") == ["orders.audit", "orders.events"]
    assert names(browser, "?q=*.events") == ["orders.events"]
    assert names(browser, "?q=orders+audit") == ["orders.audit"]


def test_conditions_compare_effective_values_and_unlimited_exceeds_every_amount(browser: TestClient) -> None:
    assert names(browser, "?q=retention.ms%3E30d") == ["orders.audit", "orders.events"]
    assert names(browser, "?q=retention.ms%3C=7d+cleanup.policy=delete") == ["search"]
    assert names(browser, "?q=partitions%3E6") == []


def test_topics_are_found_by_flags_and_by_owners_of_the_lake(browser: TestClient) -> None:
    assert names(browser, "?q=is:set") == ["orders.audit", "orders.events", "payments"]
    assert names(browser, "?q=is:drifted") == ["search"]
    assert names(browser, "?q=owner:money") == ["payments"]


def test_searching_for_data_that_the_lake_lacks_is_an_error(browser: TestClient) -> None:
    found = browser.get("/home/topics?q=is:violating", headers=JSON).json()
    assert found["rows"] == []
    assert found["error"].startswith("is:violating cannot be used here")


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("retention.sm%3E1d", "retention.sm is not a key of a topic; did you mean retention.ms?"),
        ("retention.ms%3Ex", "retention.ms"),
        ("%27orders", "a quote is not closed"),
        ("is:odd", "is:odd is not a flag"),
    ],
)
def test_an_invalid_search_shows_the_error(browser: TestClient, query: str, error: str) -> None:
    page = browser.get(f"/home/topics?q={query}")
    assert page.status_code == 200
    assert error in page.text


def test_columns_and_order_are_url_parameters(browser: TestClient) -> None:
    found = browser.get("/home/topics?columns=retention.ms&sort=-retention.ms", headers=JSON).json()
    assert [each["name"] for each in found["columns"]] == ["retention.ms"]
    assert [(each["name"], each["cells"]) for each in found["rows"]] == [
        ("orders.audit", ["unlimited"]),
        ("orders.events", ["60d"]),
        ("payments", ["7d"]),
        ("search", ["7d"]),
    ]


def test_a_topic_shows_the_time_and_the_author_of_its_last_change() -> None:
    first = revision(1, set_key("orders", "retention.ms", None, "5"), by="User:ana")
    last = revision(2, set_key("orders", "retention.ms", "5", "6"), by="User:bo")
    browser = client({"home": snapshot(topics({"orders": {}, "search": {}}), history(first, last))})

    found = browser.get("/home/topics?columns=changed,changed-by", headers=JSON).json()

    assert [each["title"] for each in found["columns"]] == ["Changed", "Changed by"]
    assert [(each["name"], each["cells"]) for each in found["rows"]] == [
        ("orders", [short_time(START + 2 * 60_000), "User:bo"]),
        ("search", ["", ""]),
    ]


def test_pages_link_to_their_neighbors_and_end() -> None:
    browser = client({"home": snapshot(topics({f"t{number:03}": {} for number in range(120)}))})
    first, last = (browser.get(f"/home/topics?page={each}", headers=JSON).json() for each in (1, 3))
    assert (first["previous_path"], first["next_path"], len(first["rows"])) == (None, "/home/topics?page=2", 50)
    assert (last["next_path"], last["rows"][-1]["name"], last["pages"]) == (None, "t119", 3)


@pytest.mark.parametrize("query", ["page=0", "page=x", "size=-1", "sort=nothing"])
def test_an_invalid_number_or_order_is_a_bad_request(browser: TestClient, query: str) -> None:
    assert browser.get(f"/home/topics?{query}").status_code == 400


def test_hostile_names_are_escaped_and_control_characters_are_shown() -> None:
    hostile = "<img src=x onerror=alert(1)>\"'\u202e\x1b[31m"
    browser = client({"home": snapshot(topics({hostile: {}}))})
    text = browser.get("/home/topics").text
    assert "<img src=x" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;&#34;&#39;\\u202e\\u001b[31m" in text
    (row,) = browser.get("/home/topics", headers=JSON).json()["rows"]
    assert row["name"] == hostile
    assert browser.get(row["path"]).status_code == 200
