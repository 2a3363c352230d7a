"""Maintenance of a lake: compact, vacuum and rebuild change its files, but no query result."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from kconf.lake.lookup import LakeTables
from kconf.lake.schemas import HISTORY, JOURNAL, RUNS, TABLES, Table
from kconf.lake.storage.location import LakeError
from kconf.spark import runner, silver
from kconf.spark.delta_tables import Lake
from kconf.spark.inputs import Inputs, Sources
from kconf.spark.startup import warmup
from tests.spark.journals import journals
from tests.spark.oracle import comparable, fold, lines_of
from tests.support.targets import one_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTHING = Inputs()
HOURS = 168


class World:
    """A lake with a growing archive."""

    def __init__(self, place: Path, spark: SparkSession) -> None:
        self.place = place
        self.lake = Lake(str(place / "lake"), spark, little=True)
        (self.journal,) = journals(1, 0)

    @property
    def sources(self) -> Sources:
        return Sources([str(self.place / "archive")])

    def grow(self) -> None:
        """Add a file to the archive."""
        home = self.place / "archive" / "c"
        home.mkdir(parents=True, exist_ok=True)
        number = len(list(home.iterdir()))
        (home / f"{number}.jsonl").write_text("".join(f"{each}\n" for each in lines_of(self.journal.grow(12))))

    def run(self) -> int | None:
        return runner.run(self.lake, self.sources, NOTHING, lambda _: None).number

    def path(self, table: Table) -> Path:
        return self.place / "lake" / table.path

    def answers(self) -> Mapping[str, Any]:
        """All rows of all tables."""
        tables = LakeTables(self.lake.uri)
        named = {name: table for name, table in TABLES.items() if table is not RUNS}
        return {name: sorted(map(repr, tables.rows(table))) for name, table in named.items()}

    def history(self) -> list[dict[str, Any]]:
        return [row.asDict() for row in self.lake.read(HISTORY).collect()]

    def files(self, table: Table) -> int:
        """The files that a look-up reads."""
        version = dict(LakeTables(self.lake.uri).run["versions"])[table.name]
        return len(DeltaTable(self.path(table), version=version).file_uris())

    def on_disk(self, table: Table) -> int:
        return len(list(self.path(table).rglob("*.parquet"))) - len(list(self.path(table).glob("_delta_log/*.parquet")))

    def age(self, days: int) -> None:
        """Make the files, and the times in the tables' logs, this much older."""
        span = days * 86_400
        for file in (self.place / "lake").rglob("*"):
            if file.suffix == ".crc":  # checksums of the rewritten logs; a log needs none
                file.unlink()
            elif file.parent.name == "_delta_log" and file.suffix == ".json":
                stamp = r'("(?:deletionTimestamp|modificationTime|timestamp)":)(\d+)'
                file.write_text(re.sub(stamp, lambda m: f"{m[1]}{int(m[2]) - span * 1000}", file.read_text()))
        for file in (self.place / "lake").rglob("*"):
            os.utime(file, (file.stat().st_atime - span, file.stat().st_mtime - span))


