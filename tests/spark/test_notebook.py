"""The notebook of the examples, on the shared Spark session and a real server."""

from __future__ import annotations

import runpy
import sys
from typing import TYPE_CHECKING

import pytest

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from tests.support.process import KconfProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def fill(bootstrap: str) -> None:
    """Create two topics, one of them with an override."""
    with SyncAdminClient(bootstrap) as admin:
        admin.create_topics([NewTopic("orders", 1, 1), NewTopic("logs", 1, 1)]).raise_for_failures()
        two_weeks = [AlterConfigOp(OpType.SET, "retention.ms", str(14 * 86_400_000))]
        admin.incremental_alter_configs({Resource.topic("orders"): two_weeks}).raise_for_failures()


def check(printed: str) -> None:
    """Check what the notebook prints about these topics."""
    rows = [line.replace("|", " ").split() for line in printed.splitlines()]

    assert ["topic", "2"] in rows
    assert ["retention.ms", "1", "1"] in rows
    assert ["orders", "14.0"] in rows


def test_a_notebook_reads_a_live_cluster(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with KconfProcess() as server:
        fill(server.bootstrap)
        monkeypatch.setattr(sys, "argv", ["notebook", server.bootstrap])
        monkeypatch.setattr(type(spark), "stop", lambda _: None)
        runpy.run_module("examples.notebook")

    check(capsys.readouterr().out)
