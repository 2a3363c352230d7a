"""A real standalone Spark on loopback, a master and workers: the same pipeline, live cluster included."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest
from deltalake import DeltaTable

from kconf import AlterConfigOp, OpType, Resource, SyncAdminClient
from kconf.lake.schemas import EFFECTIVE_CONFIG, HISTORY, INTEGRITY
from tests.archive.reading import archiving
from tests.support.process import KconfProcess, free_port

HOME = Path(pyspark.__file__).parent
DEADLINE = 120.0
LOOPBACK = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}


class Daemon:
    """A Spark daemon; its log shows when it is ready."""

    def __init__(self, log: Path, name: str, *words: object) -> None:
        self.log = log
        command = [HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *words]
        environment = {
            **LOOPBACK,
            "SPARK_HOME": str(HOME),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "PYSPARK_PYTHON": sys.executable,
        }
        with log.open("wb") as noise:
            self.process = subprocess.Popen(list(map(str, command)), stdout=noise, stderr=noise, env=environment)

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)

    def wait_for(self, pattern: str) -> None:
        end = time.monotonic() + DEADLINE
        while not re.search(pattern, self.log.read_text(errors="replace")):
            assert self.process.poll() is None, self.log.read_text(errors="replace")
            assert time.monotonic() < end, f"{self.log} never said {pattern}"
            time.sleep(0.05)


@contextmanager
def standalone(place: Path, workers: int) -> Iterator[str]:
    port = free_port()
    with ExitStack() as stack:
        words = ("--host", "127.0.0.1", "--port", port, "--webui-port", free_port())
        head = stack.enter_context(Daemon(place / "master.log", "master.Master", *words))
        head.wait_for("I have been elected leader")
        url = f"spark://127.0.0.1:{port}"
        for number in range(1, workers + 1):
            more = ("--host", "127.0.0.1", "--webui-port", free_port(), "--cores", 1, "--memory", "1g")
            work = ("--work-dir", place / f"work{number}")
            worker = Daemon(place / f"worker{number}.log", "worker.Worker", *more, *work, url)
            stack.enter_context(worker).wait_for("Successfully registered with master")
        yield url


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
spark = session.start(master, log=Path(log), settings=dict(each.split("=", 1) for each in settings))
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
        words = (master, tmp_path / "spark.log", tmp_path / "lake", server.bootstrap, *QUICK)
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
