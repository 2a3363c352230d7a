"""Reports from a lake, written by deltalake without Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kconf.client.contexts.context import Context
from kconf.console.cluster.lake import read_lake
from kconf.console.cluster.snapshot import ClusterSnapshot
from kconf.console.security.login import LoginMethod
from kconf.lake.schemas import (
    ACTIVITY,
    DECLARED,
    DRIFT,
    EFFECTIVE_QUOTA,
    HISTORY,
    INTEGRITY,
    STATE,
    TOPICS,
    VIOLATIONS,
)
from kconf.model.resource import Resource
from kconf.operations.target import Target
from tests.support.small_lake import CLUSTER, SmallLake, value
from tests.unit.console.test_security import OnlyAna, log_in
from tests.unit.console.world import JSON, client, snapshot, topics

HOSTILE = "<script>alert(1)</script>"
NOW = datetime.now(UTC)
TODAY = NOW.date()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake with rows in every table, also of another cluster."""
    uri = str(tmp_path_factory.mktemp("lake"))
    found = SmallLake(uri)
    orders = {"cluster": CLUSTER, "resource_type": "topic", "resource_name": "orders", "key": "retention.ms"}
    hidden = {**orders, "resource_name": "hidden"}
    per_day = {"cluster": CLUSTER, "kind": "changes", "resource_type": "topic", "last": None, "resource_name": None}
    found.add(HISTORY, [value("orders", "retention.ms", "60000")])
    found.add(TOPICS, [{"cluster": CLUSTER, "topic": "orders", "owner": "search", "exists": True}])
    found.add(
        ACTIVITY,
        [
            {**per_day, "day": TODAY, "principal": "User:ana", "count": 3, "key": "retention.ms"},
            {**per_day, "day": TODAY - timedelta(days=2), "principal": f"User:{HOSTILE}", "count": 1},
            {**per_day, "day": TODAY - timedelta(days=40), "principal": "User:old", "count": 9},
            {**per_day, "day": TODAY, "principal": None, "count": 1},
            {**per_day, "day": TODAY, "principal": "User:bo", "count": 2, "kind": "refusals"},
            {**per_day, "day": TODAY, "principal": "User:elsewhere", "count": 7, "cluster": "another"},
            {**per_day, **orders, "day": None, "principal": "User:ana", "count": 4, "kind": "flapping", "last": NOW},
        ],
    )
    found.add(
        DRIFT,
        [
            {**orders, "kind": "differs", "declared": "86400000", "actual": "60000", "place": "a.yaml:1:1"},
            {**hidden, "kind": "differs", "declared": "1", "actual": "2", "place": "a.yaml:2:1"},
        ],
    )
    broken = {"rule": "keep", "severity": "error", "owner": "search", "value": "60000", "since": NOW, "open": True}
    found.add(VIOLATIONS, [{**orders, **broken}, {**orders, **broken, "rule": "mended", "open": False}])
    found.add(INTEGRITY, [{**orders, "kind": "slipped", "expected": "1", "found": "60000", "time": NOW}])
    used = {"cluster": CLUSTER, "user": "alice", "client_id": "app", "key": "producer_byte_rate", "used": 5.0}
    found.add(EFFECTIVE_QUOTA, [used, {**used, "client_id": "idle", "used": None}])
    found.add(DECLARED, [{**orders, "value": "86400000"}])
    found.add(STATE, [{"cluster": CLUSTER, "began": NOW}])
    found.finish(HISTORY, TOPICS, ACTIVITY, DRIFT, VIOLATIONS, INTEGRITY, EFFECTIVE_QUOTA, DECLARED, STATE)
    return uri


def console(lake: str | None, login: LoginMethod | None = None, cluster: str = CLUSTER) -> TestClient:
    state = replace(topics({"orders": {}}), cluster=cluster)
    return client({"home": snapshot(state)}, [Context("home", "127.0.0.1:1", lake=lake)], login=login)


