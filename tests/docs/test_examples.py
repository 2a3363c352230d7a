"""Every example is run, as its first lines say, on a real server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.spark.test_notebook import check, fill
from tests.support.process import KconfProcess
from tests.support.small_lake import example


@pytest.fixture
def server() -> Iterator[KconfProcess]:
    with KconfProcess() as process:
        yield process


def run(*words: str, status: int = 0) -> str:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_the_plain_example_prints_what_was_created(server: KconfProcess) -> None:
    first, second = (run(sys.executable, "-m", "examples.plain", server.bootstrap) for _ in range(2))

    assert "payments: partitions 3, replicas 1, configs 33, of which its own: compression.type=zstd" in first
    assert second.count("TOPIC_ALREADY_EXISTS") == 3


def test_asyncio_sends_requests_concurrently_and_uses_compare_and_set(server: KconfProcess) -> None:
    for _ in range(2):
        told = run(sys.executable, "-m", "examples.asyncio_admin", server.bootstrap)

        assert "1 topics, 0 entities with quotas" in told
        assert "a change with an outdated revision is refused" in told


def test_a_thousand_quotas_are_loaded_by_one_command(server: KconfProcess) -> None:
    told = run("examples/bulk_quotas.sh", server.bootstrap, "1000")

    assert [line.split() for line in told.splitlines()[:2]] == [["2000"], ["2000", "done"]]
    assert told.splitlines()[-1].split() == ["producer_byte_rate", "1MiB", "user", "user", "user-1000", "applies"]


@pytest.mark.full
def test_a_notebook_starts_spark_and_reads_a_live_cluster(server: KconfProcess) -> None:
    """With the shared Spark session: tests/spark/test_notebook.py."""
    fill(server.bootstrap)

    check(run(sys.executable, "-m", "examples.notebook", server.bootstrap))


def test_a_notebook_queries_a_lake_with_sql(tmp_path: Path) -> None:
    lake = example(str(tmp_path / "lake")).uri

    rows = [line.split() for line in run(sys.executable, "-m", "examples.lake_notebook", lake).splitlines()]

    assert ["retention.ms", "60000", "1"] in rows
    assert ["search", "User:alice", "1", "2026-11-01", "12:00:00+00:00"] in rows
    assert ["2", "rows:", "key,", "value,", "topics"] in rows
    assert rows[-1] == ["unknown", "table", "histroy;", "did", "you", "mean", "history?"]


def test_a_cluster_in_git_is_planned_applied_and_found_to_drift(
    server: KconfProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KCONF_CONFIG", str(tmp_path / "kconf.yaml"))
    monkeypatch.setenv("ORDERS_SERVICE_PASSWORD", "s3cret")
    kconf = (sys.executable, "-m", "kconf")
    plan = str(ROOT / "examples/gitops/plan.sh")
    run(*kconf, "context", "add", "prod", "-b", server.bootstrap)

    def in_ci(status: int) -> str:
        return run("sh", "-c", f"cd {tmp_path} && {plan}", status=status)

    assert "Review the plan above" in in_ci(3)
    run(*kconf, "apply", str(tmp_path / "kconf.plan"), "--yes")
    assert "No differences: the cluster matches the files." in in_ci(0)
    run(*kconf, "set", "topic:orders.placed", "retention.ms=20d")
    assert "topic:orders.placed" in in_ci(3)
    run(*kconf, "apply", str(tmp_path / "kconf.plan"), "--yes", "--allow-data-loss")
    assert "No differences: the cluster matches the files." in in_ci(0)
    run(*kconf, "set", "topic:orders.placed", "segment.ms=1d")
    assert "undeclared" in in_ci(3)
