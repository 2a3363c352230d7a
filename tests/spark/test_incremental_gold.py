"""Gold tables that are updated for what changed have the rows that computing everything again gives: every column.

Random journals of several clusters come in batches, late and out of order, with attempts, snapshots, changes that
clients recorded, and runs that died before or between the tables.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from kconf.lake.schemas import (
    ACTIVITY,
    DRIFT,
    EFFECTIVE_CONFIG,
    GOLD,
    HISTORY,
    INTEGRITY,
    STATE,
    TOPICS,
    UNEVEN,
    VIOLATIONS,
    Table,
)
from kconf.model.journal import AuditEntry, RequestContext
from kconf.model.lines.journal import attempt_line
from kconf.model.resource import Resource
from kconf.spark import gold, runner, silver, violations
from kconf.spark.delta_tables import Lake, fit
from kconf.spark.incremental import affected
from kconf.spark.inputs import Inputs, Sources
from tests.spark.journals import START, Journal, journals
from tests.spark.oracle import Line, lines_of
from tests.spark.test_backtest import VALUES
from tests.spark.test_snapshots import CLUSTER, MINUTE, config, override, snapshot, topic
from tests.spark.test_violations import RULES

DECLARED = """
version: 1
topics:
  t1: {partitions: 1, configs: {retention.ms: 1s}}
  absent: {partitions: 3}
