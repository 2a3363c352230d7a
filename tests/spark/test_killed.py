"""kill -9 at each step of a run: nothing is lost, nothing is repeated.

In one process, without a kill: test_upkeep.py,
`test_the_next_run_finishes_an_interrupted_one_even_without_new_input`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from kconf.lake.schemas import ACTIVITY, HISTORY, JOURNAL, RUNS, VIOLATIONS, Table
from tests.cli.conftest import Ran
from tests.spark.journals import journals
from tests.spark.oracle import fold, lines_of

RULES = """
rules:
  - {id: kept-long, selector: topic, key: retention.ms, condition: {min: 2000}}
  - {id: cut-small, selector: topic, key: segment.bytes, condition: {max: 1000}, severity: warn}
"""


def rows(lake: Path, table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(lake / table.path).to_pyarrow_table().to_pylist()
    return found


def run_until(step: str, *words: object) -> int:
    """Run the pipeline in its own process, and kill it and its JVM when it reports a step."""
    command = [sys.executable, "-m", "kconf", "pipeline", "run", *map(str, words)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith(step):
                os.killpg(running.pid, signal.SIGKILL)
                break
        return running.wait(timeout=280)


STEPS = ("reading", "writing history", "writing topics", "recording the run")


@pytest.mark.faults
def test_the_next_run_finishes_a_run_killed_at_any_step(pipeline: Callable[..., Ran], tmp_path: Path) -> None:
    (journal,) = journals(1, 20)
    archive, lake = tmp_path / "archive" / "c", tmp_path / "lake"
    archive.mkdir(parents=True)
    (tmp_path / "rules.yaml").write_text(RULES)
    words = ("--archive", tmp_path / "archive", "--policy", tmp_path / "rules.yaml", "--log", tmp_path / "spark.log")
    for number, step in enumerate((*STEPS, "")):
        new = journal.grow(10)
        (archive / f"{number}.jsonl").write_text(
            "".join(f"{line}\n" for line in lines_of(journal.lines if not number else new))
        )
        if step:
            assert run_until(step, *words, "--lake", lake) == -signal.SIGKILL
        else:
            assert pipeline("run", *words, "--lake", lake).status == 0

    begun = [(row["epoch"], row["revision"], row["line"]) for row in rows(lake, JOURNAL)]
    assert len(begun) == len(set(begun)) == len(journal.lines)
    names = ("resource_name", "key", "value", "epoch", "revision", "line", "until_revision", "ended", "open")
    found = sorted(repr([row[name] for name in names]) for row in rows(lake, HISTORY))
    assert found == sorted(repr([row[name] for name in names]) for row in fold(journal.lines))
    counted = sum(row["count"] for row in rows(lake, ACTIVITY) if row["kind"] == "changes")
    assert counted == len(journal.lines)
    assert [row["run"] for row in rows(lake, RUNS)] == [1]

    assert pipeline("run", *words, "--lake", tmp_path / "at once").status == 0
    broken, at_once = (sorted(map(repr, rows(each, VIOLATIONS))) for each in (lake, tmp_path / "at once"))
    assert broken
    assert broken == at_once
