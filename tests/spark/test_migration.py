"""A lake whose columns differ from those of this version: a run migrates an older lake, and refuses a newer one.

The later version is tests/support/later_version.py, where a caller has a field `added_later`. Other columns are
tested with changed table definitions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from kconf.lake.lookup import LakeTables, LookupFilter
from kconf.lake.schemas import ACTIVITY, ATTEMPTS, HISTORY, JOURNAL, RUNS, TABLES, UNEVEN, Column, Table
from kconf.lake.storage.location import LakeError
from kconf.model.journal import AuditEntry, RequestContext
from kconf.model.lines.journal import attempt_line
from kconf.model.resource import Resource
from kconf.spark import runner
from kconf.spark.delta_tables import Lake, local
from kconf.spark.inputs import Inputs, Sources
from kconf.spark.runner import Summary
from tests.spark.journals import Journal, journals
from tests.support.later_version import IP, later_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = Mapping[str, Any]
WITH_CALLER = (JOURNAL, ATTEMPTS, HISTORY, ACTIVITY)
EVE = RequestContext("User:eve", "tool", "127.0.0.1", "IncrementalAlterConfigs", 1)
ORDERS = LookupFilter(resources=[Resource.topic("orders")])


@dataclass
class World:
    """An archive, and the lake built from it."""

    archive: Path
    lake: Lake
    journal: Journal

    def add(self, name: str, lines: Iterable[Row], **more: Any) -> None:
        """Add a file to the archive, with more fields in each line."""
        home = self.archive / self.journal.cluster
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{name}.jsonl").write_text("".join(f"{json.dumps({**line, **more})}\n" for line in lines))

    def attempt(self, number: int) -> Row:
        attempt = AuditEntry(self.journal.time, EVE, 1, Resource.topic("orders"), ["retention.ms"], 40, False, number)
        return attempt_line(self.journal.cluster, 1, attempt)

    def run(self) -> Summary:
        return runner.run(self.lake, Sources([str(self.archive)]), Inputs(), lambda _: None)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """All rows, read with another Delta library."""
        found: list[dict[str, Any]] = DeltaTable(self.lake.path(table)).to_pyarrow_table().to_pylist()
        return found

    def define(self, table: Table, *columns: Column) -> None:
        """Write a table with these columns, like a version that defines it so; the run records its version."""
        other = with_columns(table, *columns)
        self.lake.overwrite(other, self.lake.read(table))
        (run,) = [row.asDict() for row in self.lake.read(RUNS).collect()]
        row = {**run, **{name: run[name].isoformat() for name in ("started", "finished")}}
        runs = other if table is RUNS else RUNS
        self.lake.overwrite(runs, local(self.lake.spark, [{**row, "versions": runner.versions(self.lake)}], RUNS.ddl))

    def columns(self, table: Table) -> set[str]:
        return {each.name for each in DeltaTable(self.lake.path(table)).schema().fields}


def made(place: Path, spark: SparkSession) -> World:
    """A lake after a first run, with a topic whose retention was set."""
    (journal,) = journals(1, 0)
    found = World(place / "archive", Lake(str(place / "lake"), spark), journal)
    found.add("1", [*journal.create("orders"), *journal.set("topic", "orders", "retention.ms", "1000")])
    found.add("attempts-1", [found.attempt(1)])
    assert found.run().number == 1
    return found


@pytest.fixture(scope="module")
def first(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> World:
    return made(tmp_path_factory.mktemp("first"), spark)


@pytest.fixture
def world(first: World, tmp_path: Path) -> World:
    """A separate copy of the lake, with nothing new in the archive."""
    copytree(first.lake.uri, tmp_path / "lake")
    return replace(first, lake=Lake(str(tmp_path / "lake"), first.lake.spark))


def later_run(world: World) -> tuple[str, list[str]]:
    """The output of a run of the later version, and its stderr without progress lines."""
    words = ("--archive", world.archive, "--lake", world.lake.uri, "--log", world.archive.parent / "spark.log")
    done = later_version("kconf", "pipeline", "run", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if not line.endswith("…")]


@pytest.mark.full
def test_a_later_version_migrates_the_lake_and_an_older_one_refuses_it_until_a_rebuild(
    spark: SparkSession, tmp_path: Path
) -> None:
    world = made(tmp_path, spark)
    journal = world.journal
    world.add("2", journal.set("topic", "orders", "retention.ms", "2000"), added_later=IP)
    world.add("attempts-2", [world.attempt(2)], added_later=IP)

    printed, said = later_run(world)

    assert printed.startswith("run 2: 1 change, 1 attempt, ")
    assert said == [
        "migrated the lake: new column added_later in bronze/journal, bronze/attempts, silver/history, gold/activity",
    ]
    assert [(row["revision"], row["added_later"]) for row in by(world.rows(JOURNAL), "revision")] == [
        (1, None),
        (2, None),
        (3, IP),
    ]
    assert [(row["number"], row["added_later"]) for row in by(world.rows(ATTEMPTS), "number")] == [(1, None), (2, IP)]
    assert [(row["value"], row["added_later"]) for row in by(world.rows(HISTORY), "revision") if row["key"]] == [
        ("1000", None),
        ("2000", IP),
    ]
    assert {(row["kind"], row["added_later"], row["count"]) for row in world.rows(ACTIVITY)} == {
        ("changes", None, 1),
        ("changes", IP, 1),
        ("refusals", None, 1),
        ("refusals", IP, 1),
    }
    assert later_run(world) == ("nothing new\n", []), "it is migrated once"

    # The earlier version can read what the later one wrote, but does not write to it.
    assert [row["value"] for row in LakeTables(world.lake.uri).history(ORDERS) if row["key"]] == ["1000", "2000"]
    before = runner.versions(world.lake)
    with pytest.raises(LakeError) as refused:
        world.run()
    assert str(refused.value) == (
        f"The table bronze/journal of {world.lake.uri} does not match this version of kconf: its column added_later is"
        " not defined. Use the version that wrote it, or run `kconf pipeline rebuild`: it drops columns that this"
        " version does not define."
    )
    assert runner.versions(world.lake) == before

    runner.rebuild(world.lake, Inputs(), lambda _: None)

    assert [table.path for table in WITH_CALLER if "added_later" in world.columns(table)] == []
    world.add("3", journal.set("topic", "orders", "retention.ms", "3000"))
    assert world.run().read.counts == {"journal": 1, "attempts": 0, "quarantined": 0, "facts": 0}
    assert [row["value"] for row in LakeTables(world.lake.uri).history(ORDERS) if row["key"]] == [
        "1000",
        "2000",
        "3000",
    ]


def by(rows: Iterable[Row], name: str) -> list[Row]:
    return sorted(rows, key=lambda row: row[name])


def test_look_ups_of_a_later_version_read_a_lake_that_is_not_migrated_yet(world: World) -> None:
    done = later_version("kconf", "lake", "blame", "topic:orders", "--lake", world.lake.uri, "--output", "json")

    assert done.returncode == 0, done.stderr
    assert [each["value"] for each in json.loads(done.stdout)["items"] if each["key"] == "retention.ms"] == ["1000"]


def test_look_ups_of_columns_that_do_not_exist_yet_return_null(world: World) -> None:
    later = with_columns(HISTORY, *HISTORY.columns, Column("added_later", "string", "the address of the client"))

    found = LakeTables(world.lake.uri).rows(
        later, ["added_later IS NULL", "key <> ''"], columns="value, added_later", order="added_later, value"
    )

    assert found == [{"value": "1000", "added_later": None}]


def test_every_table_of_an_older_lake_gets_its_new_columns(world: World) -> None:
    """Derived tables are rebuilt for any difference; rows of bronze tables have no value in the new columns."""
    older = {ATTEMPTS: "reason", HISTORY: "returned", ACTIVITY: "origin", RUNS: "facts"}
    before = {table: world.rows(table) for table in (HISTORY, ACTIVITY)}
    world.define(UNEVEN, *UNEVEN.columns[:-1], Column("brokers", "string", "typed"), Column("old", "int", "undefined"))
    for table, name in older.items():
        world.define(table, *(each for each in table.columns if each.name != name))
        assert name not in world.columns(table)

    done = world.run()

    assert done.migrated == {table.path: [name] for table, name in older.items()} | {UNEVEN.path: []}
    assert done.number == 2
    assert world.columns(UNEVEN) == set(UNEVEN.names)
    assert [name for table, name in older.items() if name not in world.columns(table)] == []
    assert {table: world.rows(table) for table in before} == before
    assert [row["facts"] for row in by(world.rows(RUNS), "run")] == [None, 0]
    again = world.run()
    assert (again.number, again.migrated) == (None, {})


@pytest.mark.full
def test_an_older_lake_can_be_compacted_without_a_migration(world: World) -> None:
    world.define(RUNS, *(each for each in RUNS.columns if each.name != "facts"))

    runner.compact(world.lake, lambda _: None)

    assert [row["run"] for row in by(world.rows(RUNS), "run")] == [1, 2]
    assert world.run().number is None


@pytest.mark.full
def test_a_column_of_another_type_is_refused_until_a_rebuild(world: World) -> None:
    """If one table does not match, no other table is changed."""
    typed = (each._replace(type="string") if each.name == "request_id" else each for each in JOURNAL.columns)
    world.define(JOURNAL, *typed)
    world.define(ATTEMPTS, *(each for each in ATTEMPTS.columns if each.name != "reason"))

    with pytest.raises(LakeError, match=r"its column request_id has the type string, not bigint\. Use the version"):
        world.run()
    assert "reason" not in world.columns(ATTEMPTS)

    runner.rebuild(world.lake, Inputs(), lambda _: None)

    assert [row["request_id"] for row in by(world.rows(JOURNAL), "revision")] == [1, 2]
    assert "reason" in world.columns(ATTEMPTS)
    assert world.run().number is None


def test_tables_that_spark_writes_have_the_defined_columns_and_types(world: World) -> None:
    """Types must match exactly, otherwise every run would find a difference."""
    found = {table: world.lake.difference(table) for table in TABLES.values()}

    assert {table.path: each for table, each in found.items() if each} == {}


def with_columns(table: Table, *columns: Column) -> Table:
    return replace(table, columns=columns)