"""


class World:
    def __init__(self, spark: SparkSession, place: Path, **kind: Any) -> None:
        self.lake, self.place = Lake(str(place / "lake"), spark, **(kind or {"little": True})), place
        for name, text in (("rules.yaml", RULES), ("owners.csv", "t1,search\n*,shop\n"), ("declared.yaml", DECLARED)):
            (place / name).write_text(text)
        self.inputs = Inputs([place / "declared.yaml"], place / "rules.yaml", place / "owners.csv")
        self.sources = Sources([str(place / "archive")], [str(place / "snapshots")])
        (place / "snapshots").mkdir()
        self.files = 0

    def add(self, lines: Iterable[Line]) -> None:
        self.files += 1
        folder = self.place / "archive"
        folder.mkdir(exist_ok=True)
        (folder / f"{self.files}.jsonl").write_text("".join(f"{line}\n" for line in lines_of(lines)))

    def run(self) -> None:
        assert runner.run(self.lake, self.sources, self.inputs, lambda _: None).number is not None

    def kept(self) -> set[str]:
        """The tables of which rows were kept."""
        return {table.name for table in GOLD if self.lake.note(table).get("kept")}

    def check(self) -> None:
        """Every table is what computing everything gives."""
        whole = gold.Gold(self.lake, self.inputs)
        try:
            for table in GOLD:
                rows = violations.evaluated(self.lake, self.inputs) if table is VIOLATIONS else whole.rows(table)
                assert shown(self.lake.read(table)) == shown(fit(rows, table)), table.name
        finally:
            whole.forget()


class Killed(BaseException):
    """The process ends here."""


def kill_at(monkeypatch: pytest.MonkeyPatch, tables: Sequence[Table]) -> None:
    def killing(write: Callable[..., None]) -> Callable[..., None]:
        def killed(self: Lake, table: Table, *more: Any, **named: Any) -> None:
            if table in tables:
                raise Killed
            write(self, table, *more, **named)

        return killed

    for name in ("overwrite", "append_rows", "update", "replace_files"):
        monkeypatch.setattr(Lake, name, killing(getattr(Lake, name)))


def shown(rows: DataFrame) -> list[str]:
    return sorted(json.dumps(row.asDict(recursive=True), default=str, sort_keys=True) for row in rows.collect())


def attempt(cluster: str, number: int, principal: str) -> Line:
    caller = RequestContext(principal, "tool", "127.0.0.1", "IncrementalAlterConfigs", 1)
    entry = AuditEntry(START + number, caller, 1, Resource.topic("t1"), ["retention.ms"], 40, False, number)
    return dict(attempt_line(cluster, 1, entry))


def recorded(minute: int, value: str) -> Line:
    """A change that a client recorded in the cluster of which snapshots are taken."""
    (line,) = Journal(CLUSTER, Random(1), time=START + minute * MINUTE).set("topic", "orders", "retention.ms", value)
    return {**line, "epoch": 0, "revision": line["time"] * 1000, "sequence": 0, "origin": "client"}


def look(minute: int, threads: str, retention: str) -> tuple[int, list[dict[str, Any]]]:
    brokers = [config("broker", each, "num.io.threads", threads, "STATIC_BROKER_CONFIG") for each in ("1", "2")]
    return minute, [topic("orders", "A"), override("orders", "retention.ms", retention), *brokers]


@pytest.mark.full
def test_tables_after_random_batches_equal_a_full_computation(spark: SparkSession, tmp_path: Path) -> None:
    world, random = World(spark, tmp_path), Random(3)
    everything = [line for each in journals(6, 30, seed=3, values=VALUES) for line in each.lines]
    jumbled = sorted(everything, key=lambda line: line["revision"] + random.randrange(6))
    marks = [0, *(len(jumbled) * tenths // 10 for tenths in (4, 6, 7, 8, 9, 10))]
    batches = [jumbled[first:last] for first, last in pairwise(marks)]

    world.add([*batches[0], attempt("c000", 1, "User:eve"), recorded(1, "5")])
    snapshot(tmp_path / "snapshots", *look(0, "8", "1"))
    world.run()
    assert world.kept() == set()
    world.add([*batches[1], attempt("c000", 2, "User:mallory")])
    world.run()
    world.check()
    assert world.kept() == {table.name for table in GOLD}

    world.add(batches[2])
    runner.read(world.lake, world.sources, lambda _: None)  # a run that died before the history
    world.add([attempt("c001", 1, "User:eve"), recorded(12, "6")])
    snapshot(tmp_path / "snapshots", *look(10, "9", "5"))
    world.run()
    world.check()

    world.add([*batches[3], recorded(7, "7")])  # and one that died before the gold tables
    runner.read(world.lake, world.sources, lambda _: None)
    silver.update(world.lake)
    world.add(batches[4])
    world.run()
    world.check()

    (tmp_path / "owners.csv").write_text("*,nobody\n")
    world.inputs = replace(world.inputs)
    world.add([attempt("c002", 1, "User:eve")])
    world.run()
    world.check()
    assert world.kept() == {table.name for table in GOLD} - {TOPICS.name, VIOLATIONS.name}

    world.add(batches[5])
    world.run()
    world.check()
    before = {table: shown(world.lake.read(table)) for table in GOLD}
    runner.rebuild(world.lake, world.inputs, lambda _: None)
    assert {table: shown(world.lake.read(table)) for table in GOLD} == before


@pytest.mark.full
def test_spark_and_deltalake_write_tables_with_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    """The second run gets late changes of one topic and a cluster of its own: rows are updated, added and removed."""
    made = Journal("one", Random(1), time=START)
    first = [*made.create("t1", **{"retention.ms": "100"}), *made.create("t2", **{"retention.ms": "100"})]
    late = made.set("topic", "t1", "retention.ms", "200")
    made.time += MINUTE
    last = [*made.set("topic", "t1", "retention.ms", "300"), *made.set("topic", "t2", "retention.ms", "1000")]
    other = Journal("other", Random(2), values=VALUES).grow(20)
    world = World(spark, tmp_path)
    world.add([*first, *last])
    world.run()
    copied = shutil.copytree(tmp_path / "lake", tmp_path / "copy")
    world.add([*late, *other, attempt("other", 1, "User:eve")])
    lakes = {"WRITE": world.lake, "MERGE": Lake(str(copied), spark, small=0)}
    for operation, world.lake in lakes.items():
        world.run()
        assert DeltaTable(world.lake.path(HISTORY)).history(1)[0]["operation"] == operation
        assert world.kept() == {table.name for table in GOLD}

    by_deltalake, by_spark = (
        {table.name: shown(lake.read(table)) for table in (HISTORY, STATE, *GOLD)} for lake in lakes.values()
    )
    assert by_spark == by_deltalake


def test_only_affected_rows_are_computed_again_even_after_a_killed_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_FILTERED", "_LITERAL"):  # two names are joined, and not part of the text of a query
        monkeypatch.setattr(affected, name, 1)
    world = World(spark, tmp_path)
    made = {name: Journal(name, Random(1), time=START) for name in ("one", "other")}
    world.add(
        [
            line
            for each in made.values()
            for name in ("t1", "t2", "t3")
            for line in each.create(name, **{"retention.ms": "100"})
        ]
    )
    world.run()
    world.add(made["one"].set("topic", "t1", "retention.ms", "1000"))
    with monkeypatch.context() as patch:
        kill_at(patch, (INTEGRITY, ACTIVITY))
        with pytest.raises(Killed):
            world.run()
    world.add([*made["one"].set("topic", "t2", "retention.ms", "2000"), attempt("other", 1, "User:eve")])
    asked: dict[str, set[tuple[str, str, str]]] = {}
    rows = gold.Gold.rows

    def noted(self: gold.Gold, table: Table) -> DataFrame:
        assert self.part is not None
        asked[table.name] = set(self.part.names)
        return rows(self, table)

    monkeypatch.setattr(gold.Gold, "rows", noted)

    world.run()

    first, second = ("one", "topic", "t1"), ("one", "topic", "t2")
    assert asked[INTEGRITY.name] == asked[ACTIVITY.name] == {first, second}
    assert asked[EFFECTIVE_CONFIG.name] == {second}
    assert {UNEVEN.name, TOPICS.name} & set(asked) == set(), "no broker changed, and no topic was created or deleted"
    assert asked[DRIFT.name] in ({second}, {first, second}), "it comes after the tables that were killed"
    monkeypatch.setattr(gold.Gold, "rows", rows)
    world.check()
    assert len({world.lake.note(table)["round"] for table in GOLD}) == 1, "also of those that nothing affects"
    counted = [(row["principal"], row["kind"], row["count"]) for row in world.lake.read(ACTIVITY).collect()]
    assert ("User:eve", "refusals", 1) in counted
    assert sum(count for _, kind, count in counted if kind == "changes") == sum(
        len(each.lines) for each in made.values()
    )
    part = affected.affected(world.lake, 1)
    assert part is not None
    assert (part.names, part.is_most) == ({first, second}, False), "two of six topics"
    world.add([line for name in ("t1", "t2") for line in made["other"].set("topic", name, "retention.ms", "3000")])
    world.run()
    part = affected.affected(world.lake, 1)
    assert part is not None
    assert part.is_most, "four of six topics"
    world.check()
