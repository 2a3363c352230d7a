"""Drift from declared files: different, missing and undeclared values, and who set them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kconf.cli.commands import console as console_command
from kconf.configdef.lookup import keys_for
from kconf.console.pages.review import drift
from kconf.engine.declarative.diff import differences
from kconf.engine.declarative.prune import undeclared
from kconf.errors import ApiError, ConfigurationError, ErrorCode, NotAuthorized
from kconf.model.cluster_state import ClusterState, MissingPart
from kconf.model.quota import QuotaEntity
from kconf.operations.declarative.files import load_declared
from kconf.operations.declarative.plan import DifferencePlan
from kconf.operations.target import Target
from tests.unit.console.world import DAY, JSON, client, history, revision, set_key, snapshot, topics

HOSTILE = "<script>alert(1)</script>"
FILES = """\
version: 1
selector: "topic:*"
topics:
  orders:
    partitions: 6
    replication: 3
    configs:
      retention.ms: 1d
  new:
    partitions: 3
    replication: 3
quotas:
  - user: alice
    limits: {producer_byte_rate: 2MiB}
"""
STATE = replace(
    topics({"orders": {"retention.ms": str(3 * DAY), "cleanup.policy": "compact"}, "extra": {}}),
    quotas={QuotaEntity.of({"user": "alice"}): {"producer_byte_rate": 1048576.0}},
)


def plan_of(paths: Sequence[str], target: Target, prune: str | None) -> DifferencePlan:
    """Like `plan_files`, on the state of the snapshot."""
    assert prune is None
    declared = load_declared(paths, target.context)
    found, notes = differences(declared, STATE, keys_for)
    unread = [MissingPart("acls", ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))]
    return DifferencePlan("cluster-1", found, {}, notes, None, undeclared(declared, STATE, keys_for), unread)


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    path = tmp_path / "cluster.yaml"
    path.write_text(FILES)
    monkeypatch.setattr(drift, "plan_files", plan_of)
    return opened(STATE, str(path))


def opened(state: ClusterState, *files: str) -> TestClient:
    recorded = history(revision(1, set_key("orders", "retention.ms", None, str(3 * DAY)), by="User:bo", reason=HOSTILE))
    return client({"home": snapshot(state, recorded)}, files={"home": files} if files else {})


def page(browser: TestClient, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = browser.get(f"/home/drift{query}", headers=JSON).json()
    return found


def rows(found: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["resource"], each["key"]): each for each in found["rows"]}


def test_a_differing_value_has_its_location_and_author(browser: TestClient) -> None:
    row = rows(page(browser))["topic:orders", "retention.ms"]
    assert (row["kind"], row["declared"], row["actual"]) == ("differs", "1d", "3d")
    assert row["place"].endswith("cluster.yaml:8:21")
    assert (row["author"]["who"], row["author"]["reason"]) == ("User:bo", HOSTILE)
    assert row["apply"] == f"/home/change?resource=topic%3Aorders&set=retention.ms%3D{DAY}"


def test_missing_resources_and_undeclared_values_are_drift(browser: TestClient) -> None:
    found = page(browser)
    by_name = rows(found)
    assert by_name["topic:new", ""]["kind"] == "missing"
    extra = by_name["topic:orders", "cleanup.policy"]
    assert (extra["kind"], extra["declared"], extra["actual"]) == ("undeclared", None, "compact")
    assert extra["apply"] == "/home/change?resource=topic%3Aorders&unset=cleanup.policy"
    assert by_name["topic:extra", ""]["kind"] == "undeclared"
    quota = by_name["quota:user alice", "producer_byte_rate"]
    assert (quota["declared"], quota["actual"], quota["apply"]) == ("2MiB", "1MiB", None)
    assert found["counts"] == {"differs": 2, "missing": 1, "undeclared": 2}
    assert found["unread"] == ["acls: CLUSTER_AUTHORIZATION_FAILED"]


def test_drift_is_filtered_by_url_parameters(browser: TestClient) -> None:
    assert list(rows(page(browser, "?kind=missing"))) == [("topic:new", "")]
    assert list(rows(page(browser, "?q=RETENTION"))) == [("topic:orders", "retention.ms")]


def test_reasons_are_escaped(browser: TestClient) -> None:
    text = browser.get("/home/drift").text
    assert "&lt;script&gt;alert(1)" in text
    assert HOSTILE not in text


def test_without_files_drift_is_unknown() -> None:
    found = page(opened(STATE))
    assert (found["total"], "is unknown" in found["notes"][0]) == (None, True)
    assert "No drift" not in opened(STATE).get("/home/drift").text


def test_drift_that_cannot_be_determined_is_unknown_and_not_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(paths: Sequence[str], target: Target, prune: str | None) -> DifferencePlan:
        raise NotAuthorized("not for you")

    broken = tmp_path / "broken.yaml"
    broken.write_text("topics: [")
    found = page(opened(STATE, str(broken)))
    assert (str(broken) in found["error"], found["total"]) == (True, None)
    monkeypatch.setattr(drift, "plan_files", refused)
    assert page(opened(STATE, str(broken)))["error"] == "The drift is unknown: not for you"


# -- the option ------------------------------------------------------------------------------------------------------


def declared(arguments: list[str], contexts: list[str]) -> dict[str, Sequence[str]]:
    parser = argparse.ArgumentParser()
    console_command.register(parser.add_subparsers())
    options = parser.parse_args(["console", *(part for each in arguments for part in ("--declared", each))])
    return console_command._declared(options.declared, contexts)


def test_files_are_assigned_to_the_only_or_the_named_context(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "a=b"
    for each in (one, other):
        each.mkdir()
    assert declared([str(one), f"prod={other}"], ["prod"]) == {"prod": [str(one), str(other)]}
    assert declared([str(other)], ["prod"]) == {"prod": [str(other)]}
    assert declared([f"b={one}"], ["a", "b"]) == {"b": [str(one)]}
    with pytest.raises(ConfigurationError, match="CONTEXT=PATH; contexts are a, b"):
        declared([str(one)], ["a", "b"])
    with pytest.raises(ConfigurationError, match="does not exist"):
        declared([str(tmp_path / "absent")], ["prod"])


def test_the_drift_is_computed_once_for_a_snapshot_and_its_age_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(FILES)
    asked: list[object] = []

    def counted(paths: Sequence[str], target: Target, prune: str | None) -> DifferencePlan:
        asked.append(paths)
        return plan_of(paths, target, prune)

    monkeypatch.setattr(drift, "plan_files", counted)
    browser = client({"home": snapshot(STATE, history())}, files={"home": [str(path)]})
    first = browser.get("/home/drift", headers=JSON).json()
    second = browser.get("/home/drift?kind=differs", headers=JSON).json()
    assert (len(asked), second["taken"]) == (1, first["taken"])
    assert second["age"] >= 0
    assert "s ago. <a" in browser.get("/home/drift").text
    again = browser.get("/home/drift?kind=differs&again=yes")
    assert (again.status_code, again.headers["location"]) == (303, "/home/drift?kind=differs")
    browser.get("/home/drift")
    path.write_text(FILES + "# changed\n")
    browser.get("/home/drift")
    assert len(asked) == 3
