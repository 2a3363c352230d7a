"""Incrementally updated violations are equal to an evaluation of the whole history, in every column of every row.

`make test` checks that with all gold tables, in tests/spark/test_incremental_gold.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kconf.lake.schemas import JOURNAL, VIOLATIONS
from kconf.spark import bronze, silver, violations
from kconf.spark.delta_tables import Lake, fit
from kconf.spark.inputs import Inputs
from tests.spark.journals import Journal, journals
from tests.spark.oracle import Line
from tests.spark.test_backtest import VALUES
from tests.spark.test_history import journal_of
from tests.spark.test_snapshots import CLUSTER, MINUTE, START, config, snapshot, topic

RULES = """
labels:
  topic:t1: {tier: gold}
rules:
  - {id: small, selector: topic, key: retention.ms, condition: {min: 500, max: 2500}}
  - {id: few, selector: {type: topic, labels: {tier: gold}}, key: partitions, condition: {max: 2}, always: true}
  - {id: threads, selector: broker, key: log.cleaner.threads, condition: {max: 4, not_one_of: [1]}}
"""
MARK = "taken over"


class World:
    """A lake whose history grows, with or without violations."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.lake, self.place, self.turn = Lake(str(place / "lake"), spark), place, 0
        (place / "rules.yaml").write_text(RULES)
        (place / "owners.csv").write_text("t1,search\n*,shop\n")
        self.inputs = Inputs(policy=place / "rules.yaml", owners=place / "owners.csv")

    def go_on(self, given: Iterable[Line], *looks: tuple[int, list[dict[str, Any]]]) -> None:
        """Everything that a run does before the gold tables, except reading an archive."""
        number, self.turn = silver.next_round(self.lake), self.turn + 1
        lines = journal_of(self.lake.spark, self.place / f"archive-{self.turn}", given)
        self.lake.append(JOURNAL, lines.withColumn("round", F.lit(number)), note={"marks": {}})
        for minute, facts in looks:
            snapshot(self.place / "looks", minute, facts)
            bronze.read_snapshots(self.lake, str(self.place / "looks"), number, bronze.Read())
        silver.update(self.lake)

    def update(self) -> bool:
        """Update, and compare with an evaluation of everything; returns whether rows were reused."""
        violations.update(self.lake, self.inputs)
        assert rows(self.lake.read(VIOLATIONS)) == rows(fit(violations.evaluated(self.lake, self.inputs), VIOLATIONS))
        return bool(self.lake.note(VIOLATIONS)["kept"])

    def mark(self) -> None:
        """Mark every row, so that reused rows can be recognized."""
        note = self.lake.note(VIOLATIONS)
        self.lake.overwrite(VIOLATIONS, self.lake.read(VIOLATIONS).withColumn("message", F.lit(MARK)), note=note)

    def taken_over(self) -> set[tuple[str, str]]:
        """Update, and return the resources whose rows were reused."""
        violations.update(self.lake, self.inputs)
        marked = self.lake.read(VIOLATIONS).where(F.col("message") == MARK)
        return {(row["cluster"], row["resource_name"]) for row in marked.collect()}


def rows(table: DataFrame) -> list[str]:
    return sorted(repr(row.asDict()) for row in table.collect())


@pytest.mark.full
def test_violations_after_random_batches_equal_a_full_evaluation(spark: SparkSession, tmp_path: Path) -> None:
    """Late and unordered input, snapshots of a changing file, a run that died before the violations, other rules."""
    world, random = World(spark, tmp_path), Random(5)
    everything = [line for each in journals(14, 30, seed=5, values=VALUES) for line in each.lines]
    jumbled = sorted(everything, key=lambda line: line["revision"] + random.randrange(6))
    half, more, most = (len(jumbled) * tenths // 10 for tenths in (5, 8, 9))

    def look(minute: int, value: str) -> tuple[int, list[dict[str, Any]]]:
        file = config("broker", "1", "log.retention.ms", value, "STATIC_BROKER_CONFIG")
        return minute, [topic("t1", "A"), topic(f"t{minute}", "B"), file]

    world.go_on(jumbled[:half], look(0, "1000"))
    assert not world.update()
    world.go_on(jumbled[half:more])  # and is then killed
    world.go_on(jumbled[more:most], look(10, "100"))
    assert world.update()
    assert {"itself", "inherited"} == {row["cause"] for row in world.lake.read(VIOLATIONS).collect()}

    (tmp_path / "rules.yaml").write_text(RULES.replace("2500", "1500"))
    world.inputs = replace(world.inputs)
    world.go_on(jumbled[most:])
    assert not world.update()


@pytest.mark.full
def test_only_resources_affected_by_new_input_are_evaluated_again(spark: SparkSession, tmp_path: Path) -> None:
    """A topic of one cluster, all brokers of another, and in a third a line older than a snapshot of its file."""
    world = World(spark, tmp_path)
    made = {name: Journal(name, Random(1), time=START) for name in ("topics", "brokers", CLUSTER)}
    names = ("t1", "t2", "t3")
    lines = [line for each in made.values() for name in names for line in each.create(name, **{"retention.ms": "100"})]
    file = config("broker", "1", "log.retention.ms", "77", "STATIC_BROKER_CONFIG")
    world.go_on(lines, (30, [file]))
    violations.update(world.lake, world.inputs)
    world.mark()
    version = world.lake.version(VIOLATIONS)

    violations.update(world.lake, world.inputs)
    assert world.lake.version(VIOLATIONS) == version, "nothing is new: nothing is written"

    for each in made.values():
        each.time = START + 25 * MINUTE
    world.go_on(
        [
            *made["topics"].set("topic", "t1", "retention.ms", "1000"),
            *made["topics"].create("t4", **{"retention.ms": "5"}),
            *made["brokers"].set("broker", "", "log.cleaner.threads", "8"),
            *made[CLUSTER].set("topic", "t3", "retention.ms", "1001"),
        ]
    )
    assert world.taken_over() == {("topics", "t2"), ("topics", "t3")}
    assert {row["resource_name"] for row in world.lake.read(VIOLATIONS).collect()} == {*names, "t4", "", "1"}

    world.mark()
    silver.rebuild(world.lake)
    assert world.taken_over() == set(), "after a rebuild everything is evaluated again"
    (world.place / "owners.csv").write_text("*,nobody\n")
    world.inputs = replace(world.inputs)
    assert not world.update(), "other owners"
    world.inputs = Inputs()
    violations.update(world.lake, world.inputs)
    assert world.lake.read(VIOLATIONS).isEmpty()
    assert world.lake.note(VIOLATIONS) == {}, "the next rules start from the beginning"
