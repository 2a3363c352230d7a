"""A real standalone Spark on loopback, a master and workers: the same pipeline, live cluster included."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from kconf import AlterConfigOp, OpType, Resource, SyncAdminClient
from kconf.lake.schemas import EFFECTIVE_CONFIG, HISTORY, INTEGRITY
from tests.archive.reading import archiving
from tests.support.process import KconfProcess
from tests.support.spark_cluster import LOOPBACK, standalone

QUICK = [
    "spark.sql.shuffle.partitions=1",
    "spark.databricks.delta.snapshotPartitions=1",
    "spark.sql.adaptive.enabled=false",
    "spark.sql.codegen.wholeStage=false",
    "spark.sql.codegen.factoryMode=NO_CODEGEN",
    "spark.driver.extraJavaOptions=-Duser.timezone=UTC -XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions=-Duser.timezone=UTC -XX:+UseSerialGC -XX:TieredStopAtLevel=1",
]
"""Little data: a task for each step, and nothing compiled."""


SNAPSHOT = """
import sys
from pathlib import Path
from kconf.lake.schemas import SNAPSHOT
from kconf.spark import bronze, session
from kconf.spark.delta_tables import Lake

master, log, where, bootstrap, *settings = sys.argv[1:]
spark = session.start(master, log=Path(log), quick=True, settings=dict(each.split("=", 1) for each in settings))
lake = Lake(where, spark)
bronze.read_cluster(lake, {"bootstrap.servers": bootstrap}, 1, bronze.Read())
print(*sorted(row["resource_name"] for row in lake.read(SNAPSHOT).where("kind = 'topic'").collect()))
session.stop(spark)
"""


@pytest.mark.timeout(1200)
def test_a_worker_reads_a_live_cluster_and_writes_a_table(tmp_path: Path) -> None:
    """The whole pipeline on workers: below."""
    with standalone(tmp_path, 1) as master, KconfProcess() as server:
        with SyncAdminClient(server.bootstrap) as admin:
            admin.create_topics(["orders", "payments"]).raise_for_failures()
        words = (master, tmp_path / "spark.log", tmp_path / "lake", server.bootstrap, QUICK[-1])
        command = [sys.executable, "-c", SNAPSHOT, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1100, env=LOOPBACK)

    assert (done.returncode, done.stdout) == (0, "orders payments\n"), done.stderr
    assert "Asked to launch executor" in (tmp_path / "worker1.log").read_text()


@pytest.mark.full
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("workers", "settings"), [(1, QUICK), (2, [])], ids=["1 worker", "2 workers"])
def test_the_pipeline_runs_on_workers_and_reads_a_live_cluster_there(
    tmp_path: Path, workers: int, settings: list[str]
) -> None:
    with standalone(tmp_path, workers) as master, archiving(tmp_path / "archive") as server:
        with SyncAdminClient(server.bootstrap) as admin:
            admin.create_topics(["orders", "payments"]).raise_for_failures()
            requested = {Resource.topic("orders"): [AlterConfigOp(OpType.SET, "retention.ms", "60000")]}
            admin.incremental_alter_configs(requested).raise_for_failures()
        server.restart()
        words = ("--archive", tmp_path / "archive", "--lake", tmp_path / "lake", "--log", tmp_path / "spark.log")
        command = [sys.executable, "-m", "kconf", "pipeline", "run", "--master", master, "--snapshot", server.bootstrap]
        command += [*map(str, words), *(word for each in settings for word in ("--conf", each))]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1100, env=LOOPBACK)

    assert done.returncode == 0, done.stderr
    history = DeltaTable(tmp_path / "lake" / HISTORY.path).to_pyarrow_table().to_pylist()
    assert {(row["resource_name"], row["key"], row["origin"]) for row in history} == {
        *(("orders", "", "kconf"), ("payments", "", "kconf"), ("orders", "retention.ms", "kconf"))
    }
    effective = DeltaTable(tmp_path / "lake" / EFFECTIVE_CONFIG.path).to_pyarrow_table().to_pylist()
    (kept,) = [row for row in effective if (row["resource_name"], row["key"]) == ("orders", "retention.ms")]
    assert (kept["value"], kept["source"]) == ("60000", "DYNAMIC_TOPIC_CONFIG")
    assert "STATIC_BROKER_CONFIG" in {row["source"] for row in effective}, "the look came from the workers"
    assert DeltaTable(tmp_path / "lake" / INTEGRITY.path).to_pyarrow_table().num_rows == 0
    for number in range(1, workers + 1):
        assert "Asked to launch executor" in (tmp_path / f"worker{number}.log").read_text()
