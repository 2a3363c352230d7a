"""The ledger of files: what a run records although nothing was new, which rounds it counts, and what is removed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from kconf.lake.schemas import FILES, HISTORY, JOURNAL, QUARANTINE, VIOLATIONS
from kconf.lake.sql import LakeSql
from kconf.lake.storage.location import LakeBusy, LakeError
from kconf.spark import bronze, delta_tables, files, runner, silver
from kconf.spark.delta_tables import Lake
from kconf.spark.inputs import Inputs, Sources
from tests.spark.journals import journals
from tests.spark.oracle import lines_of

if TYPE_CHECKING:
    from collections.abc import Callable

NOTHING = Inputs()


class World:
    """A lake and its archive."""

    def __init__(self, lake: Lake, place: Path) -> None:
        self.lake, self.archive = lake, place / "archive"
        (self.archive / "c").mkdir(parents=True)
        (self.journal,) = journals(1, 0)

    def add(self, name: str, *more: str) -> Path:
        """Add a file of the archive, with new changes unless other lines are given."""
        lines = more or tuple(lines_of(self.journal.grow(3)))
        file = self.archive / "c" / name
        file.write_text("".join(f"{each}\n" for each in lines))
        return file

    def run(self, inputs: Inputs = NOTHING) -> runner.Summary:
        return runner.run(self.lake, Sources([str(self.archive)]), inputs, lambda _: None)

    def files(self) -> dict[str, bool]:
        """Which files the last run had read, by name."""
        with LakeSql(self.lake.uri) as sql:
            return {Path(file).name: read for file, read in sql.query("SELECT file, read FROM files").rows}


@pytest.fixture
def world(lake: Lake, tmp_path: Path) -> World:
    return World(lake, tmp_path)


def test_a_run_shows_its_files_also_if_it_only_skipped_or_quarantined_something(world: World) -> None:
    world.add("1.jsonl")
    world.run()
    assert world.files() == {"1.jsonl": True}

    world.add("2.jsonl.gz", "x")
    skipped = world.run()
    assert (skipped.number, skipped.read.files) == (2, 1)
    assert world.files() == {"1.jsonl": True, "2.jsonl.gz": False}

    world.add("3.jsonl", "not JSON")
    assert world.run().read.quarantined == 1
    assert world.files() == {"1.jsonl": True, "2.jsonl.gz": False, "3.jsonl": True}
    assert world.run().number is None


def test_files_of_a_run_that_died_are_not_shown(world: World) -> None:
    world.add("1.jsonl")
    world.run()
    world.add("2.jsonl")

    runner.read(world.lake, Sources([str(world.archive)]), lambda _: None)

    assert world.files() == {"1.jsonl": True}
    assert world.run().number == 2
    assert world.files() == {"1.jsonl": True, "2.jsonl": True}


@pytest.mark.parametrize("name", ["2.jsonl", "2.json"])
def test_a_file_that_was_changed_without_new_lines_is_read_once(world: World, name: str) -> None:
    """Each pass over the files has its own number, also if it only quarantined or skipped something."""
    world.add("1.jsonl")
    world.run()
    rounds = []
    for text in ("not JSON", "still not JSON", "still no JSON"):
        world.add(name, text)
        rounds.append(silver.next_round(world.lake))
        assert world.run().read.files == 1
    new = Lake(world.lake.uri, world.lake.spark)

    assert rounds == [2, 3, 4]
    for lake in (world.lake, new):
        assert files.unread(lake, "archive", str(world.archive)) == []
    assert new.note(FILES) == {"round": 4}
    assert new.note(QUARANTINE) == ({"round": 4} if name == "2.jsonl" else {})


def test_compaction_removes_rows_of_files_that_were_read_again_or_deleted(world: World, tmp_path: Path) -> None:
    copies = tmp_path / "lake" / "feeds" / "c"
    copies.mkdir(parents=True)
    sources = Sources([str(world.archive), str(copies.parent)])
    for text in ("not JSON", "still not JSON"):
        world.add("1.jsonl", text)
        for name in ("kept.jsonl", "deleted.jsonl"):
            (copies / name).write_text(f"{text}\n")
        runner.run(world.lake, sources, NOTHING, lambda _: None)
    assert world.lake.read(FILES).count() == 6
    (copies / "deleted.jsonl").unlink()

    runner.compact(world.lake, lambda _: None, copies.parent)

    assert sorted(Path(row["file"]).name for row in world.lake.read(FILES).collect()) == ["1.jsonl", "kept.jsonl"]
    assert [files.unread(world.lake, "archive", each) for each in sources.archives] == [[], []]
    version = world.lake.version(FILES)
    assert runner.run(world.lake, sources, NOTHING, lambda _: None).number is None
    runner.compact(world.lake, lambda _: None, copies.parent)
    assert world.lake.version(FILES) == version, "nothing is left to remove"


def test_compaction_repeats_notes_and_leaves_large_files(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("1.jsonl", "2.jsonl"):
        world.add(name)
        world.run()
    notes = {table.name: world.lake.note(table) for table in (JOURNAL, HISTORY, FILES)}
    monkeypatch.setattr(delta_tables, "_COMPACTED", 10)
    assert world.lake.compact(JOURNAL) == (0, 0)
    monkeypatch.undo()

    assert world.lake.compact(JOURNAL) == (2, 1)
    world.lake.vacuum(JOURNAL, 168)

    last = world.lake.version(JOURNAL)
    log = Path(world.lake.path(JOURNAL), "_delta_log", f"{last:020}.json")
    (info,) = (json.loads(line)["commitInfo"] for line in log.open() if line.startswith('{"commitInfo"'))
    assert json.loads(info["userMetadata"]) == notes["journal"]
    assert {
        table.name: Lake(world.lake.uri, world.lake.spark).note(table) for table in (JOURNAL, HISTORY, FILES)
    } == notes


def test_without_rules_the_violations_are_emptied_once(world: World, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n  - {id: a, selector: topic, key: retention.ms, condition: {max: 1}}\n")
    world.add("1.jsonl")
    world.run(Inputs(policy=rules))
    versions = []
    for name in ("2.jsonl", "3.jsonl"):
        world.add(name)
        world.run()
        versions.append(world.lake.version(VIOLATIONS))

    assert versions[0] == versions[1]
    assert world.lake.read(VIOLATIONS).isEmpty()


@pytest.mark.parametrize("error", [LakeBusy("Another run …"), LakeError("The disk is full.")])
def test_an_error_of_the_lake_is_not_one_of_the_cluster(
    world: World, monkeypatch: pytest.MonkeyPatch, error: LakeError
) -> None:
    with pytest.raises(type(error), match=str(error)):
        runner.read(world.lake, clusters(monkeypatch, error), lambda _: None, unexpected)


def test_a_disk_that_is_full_is_not_an_unreachable_cluster(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    full = PySparkException("Job aborted: java.io.IOException: No space left on device")
    with pytest.raises(LakeError, match="disk is full"), runner.plain_errors(world.lake):
        runner.read(world.lake, clusters(monkeypatch, full), lambda _: None, unexpected)


def test_a_cluster_that_cannot_be_read_does_not_end_the_round(world: World) -> None:
    unreachable = {"bootstrap.servers": f"127.0.0.1:{os.getpid() % 1000 + 1}"}
    found: list[Any] = []

    def note(options: object, error: LakeError) -> None:
        found.append((options, str(error)))

    runner.read(world.lake, Sources(clusters=[unreachable]), lambda _: None, note)

    assert [options for options, _ in found] == [unreachable]


def unexpected(_: object, error: LakeError) -> None:
    pytest.fail(f"not an unreachable cluster: {error}")


def clusters(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Sources:
    """A cluster whose snapshot cannot be stored."""

    def failing(*_: object) -> Callable[..., object]:
        raise error

    monkeypatch.setattr(bronze, "take_snapshots", failing)
    return Sources(clusters=[{"bootstrap.servers": "127.0.0.1:9"}])
