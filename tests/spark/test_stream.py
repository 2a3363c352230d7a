"""The changes of a kconf server through `spark.readStream.format("kconf")`: each one once, also across restarts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.datasource import ReadMaxRows

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.errors import ConfigurationError
from kconf.lake.schemas import CHANGE_ROW
from kconf.spark.source.change_feeds import JournalFeed
from kconf.spark.source.change_stream import ChangesPartition, ChangeStreamReader, StreamOptions, change_batch
from kconf.spark.source.data_source import reason
from kconf.store.registry import open_store
from tests.docs.blocks import ROOT, read_page
from tests.spark.streams import patiently, rows_of, run_once, stream
from tests.support.process import KconfProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PASSWORD = "Tr0ub4dor-planted"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SECRET = "listener.name.external.ssl.keystore.password"


@pytest.fixture
def cluster() -> Iterator[KconfProcess]:
    properties = {
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{PLAIN} required user_alice="{PASSWORD}";',
    }
    with KconfProcess(properties=properties, listeners=["PLAINTEXT", "SASL_PLAINTEXT"]) as process:
        with SyncAdminClient(process.address("PLAINTEXT")) as admin:
            admin.create_topics([NewTopic("orders"), NewTopic("logs")]).raise_for_failures()
            admin.incremental_alter_configs(
                {Resource.broker(1): [AlterConfigOp(OpType.SET, SECRET, PASSWORD)]}
            ).raise_for_failures()
        yield process


@pytest.fixture
def properties(cluster: KconfProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("login") / "client.properties"
    file.touch(0o600)
    file.write_text(
        f"bootstrap.servers={cluster.address('SASL_PLAINTEXT')}\nsecurity.protocol=SASL_PLAINTEXT\n"
        f'sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} required username="alice" password="{PASSWORD}";\n'
    )
    return file


def change(bootstrap: str, *values: int, topic: str = "orders") -> None:
    with SyncAdminClient(bootstrap) as admin:
        for value in values:
            requested = [AlterConfigOp(OpType.SET, "retention.ms", str(value))]
            admin.incremental_alter_configs({Resource.topic(topic): requested}).raise_for_failures()


def test_every_change_arrives_once_in_delta_across_a_crash_and_restarts(
    spark: SparkSession, cluster: KconfProcess, properties: Path, tmp_path: Path
) -> None:
    change(cluster.address("PLAINTEXT"), *range(1, 8))
    frame = stream(spark, properties=str(properties), startingOffsets="earliest", maxChangesPerTrigger="6")
    failing = frame.where("IF(after = '6', raise_error('the crash'), true)")

    with pytest.raises(StreamingQueryException, match="the crash"):  # its batch is planned and not written
        run_once(failing, tmp_path)
    begun = len(rows_of(tmp_path / "table"))
    batches = run_once(frame, tmp_path)
    change(cluster.address("PLAINTEXT"), 8, 9)
    later = run_once(frame, tmp_path)
    rows = rows_of(tmp_path / "table")

    assert (begun, batches, later) == (6, [4], [2])
    assert [row["after"] for row in rows if row["key"] == "retention.ms"] == [str(each) for each in range(1, 10)]
    assert len({(row["epoch"], row["revision"], row["line"]) for row in rows}) == len(rows)
    (secret,) = [row for row in rows if row["key"] == SECRET]
    assert secret["sensitive"]
    assert secret["after"].startswith("hmac:")
    last = rows[-1]
    assert (last["resource_name"], last["before"], last["after"], last["op"]) == ("orders", "8", "9", "set")
    assert (last["principal"], last["epoch"]) == ("User:ANONYMOUS", 1)
    assert [(each.name, each.dataType.simpleString()) for each in frame.schema] == [
        (name, kind) for name, kind, _ in CHANGE_ROW
    ]
    plan: str = spark._jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted")  # type: ignore[union-attr]
    written = b"".join(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    assert "StreamingRelation" in plan
    assert PASSWORD.encode() not in plan.encode() + written


def test_the_example_in_the_docs_joins_changes_with_a_file(
    spark: SparkSession, cluster: KconfProcess, properties: Path, tmp_path: Path
) -> None:
    (code,) = [each.text for each in read_page(ROOT / "docs/how-to/stream-changes.md").blocks if "join(" in each.text]
    (tmp_path / "owners.csv").write_text("topic,owner\nlogs,search\n")
    for shown, here in (("/etc/kconf/client.properties", str(properties)), ("/data", str(tmp_path))):
        assert shown in code
        code = code.replace(shown, here)
    change(cluster.address("PLAINTEXT"), 100, 101, topic="logs")

    names: dict[str, Any] = {"spark": spark}
    patiently(lambda: exec(code, names))
    rows = rows_of(tmp_path / "changes" / "table")

    values = [(row["owner"], row["after"]) for row in rows if row["resource_name"] == "logs" and row["key"]]
    assert values == [("search", "100"), ("search", "101")]
    assert {row["owner"] for row in rows if row["resource_name"] == "orders"} == {None}


def test_the_journal_can_be_read_in_one_batch_too(spark: SparkSession, cluster: KconfProcess) -> None:
    change(cluster.address("PLAINTEXT"), 200, 201, topic="logs")
    reader = spark.read.format("kconf").option("rows", "changes")
    reader = reader.option("bootstrap.servers", cluster.address("PLAINTEXT"))

    read = reader.load().where("resource_name = 'logs' AND key = 'retention.ms'").orderBy("revision")

    assert [row["after"] for row in read.collect()][-2:] == ["200", "201"]


def test_a_wrong_option_is_reported_in_one_sentence_by_the_query(
    spark: SparkSession, cluster: KconfProcess, tmp_path: Path
) -> None:
    options = {"bootstrap.servers": cluster.address("PLAINTEXT"), "startingOffsets": "999999"}
    with pytest.raises(StreamingQueryException) as raised:
        run_once(stream(spark, **options), tmp_path)

    told = reason(raised.value)
    assert told is not None
    assert told.startswith("startingOffsets: 999999 does not exist yet; the last revision of cluster ")


def test_changes_that_the_server_deleted_are_an_error_or_a_marked_gap(cluster: KconfProcess) -> None:
    bootstrap = cluster.address("PLAINTEXT")
    change(bootstrap, *range(50, 60))
    cluster.stop()
    store = open_store(cluster.store)
    while store.trim(keep_last=3):
        pass
    store.close()
    cluster.start()

    def reader(**options: str) -> ChangeStreamReader:
        return ChangeStreamReader(
            lambda: JournalFeed(SyncAdminClient(cluster.address("PLAINTEXT"))), StreamOptions.of(options)
        )

    strict, lenient = reader(startingoffsets="2"), reader(startingoffsets="2", failondataloss="false")
    start = strict.initialOffset()
    with pytest.raises(ConfigurationError, match=r"deleted revisions 3 to \d+ before this query read them"):
        strict.latestOffset(start, ReadMaxRows(100))
    end = lenient.latestOffset(start, ReadMaxRows(100))
    (part,) = lenient.partitions(start, end)
    for each in (strict, lenient):
        each.stop()

    assert isinstance(part, ChangesPartition)
    gap, *rest = part.rows
    assert (gap["kind"], gap["gap_begin"]) == ("gap", 3)
    assert [row["revision"] for row in rest] == [gap["revision"] + 1, gap["revision"] + 2, gap["revision"] + 3]
    assert [row["after"] for row in rest] == ["57", "58", "59"]
    assert change_batch(part.rows).num_rows == 4


def versions(table: Path) -> int:
    """The number of commits of a Delta table."""
    return len(list((table / "_delta_log").glob("*.json")))


def job(words: list[str]) -> subprocess.Popen[str]:
    """The example, in a group of processes of its own."""
    command = [sys.executable, "-m", "examples.changes_stream", *words]
    piped, merged = subprocess.PIPE, subprocess.STDOUT
    return subprocess.Popen(command, cwd=ROOT, stdout=piped, stderr=merged, text=True, start_new_session=True)


def finished(words: list[str]) -> str:
    def once() -> str:
        with job(words) as running:
            told, _ = running.communicate(timeout=800)
        if running.returncode:
            raise AssertionError(told)
        return told

    told: str = patiently(once)
    return told


@pytest.mark.faults
def test_a_job_that_is_killed_continues_from_its_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "owners.csv").write_text("topic,owner\norders,search\n")
    table = tmp_path / "out" / "table"
    with KconfProcess() as server:
        with SyncAdminClient(server.bootstrap) as admin:
            admin.create_topics([NewTopic("orders"), NewTopic("logs")]).raise_for_failures()
        change(server.bootstrap, *range(1, 151))
        words = [server.bootstrap, str(tmp_path / "owners.csv"), str(tmp_path / "out"), "5"]
        kills = 0
        while kills < 2:
            known = versions(table)
            with job(words) as running:
                while running.poll() is None and versions(table) < known + 3:
                    time.sleep(0.01)
                with suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
                kills += running.wait() == -signal.SIGKILL
        change(server.bootstrap, 7, topic="logs")
        told = finished(words)

    values = [(row["owner"], row["resource_name"], row["after"]) for row in rows_of(table)]
    assert values == [*(("search", "orders", str(each)) for each in range(1, 151)), (None, "logs", "7")]
    assert "retention.ms" in told