@pytest.fixture(scope="module")
def grown(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> World:
    """After a run without gold tables and a whole one, tables have several files and obsolete versions."""
    world = World(tmp_path_factory.mktemp("upkeep"), spark)
    world.grow()
    result = runner.read(world.lake, world.sources, lambda _: None)
    silver.update(world.lake)
    assert runner.finish(world.lake, NOTHING.fingerprints, result, datetime.now(UTC), None) == 1
    world.grow()
    assert world.run() == 2
    return world


@pytest.fixture
def interrupted(grown: World, tmp_path: Path) -> World:
    """A copy, in which a run was killed after it had read new input."""
    copytree(grown.place, tmp_path / "copy")
    world = World(tmp_path / "copy", grown.lake.spark)
    world.journal = deepcopy(grown.journal)
    world.grow()
    runner.read(world.lake, world.sources, lambda _: None)
    return world


@pytest.mark.parametrize("tables", one_of([JOURNAL, HISTORY, RUNS], [[*TABLES.values()]]), ids=["few", "all"])
def test_compact_and_vacuum_change_no_rows(
    grown: World, monkeypatch: pytest.MonkeyPatch, tables: Sequence[Table]
) -> None:
    """In the usual order: compact, then vacuum."""
    monkeypatch.setattr(runner, "TABLES", {each.name: each for each in tables})
    before, many = grown.answers(), grown.files(JOURNAL)

    removed, added = runner.compact(grown.lake, lambda _: None)

    assert grown.answers() == before
    assert many > 1
    assert grown.files(JOURNAL) == 1
    assert removed > added >= 1
    assert grown.run() is None, "the tables are as a run left them: there is nothing to do"

    kept = grown.on_disk(JOURNAL)
    runner.vacuum(grown.lake, HOURS, lambda _: None)
    assert grown.on_disk(JOURNAL) == kept, "they are younger than the hours given"

    grown.age(days=8)
    runner.vacuum(grown.lake, HOURS, lambda _: None)

    assert grown.answers() == before
    assert grown.run() is None
    for table in (JOURNAL, HISTORY):
        assert grown.on_disk(table) == grown.files(table)
    with pytest.raises(Exception, match=r"not found|No such file"):
        DeltaTable(grown.path(JOURNAL), version=1).to_pyarrow_table()


def test_a_rebuilt_lake_has_the_same_content(grown: World) -> None:
    before, run = grown.answers(), LakeTables(grown.lake.uri).run["run"]

    summary = runner.rebuild(grown.lake, NOTHING, lambda _: None)

    assert summary.number == run + 1
    assert grown.answers() == before


def test_after_an_interrupted_run_no_file_is_deleted(grown: World, interrupted: World) -> None:
    """Look-ups do not read the newest versions."""
    for work in (runner.compact, lambda lake, say: runner.vacuum(lake, HOURS, say)):
        with pytest.raises(LakeError, match="did not finish; run the pipeline again first"):
            work(interrupted.lake, lambda _: None)

    assert interrupted.answers() == grown.answers()


@pytest.mark.full
def test_the_next_run_finishes_an_interrupted_one_even_without_new_input(interrupted: World) -> None:
    """A run that was killed between two tables: tests/spark/test_incremental_gold.py."""
    assert interrupted.run() is not None
    assert comparable(interrupted.history()) == comparable(fold(interrupted.journal.lines))


@pytest.mark.parametrize("verb", ["compact", "vacuum", "rebuild"])
def test_a_missing_lake_is_reported_and_not_created(spark: SparkSession, tmp_path: Path, verb: str) -> None:
    lake = Lake(str(tmp_path / "typo"), spark)
    words: dict[str, tuple[Any, ...]] = {"compact": (), "vacuum": (HOURS,), "rebuild": (NOTHING,)}

    with pytest.raises(LakeError, match=r"No pipeline run on .*typo has written these tables yet\."):
        getattr(runner, verb)(lake, *words[verb], lambda _: None)
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize("hours", ["0", "-5", "167"])
def test_files_that_readers_may_need_are_not_removed(tmp_path: Path, hours: str) -> None:
    done = kconf("vacuum", "--lake", tmp_path / "lake", "--hours", hours)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "kconf: --hours must be at least 168: readers and running jobs may need files of the last week\n"
    )
    assert not (tmp_path / "lake").exists()


@pytest.mark.full
def test_one_of_two_concurrent_commands_is_refused_and_the_other_succeeds(grown: World, tmp_path: Path) -> None:
    """The first command is paused, so that it holds the lake while the second tries."""
    before, run = grown.answers(), LakeTables(grown.lake.uri).run["run"]
    words = ("--lake", grown.lake.uri, "--log", str(tmp_path / "spark.log"))
    command = [sys.executable, "-m", "kconf", "pipeline", "compact", *words]
    piped = subprocess.PIPE
    with subprocess.Popen(command, stdout=piped, stderr=piped, text=True, start_new_session=True) as first:
        assert first.stderr is not None
        assert "compacting journal …\n" in iter(first.stderr.readline, "")
        os.killpg(first.pid, signal.SIGSTOP)
        try:
            second = kconf("rebuild", *words)
        finally:
            os.killpg(first.pid, signal.SIGCONT)
        said, _ = first.communicate(timeout=280)

    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr.splitlines()[-1] == (
        f"kconf: Another pipeline run is using {grown.lake.uri}; try again later."
    )
    assert first.returncode == 0
    assert re.fullmatch(r"compacted \d+ files into \d+\n", said)
    assert grown.answers() == before
    told = kconf("status", "--lake", grown.lake.uri).stdout.splitlines()
    assert told[0].startswith(f"run {run + 1}, finished ")
    assert re.search(rf"^{JOURNAL.path} +\d+ +{len(grown.journal.lines)} +1 +\d+$", "\n".join(told), re.MULTILINE)


def kconf(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kconf", "pipeline", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)


@pytest.mark.full
def test_the_rehearsal_of_a_run_writes_rows_to_almost_every_table(spark: SparkSession, tmp_path: Path) -> None:
    """Otherwise classes that real runs load would be missing from the class archive."""
    warmup.rehearse(tmp_path, spark, lambda _: None)

    lake = Lake(str(tmp_path / "lake"), spark)
    assert {name for name, table in TABLES.items() if lake.read(table).isEmpty()} <= {"uneven", "integrity"}
