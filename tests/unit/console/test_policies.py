"""Policies: the rules of a context, and what violates them now."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from kconf.client.contexts.context import Context
from kconf.console.cluster.snapshot import LakeFacts
from kconf.errors import ApiError, ErrorCode
from kconf.model.cluster_state import ClusterState, MissingPart
from tests.unit.console.world import DAY, JSON, client, snapshot, topics

HOSTILE = "<script>alert(1)</script>"
POLICY = """\
version: 1
labels:
  topic:payments.*: {owner: payments-team}
rules:
  - id: retention
    selector: topic
    key: retention.ms
    condition: {min: 1h, max: 5d}
    message: keep data for 5 days at most
  - id: wide
    selector: {type: topic, except: "small.*"}
    key: partitions
    condition: {min: 12}
    severity: warn
  - id: brokers
    selector: broker
    key: num.io.threads
    condition: {min: 8}
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


STATE = topics(
    {
        "orders": {"retention.ms": str(3 * DAY)},
        "small.one": {"retention.ms": str(2 * DAY)},
        "payments.eu": {},
        HOSTILE: {"retention.ms": "1"},
    }
)


def console(policy: Path | None, state: ClusterState = STATE, lake: LakeFacts | None = None) -> TestClient:
    context = Context("home", "127.0.0.1:1", policy=None if policy is None else str(policy))
    return client({"home": snapshot(state, lake=lake)}, [context])


def page(browser: TestClient, **query: str) -> dict[str, Any]:
    found: dict[str, Any] = browser.get(f"/home/policies?{urlencode(query)}", headers=JSON).json()
    return found


def test_rules_are_listed_with_conditions_and_numbers_of_violations(policy: Path) -> None:
    rules = {each["id"]: each for each in page(console(policy))["rules"]}
    assert list(rules) == ["retention", "wide", "brokers"]
    assert (rules["retention"]["key"], rules["retention"]["conditions"]) == ("retention.ms", ["min 1h", "max 5d"])
    assert rules["wide"]["applies_to"] == ["topic (all), except small.*"]
    assert [each["violations"] for each in rules.values()] == [2, 3, 0]


def test_inherited_values_can_violate_rules_and_violations_have_owners(policy: Path) -> None:
    lake = LakeFacts(owners={"orders": "shop"})
    found = page(console(policy, lake=lake))
    rows = {(each["resource"], each["rule"]): each for each in found["rows"]}
    assert set(rows) == {
        (f"topic:{HOSTILE}", "retention"),
        ("topic:payments.eu", "retention"),
        ("topic:orders", "wide"),
        ("topic:payments.eu", "wide"),
        (f"topic:{HOSTILE}", "wide"),
    }
    assert [each["severity"] for each in found["rows"]] == ["error"] * 2 + ["warn"] * 3
    assert (found["total"], found["errors"], found["evaluated"]) == (5, 2, 4)
    assert rows["topic:orders", "wide"]["owner"] == "shop"
    assert {each["owner"]: each["violations"] for each in found["owners"]} == {"shop": 1, "payments-team": 2, None: 2}
    assert rows["topic:payments.eu", "wide"]["owner"] == "payments-team"
    assert rows[f"topic:{HOSTILE}", "wide"]["owner"] is None
    assert rows["topic:orders", "wide"]["change"] is None  # partitions are not a key
    assert rows["topic:payments.eu", "retention"]["change"] == "/home/change?resource=topic%3Apayments.eu"


@pytest.mark.parametrize(
    ("query", "count"),
    [({"rule": "wide"}, 3), ({"severity": "error"}, 2), ({"owner": "payments-team"}, 2), ({"q": "5 days at most"}, 2)],
)
def test_violations_are_filtered_by_url_parameters(policy: Path, query: dict[str, str], count: int) -> None:
    found = page(console(policy), **query)
    assert (len(found["rows"]), found["matching"], found["total"]) == (count, count, 5)


def test_a_changed_file_is_read_again(policy: Path) -> None:
    browser = console(policy)
    assert page(browser)["errors"] == 2
    policy.write_text(POLICY.replace("max: 5d", "max: 9d"))
    os.utime(policy, (1, 1))
    assert page(browser)["errors"] == 1


def test_unreadable_resources_are_reported_as_unknown(policy: Path) -> None:
    hidden = MissingPart("topic:secret", ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    brokers = MissingPart("brokers", ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    notes = page(console(policy, replace(STATE, missing=(hidden, brokers))))["notes"]
    assert notes[0] == "Not all broker resources can be read; whether they violate a rule is unknown."
    assert notes[1] == "Unknown, because not readable: topic:secret (TOPIC_AUTHORIZATION_FAILED)."


def test_the_page_reports_a_missing_and_an_invalid_policy(tmp_path: Path) -> None:
    found = page(console(None))
    assert ("has no policy" in found["notes"][0], found["total"]) == (True, None)
    assert "cannot read the policy" in page(console(tmp_path / "absent.yaml"))["error"]
    broken = tmp_path / "broken.yaml"
    broken.write_text("version: 1\nrules:\n  - id: x\n    selector: nothing\n")
    found = page(console(broken))
    assert (f"{broken}:" in found["error"], found["total"]) == (True, None)


def test_names_are_escaped(policy: Path) -> None:
    text = console(policy).get("/home/policies").text
    assert "&lt;script&gt;alert(1)" in text
    assert HOSTILE not in text