def page(browser: TestClient, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = browser.get(f"/home/reports{query}", headers=JSON).json()
    return found


def table(found: dict[str, Any], title: str) -> dict[str, Any]:
    one: dict[str, Any] = next(each for each in found["tables"] if each["title"] == title)
    return one


def test_changes_are_counted_by_day_and_by_author(lake: str) -> None:
    found = page(console(lake), "?days=7")
    assert (found["run"], found["changes"]) == (1, 5)
    counts = {each["name"]: each["count"] for each in found["by_day"]}
    assert len(counts) == 7
    assert {day: count for day, count in counts.items() if count} == {str(TODAY - timedelta(days=2)): 1, str(TODAY): 4}
    assert [(each["name"], each["count"]) for each in found["by_author"]] == [
        ("User:ana", 3),
        (f"User:{HOSTILE}", 1),
        ("unknown: first seen in a snapshot", 1),
    ]
    assert [(each["name"], each["count"], each["length"]) for each in found["refusals"]] == [("User:bo", 2, 100)]
    assert page(console(lake), "?days=60")["changes"] == 14


def test_violations_drift_flapping_keys_and_integrity_findings_are_listed(lake: str) -> None:
    found = page(console(lake))
    texts = {each["title"]: [[cell["text"] for cell in row] for row in each["rows"]] for each in found["tables"]}
    since = f"{NOW:%Y-%m-%d %H:%M}"
    assert texts["Open violations"] == [["topic:orders", "search", "error", "keep", "retention.ms", "1m", since, ""]]
    assert texts["Drift"][1] == ["topic:orders", "retention.ms", "differs", "1d", "1m", "", "", "a.yaml:1:1"]
    assert texts["Flapping keys"] == [["topic:orders", "retention.ms", "4 times", since, "User:ana"]]
    assert texts["Journal integrity"][0][:2] == ["slipped", "topic:orders"]
    assert table(found, "Drift")["rows"][1][0]["path"] == "/home/topic/orders"


def test_reports_show_only_resources_that_the_person_can_see(lake: str) -> None:
    browser = console(lake, OnlyAna())
    assert log_in(browser) == 303
    found = page(browser)
    assert (found["changes"], found["by_author"]) == (None, [])
    assert [row[0]["text"] for row in table(found, "Drift")["rows"]] == ["topic:orders"]
    assert "topic:hidden" not in browser.get("/home/reports").text
    assert (
        table(found, "Open violations")["empty"] == "No open violations. This covers only resources that you can see."
    )


def test_a_lake_without_data_of_the_cluster_has_no_report(lake: str, tmp_path: Path) -> None:
    unknown = page(console(lake, cluster="never-seen"))
    assert (unknown["finished"], "has no data on the cluster never-seen" in unknown["error"]) == (None, True)
    absent = page(console(str(tmp_path / "absent")))
    assert (absent["finished"], "The lake cannot be read" in absent["error"]) == (None, True)


def test_reports_without_a_lake_or_before_the_first_read_are_unknown(lake: str) -> None:
    assert "has no lake" in page(console(None))["notes"][0]
    browser = client({"home": ClusterSnapshot()}, [Context("home", "127.0.0.1:1", lake=lake)])
    assert browser.get("/home/reports", headers=JSON).json()["finished"] is None


def test_drift_and_violations_are_unknown_after_a_run_without_files_and_rules(tmp_path: Path) -> None:
    found = SmallLake(str(tmp_path))
    found.add(HISTORY, [value("orders", "retention.ms", "60000")])
    found.finish(HISTORY)
    shown = page(console(str(tmp_path)))
    assert (table(shown, "Drift")["count"], table(shown, "Open violations")["count"]) == (None, None)
    assert table(shown, "Journal integrity")["count"] is None
    assert "Unknown: the last run had no declared files" in console(str(tmp_path)).get("/home/reports").text


def test_authors_are_escaped(lake: str) -> None:
    text = console(lake).get("/home/reports").text
    assert "&lt;script&gt;alert(1)" in text
    assert HOSTILE not in text


def test_owners_drift_violations_and_usage_are_read_from_a_lake(lake: str) -> None:
    facts = read_lake(Target(Context("home", "127.0.0.1:1", lake=lake)), CLUSTER)
    assert facts is not None
    orders = Resource.topic("orders")
    assert (facts.error, facts.owners) == ("", {"orders": "search"})
    assert (facts.drifted, facts.violations) == ({orders: 1, Resource.topic("hidden"): 1}, {orders: 1})
    assert facts.used == {("alice", "app", "producer_byte_rate"): 5.0}
