"""The pipeline with its archive and its lake on an S3 server: one run at a time, and credentials nowhere."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from kconf.lake.sql import LakeSql
from kconf.lake.storage.location import LakeError
from kconf.lake.storage.lock import LakeLock
from tests.spark.journals import Journal
from tests.spark.test_follow_command import following, until
from tests.support.object_store import BUCKET, KEY_ID, SECRET, client, object_store, objects

VACUUM = """
import sys
from pathlib import Path
from kconf.spark import runner, session
from kconf.spark.delta_tables import Lake

settings = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}
spark = session.start(log=Path(sys.argv[2]), quick=True, settings=settings, s3=True)
runner.vacuum(Lake(sys.argv[1], spark), 0, lambda _: None)
session.stop(spark)
"""
"""`kconf pipeline vacuum` without its limit of a week: the age of an object cannot be set."""

LAKE, ARCHIVE = f"s3://{BUCKET}/lake", f"s3://{BUCKET}/archive"


@dataclass
class Store:
    place: Path
    environment: dict[str, str]
    said: bytes = b""
    commands: set[bytes] = field(default_factory=set)

    @property
    def log(self) -> Path:
        return self.place / "spark.log"

    def put(self, name: str, journal: Journal, revisions: int) -> None:
        lines = "".join(f"{json.dumps(each)}\n" for each in journal.grow(revisions))
        client(self.environment).put_object(Bucket=BUCKET, Key=f"archive/{name}", Body=lines.encode())

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "kconf", "pipeline", *words, "--lake", LAKE, "--log", str(self.log)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def pipeline(self, *words: str, status: int = 0) -> str:
        """`kconf pipeline`, in a process of its own; `commands` gets what others can see of it and its JVM."""
        with self.start(*words) as running:
            while True:
                try:
                    told, _ = running.communicate(timeout=0.5)
                    break
                except subprocess.TimeoutExpired:
                    self.commands |= command_lines(running.pid)
        self.said += told.encode()
        assert running.returncode == status, told
        return told

    def leaks(self) -> list[str]:
        """Credentials in what was printed, logged, stored, or could be seen in a list of processes."""
        everything = [self.said, self.log.read_bytes(), *self.commands, *objects(self.environment).values()]
        return [word for word in (KEY_ID, SECRET) if any(word.encode() in each for each in everything)]


def command_lines(pid: int) -> set[bytes]:
    """The command lines of a process and its descendants."""
    found = set()
    waiting = [pid]
    while waiting:
        each = waiting.pop()
        try:
            found.add(Path(f"/proc/{each}/cmdline").read_bytes())
            tasks = list(Path(f"/proc/{each}/task").iterdir())
            waiting += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:
            continue  # it has ended
    return found


def rows(text: str) -> list[tuple[object, ...]]:
    with LakeSql(LAKE) as lake:
        return [tuple(row) for row in lake.query(text).rows]


def data_files(store: Store, table: str) -> set[str]:
    """The Parquet files of a table, whether its current version has them or not."""
    names = objects(store.environment)
    return {name for name in names if name.startswith(f"lake/{table}/") and name.endswith(".parquet")}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    with object_store() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield Store(tmp_path, environment)


def test_an_archive_on_s3_is_read_into_a_lake_on_s3(store: Store) -> None:
    journal = Journal("c1", Random(7))
    store.put("c1/one [1] %41.jsonl", journal, 30)

    told = store.pipeline("run", "--archive", ARCHIVE)

    assert "run 1:" in told
    assert rows("SELECT count(*) FROM journal") == [(len(journal.lines),)]
    assert rows("SELECT count(*) FROM journal JOIN files USING (file)") == [(len(journal.lines),)]
    assert rows("SELECT file FROM files") == [(f"s3a://{BUCKET}/archive/c1/one [1] %41.jsonl",)]
    assert any(b"SparkSubmit" in each for each in store.commands)
    assert store.leaks() == []


@pytest.mark.full
def test_runs_on_s3_exclude_each_other_and_are_incremental(store: Store) -> None:
    journal = Journal("c1", Random(7))
    store.put("c1/one.jsonl", journal, 30)
    both = [store.start("run", "--archive", ARCHIVE) for _ in range(2)]
    told = [each.communicate(timeout=800)[0] for each in both]
    statuses = sorted(each.returncode for each in both)

    assert statuses in ([0, 1], [0, 0]), told  # one may begin after the other has ended
    assert sum("run 1:" in each for each in told) == 1
    assert statuses == [0, 0] or any("Another pipeline run" in each for each in told)
    assert rows("SELECT count(*) FROM journal") == [(len(journal.lines),)]

    store.put("c1/two.jsonl", journal, 10)
    with LakeLock(LAKE).held():
        refused = store.pipeline("run", "--archive", ARCHIVE, status=1)
    second = store.pipeline("run", "--archive", f"s3a://{BUCKET}/archive/")
    rebuilt = store.pipeline("rebuild")

    assert "Another pipeline run (process" in refused
    assert "run 2:" in second
    assert "run 3: history and gold tables rebuilt" in rebuilt
    assert rows("SELECT count(*), count(DISTINCT file) FROM journal") == [(len(journal.lines), 2)]
    assert store.leaks() == []


@pytest.mark.full
def test_a_lake_on_s3_is_compacted_and_vacuumed(store: Store) -> None:
    journal = Journal("c1", Random(7))
    for name in ("one", "two"):
        store.put(f"c1/{name}.jsonl", journal, 10)
        store.pipeline("run", "--archive", ARCHIVE)
    text = "SELECT * EXCLUDE (file) FROM journal ORDER BY epoch, revision, line"
    before, files = rows(text), data_files(store, "bronze/journal")

    compacted = store.pipeline("compact")
    between = data_files(store, "bronze/journal")
    kept = store.pipeline("vacuum")
    assert data_files(store, "bronze/journal") == between, "they are younger than a week"
    command = [sys.executable, "-c", VACUUM, LAKE, str(store.log)]
    subprocess.run(command, check=True, timeout=800)

    assert re.search(r"compacted \d+ files into \d+", compacted)
    assert "deleted files that no version of the last 168 hours needs" in kept
    assert len(between - files) == 1
    assert data_files(store, "bronze/journal") == between - files
    assert rows(text) == before
    assert rows("SELECT max(run) FROM runs") == [(5,)], "each counts as a run"
    assert store.leaks() == []


@pytest.mark.full
def test_a_lake_on_s3_is_kept_current(store: Store) -> None:
    journal = Journal("c1", Random(7))
    store.put("c1/one.jsonl", journal, 5)

    def is_current() -> bool:
        try:
            return rows("SELECT count(*) FROM journal") == [(len(journal.lines),)]
        except LakeError:
            return False  # no run has finished yet

    words = ("--lake", LAKE, "--archive", ARCHIVE, "--interval", "0s", "--log", store.log)
    with following(*words) as (running, _):
        until(is_current, "the first run")
        store.put("c1/two.jsonl", journal, 5)
        until(is_current, "another file")
        second = store.pipeline("follow", "--archive", ARCHIVE, status=1)
        os.kill(running.pid, signal.SIGTERM)
        store.said += running.communicate(timeout=280)[1].encode()

    assert f"process {running.pid}" in second
    assert running.returncode == 0
    assert store.leaks() == []


@pytest.mark.full
@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("s3://nowhere/lake", "cannot read s3://nowhere/lake: The specified bucket does not exist"),
        (f"s3://{KEY_ID}:planted@{BUCKET}/lake", "a s3:// URI must not contain credentials"),
    ],
)
def test_a_lake_that_cannot_be_used_is_reported_before_spark_starts(store: Store, uri: str, sentence: str) -> None:
    command = [sys.executable, "-m", "kconf", "pipeline", "run", "--lake", uri, "--archive", ARCHIVE]
    done = subprocess.run([*command, "--log", str(store.log)], capture_output=True, text=True, check=False, timeout=280)

    assert done.returncode == 1
    assert sentence in done.stderr
    assert KEY_ID not in done.stderr
    assert not store.log.exists()
