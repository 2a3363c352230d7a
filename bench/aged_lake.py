"""Measures the rounds of `kconf pipeline follow` on a lake that has been followed for some time.

Each table gets more commits without rows, as rounds write them, and the ledger rows of files that do not exist any
more. Then an idle round is measured, and a round with 20 changes. `python -m bench.aged_lake --commits 0 5000 20000`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from deltalake import DeltaTable

from bench import machine
from bench.pipeline_follow import Archive
from kconf.lake.schemas import RUNS, TABLES, Table
from kconf.spark import files, runner, session
from kconf.spark.bronze import Read
from kconf.spark.delta_tables import Lake
from kconf.spark.inputs import Inputs, Sources

INPUTS = Inputs()
_TOPICS, _CHANGES, _ROUNDS = 1000, 20, 3
_COMMIT = '{"commitInfo":{"timestamp":%d,"operation":"WRITE","operationParameters":{"mode":"Append"}%s}}\n'


def age(lake: Lake, table: Table, commits: int) -> None:
    """Add commits without rows that repeat the note of the last one, up to this version, and a checkpoint."""
    log, last = Path(lake.path(table), "_delta_log"), lake.version(table)
    if last is None or last >= commits:
        return
    texts = (log / f"{last:020}.json").read_text().split('"userMetadata":')[1:]
    note = f',"userMetadata":{_string(texts[0])}' if texts else ""
    one = log / "commit.part"
    one.write_text(_COMMIT % (time.time() * 1000, note))
    for number in range(last + 1, commits + 1):
        os.link(one, log / f"{number:020}.json")
    one.unlink()
    DeltaTable(lake.path(table)).create_checkpoint()


def _string(text: str) -> str:
    """The JSON string with which a text begins."""
    end = 1
    while text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    return text[: end + 1]


def remember(lake: Lake, folder: Path, count: int) -> None:
    """Add files to the ledger that were deleted after they had been read."""
    now = round(time.time() * 1000)
    for first in range(0, count, 50_000):
        names = (f"{folder}/{number:020}-{number:020}-{number:020}.jsonl" for number in range(first, first + 50_000))
        files.record(lake, "archive", [files.Listed(each, 2000, now) for each in names], {}, 1)


def _shown(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, nargs="+", default=[0, 5000, 20_000], help="commits of each table")
    parser.add_argument("--files", type=int, default=0, help="rows of the ledger (a multiple of 50,000)")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="kconf-bench-"))
    archive, spark = Archive(home / "archive", _TOPICS), session.start(log=home / "spark.log")
    lake = Lake(str(home / "lake"), spark)

    def work() -> runner.Summary:
        return runner.run(lake, Sources([str(home / "archive")]), INPUTS, lambda _: None)

    def change() -> None:
        archive.write(_CHANGES, time.time())
        work()

    print(machine.describe(), flush=True)
    archive.write(_TOPICS, time.time())
    work()
    for _ in range(2 * _ROUNDS):  # the JVM compiles
        change()
    remember(lake, home / "archive" / "deleted", options.files)
    for commits in options.commits:
        for table in TABLES.values():
            age(lake, table, commits)
        if commits:
            runner.finish(lake, INPUTS.fingerprints, Read(), datetime.now(UTC), runner.last_run(lake))
        change()
        working = [timed(change) for _ in range(_ROUNDS)]
        idle = [timed(work) for _ in range(_ROUNDS)]
        print(
            f"version {lake.version(RUNS):,}: idle {_shown(idle)}, with {_CHANGES} changes {_shown(working)}",
            flush=True,
        )
    session.stop(spark)
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
