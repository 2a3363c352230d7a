"""`kconf pipeline` on the command line: its output, its tables, and its errors."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kconf.lake.schemas import HISTORY, JOURNAL
from kconf.spark.errors import first_line
from tests.cli.conftest import Ran
from tests.spark.journals import journals
from tests.spark.oracle import fold, lines_of
from tests.support.process import free_port

Pipeline = Callable[..., Ran]


def kconf(*words: object, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kconf", *map(str, words)]
    env = {**os.environ, **(environment or {})}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=280)


def archive(directory: Path, revisions: int = 30) -> list[dict[str, object]]:
    (directory / "c000").mkdir(parents=True)
    (journal,) = journals(1, revisions)
    (directory / "c000" / "1.jsonl").write_text("".join(f"{each}\n" for each in lines_of(journal.lines)))
    return list(journal.lines)


@pytest.mark.full
def test_a_run_prints_a_summary(pipeline: Pipeline, tmp_path: Path) -> None:
    """As a process of its own: tests/spark/test_whole_way.py."""
    from deltalake import DeltaTable

    lines = archive(tmp_path / "archive")
    done = pipeline("run", "--archive", tmp_path / "archive", "--lake", tmp_path / "lake")
    told = kconf("pipeline", "status", "--lake", tmp_path / "lake")

    assert done.status == 0, done.err
    assert done.out.startswith(f"run 1: {len(lines)} changes, 0 attempts, 0 snapshot rows, 0 lines quarantined")
    assert f"{JOURNAL.path:<24}{0:>8}{len(lines):>12}" in told.stdout
    history = DeltaTable(tmp_path / "lake" / HISTORY.path).to_pyarrow_table().to_pylist()
    assert len(history) == len(fold(lines))


def test_progress_is_shown_at_once(tmp_path: Path) -> None:
    """The first line is printed before Spark is imported and the JVM begins to log."""
    archive(tmp_path / "archive")
    log = tmp_path / "log" / "spark.log"
    words = ("pipeline", "run", "--archive", tmp_path / "archive", "--lake", tmp_path / "lake", "--log", log)
    with subprocess.Popen(
        [sys.executable, "-m", "kconf", *map(str, words)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as running:
        assert running.stderr is not None
        first = running.stderr.readline()
        begun = log.exists()
        running.kill()
    assert (first, begun) == ("starting Spark …\n", False)


@pytest.mark.parametrize(
    ("words", "environment", "sentence"),
    [
        (["--archive", "archive"], {"JAVA_HOME": "/nowhere"}, "The pipeline requires Java 17 or newer"),
        ([], {}, "nothing to read: pass --archive, --snapshot or --metadata-log"),
        (["--archive", "archive", "--policy", "none.yaml"], {}, "none.yaml: No such file or directory"),
        (["--archive", "archive", "--owners", "owners.csv"], {}, "owners.csv:1: a line must be TOPIC,OWNER"),
        (["--archive", "archive", "--master", "sparkle://x"], {}, "The master must be local[*]"),
    ],
)
def test_missing_requirements_are_reported_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], environment: dict[str, str], sentence: str
) -> None:
    archive(tmp_path / "archive")
    (tmp_path / "owners.csv").write_text("orders\n")
    monkeypatch.chdir(tmp_path)

    done = kconf("pipeline", "run", "--lake", "lake", "--log", "spark.log", *words, environment=environment)

    last = done.stderr.splitlines()[-1]
    assert (done.returncode, done.stdout) == (1, "")
    assert sentence in last
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("lake/*/*"))


@pytest.mark.parametrize("what", ["archive", "snapshot"])
def test_unreadable_input_leaves_the_tables_unchanged(pipeline: Pipeline, tmp_path: Path, what: str) -> None:
    """A directory that does not exist, and a cluster that does not respond."""
    archive(tmp_path / "archive")
    cluster = f"127.0.0.1:{free_port()}"
    asked = ["--archive", tmp_path / "archive", "--snapshot", cluster] if what == "snapshot" else ["--archive", "none"]

    done = pipeline("run", *asked, "--lake", tmp_path / "lake")

    assert (done.status, done.out) == (1, "")
    assert "Traceback" not in done.err
    assert (cluster if what == "snapshot" else "No such directory") in done.err.splitlines()[-1]
    assert not (tmp_path / "lake" / JOURNAL.path).exists()


TASK = """Job aborted due to stage failure: Task 0 in stage 5.0 failed 1 times, most recent failure: Lost task 0.0 in \
stage 5.0 (TID 5) (here executor driver): org.apache.spark.SparkRuntimeException: [DUPLICATED_MAP_KEY] k
\tat a"""
SAVE = """An error occurred while calling o1807.save.
: org.apache.spark.SparkException: Aborted.
\tat a.B
Caused by: java.lang.Exception: wrapped
\tat d
Caused by: java.io.IOException: no such store"""


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("[DIVIDE] no.\n== SQL ==\nselect", "[DIVIDE] no."),
        (
            "[X] Failed: Traceback (most recent call last):\n  File a.py, line 1\nImportError: no b\n\n SQLSTATE: 1",
            "ImportError: no b",
        ),
        ("", "ValueError"),
        (SAVE, "IOException: no such store"),
        (
            "An error occurred while calling o9.save.\n: java.lang.IllegalStateException: closed\n\tat a",
            "IllegalStateException: closed",
        ),
        (TASK, "SparkRuntimeException: [DUPLICATED_MAP_KEY] k"),
    ],
)
def test_an_error_of_spark_is_reported_in_one_line(said: str, sentence: str) -> None:
    assert first_line(ValueError(said)) == sentence


def test_one_of_two_concurrent_runs_is_refused(pipeline: Pipeline, tmp_path: Path) -> None:
    archive(tmp_path / "archive")
    (tmp_path / "lake").mkdir()
    handle = os.open(tmp_path / "lake" / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        done = pipeline("run", "--archive", tmp_path / "archive", "--lake", tmp_path / "lake")
    finally:
        os.close(handle)

    assert done.status == 1
    assert "Another pipeline run is using" in done.err.splitlines()[-1]
    assert not (tmp_path / "lake" / JOURNAL.path).exists()
