"""The dashboard asks for metrics that a server exports, and so do the alerts of docs/operations.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.docs.blocks import ROOT
from tests.support.process import KconfProcess

NAME = re.compile(r"\b(?:kconf|process)_[a-z_]+\b")
OF_GATEWAYS = {
    "kconf_outside_revisions_total",
    "kconf_failed_relays_total",
    "kconf_poll_interval_seconds",
    "kconf_poll_age_seconds",
    "kconf_poll_duration_seconds",
}
"""Exported by a gateway that polls: tests/conformance/test_polling_gateway.py."""

TYPE = re.compile(r"^# TYPE (\S+) ", re.MULTILINE)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[set[str]]:
    archive: Path = tmp_path_factory.mktemp("archive")
    with KconfProcess(args=["--metrics", "127.0.0.1:0", "--archive", str(archive)]) as server:
        assert server.metrics_url is not None
        with urlopen(server.metrics_url, timeout=120) as answer:
            yield set(TYPE.findall(answer.read().decode()))


def asked(text: str) -> set[str]:
    return set(NAME.findall(text))


def expressions() -> list[str]:
    board = json.loads((ROOT / "examples/grafana/kconf.json").read_text())
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def test_the_dashboard_uses_existing_metrics(exported: set[str]) -> None:
    names = asked(" ".join(expressions()))

    assert len(names) > 15
    assert names - exported - OF_GATEWAYS == set()


def test_every_metric_of_kconf_is_on_the_dashboard_except_listed_ones(exported: set[str]) -> None:
    detail = {
        "kconf_describe_fast_path_total",
        "kconf_connections_total",
        "kconf_quota_throttles_total",
        "kconf_quota_usage",
        "kconf_quota_limit",
        "kconf_archived_revision",
        "kconf_archive_waiting_revisions",
        "kconf_archive_segments_total",
        "kconf_archive_failures_total",
        "kconf_followed_revisions_total",
        "kconf_poll_duration_seconds",
    }
    ours = {name for name in exported if name.startswith("kconf_")} | OF_GATEWAYS

    assert ours - asked(" ".join(expressions())) == detail


def test_the_alerts_of_the_docs_can_fire(exported: set[str]) -> None:
    names = asked((ROOT / "docs/operations.md").read_text())

    assert len(names) > 5
    assert names - exported - OF_GATEWAYS == set()


def test_panels_do_not_cover_each_other() -> None:
    board = json.loads((ROOT / "examples/grafana/kconf.json").read_text())
    cells = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in board["panels"]
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
