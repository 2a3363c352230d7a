"""The disk is full during a run: one clear message, unchanged tables, and the next run catches up.

The disk is a small tmpfs in its own mount namespace. That needs no special rights (`unshare --map-root-user`), affects
nothing outside, and ends with its process. A file size limit would also affect Spark's log and spilled blocks, and the
kernel reports another error for it.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from kconf.lake.lookup import LakeTables
from kconf.lake.schemas import HISTORY, RUNS, TABLES
from kconf.spark import runner
from kconf.spark.delta_tables import Lake
from kconf.spark.inputs import Inputs, Sources
from tests.spark.journals import journals
from tests.spark.oracle import Line, comparable, fold, lines_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEEP = 'mount -t tmpfs -o size=64m tmpfs "$0" && echo mounted && exec cat'
ROOM = 128 * 1024


class SmallDisk:
    """A directory that is a separate disk for the commands run inside."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __enter__(self) -> Self:
        self.place.mkdir()
        command = ["unshare", "--map-root-user", "--mount", "sh", "-c", KEEP, str(self.place)]
        self._keeper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._keeper.stdout is not None
        assert self._keeper.stdout.readline() == "mounted\n"
        return self

    def __exit__(self, *_: object) -> None:
        self._keeper.communicate(timeout=280)

    @property
    def seen(self) -> Path:
        """The path of the same directory from outside."""
        return Path(f"/proc/{self._keeper.pid}/root{self.place}")

    def run(self, *command: object) -> subprocess.CompletedProcess[str]:
        inside = ["nsenter", f"--target={self._keeper.pid}", "--user", "--mount", "--preserve-credentials"]
        words = [*inside, *map(str, command)]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=280)

    def resize(self, size: int) -> None:
        done = self.run("mount", "-o", f"remount,size={size}", self.place)
        assert done.returncode == 0, done.stderr

    @property
    def used(self) -> int:
        return shutil.disk_usage(self.seen).used


def write(file: Path, lines: list[Line]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{each}\n" for each in lines_of(lines)))


def answers(lake: Path, work: Path) -> dict[str, list[str]]:
    """All rows of all tables, from a copy, because not every library accepts a path through /proc."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(lake, work)
    tables = LakeTables(str(work))
    return {name: sorted(map(repr, tables.rows(table))) for name, table in TABLES.items() if table is not RUNS}


@pytest.mark.faults
def test_a_full_disk_is_reported_and_leaves_the_tables_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    (journal,) = journals(1, 20)
    archive, first = tmp_path / "archive", tmp_path / "first"
    write(archive / "c" / "0.jsonl", journal.lines)
    with SmallDisk(tmp_path / "disk") as disk:
        lake = tmp_path / "disk" / "lake"
        runner.run(Lake(str(first), spark), Sources([str(archive)]), Inputs(), lambda _: None)
        shutil.copytree(first, disk.seen / "lake")
        before = answers(disk.seen / "lake", tmp_path / "copy")
        noise = random.Random(1)
        more = [{**line, "reason": noise.randbytes(400).hex()} for line in journal.grow(600)]
        write(archive / "c" / "1.jsonl", more)
        words = ("--archive", archive, "--lake", lake, "--log", tmp_path / "spark.log")
        command = (sys.executable, "-m", "kconf", "pipeline", "run", *words)

        disk.resize(disk.used + ROOM)
        refused = disk.run(*command)

        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.splitlines()[-1] == (
            f"kconf: The disk is full. The failed step did not change {lake}. Free some space."
        )
        assert "Traceback" not in refused.stderr
        assert answers(disk.seen / "lake", tmp_path / "copy") == before

        disk.resize(64 * 1024 * 1024)
        done = disk.run(*command)

        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"run 2: {len(more)} changes")
        answers(disk.seen / "lake", tmp_path / "copy")
        history = Lake(str(tmp_path / "copy"), spark).read(HISTORY).collect()
        everything = [*journal.lines[: -len(more)], *more]
        assert comparable(row.asDict() for row in history) == comparable(fold(everything))
