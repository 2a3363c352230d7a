"""What few new rows need is computed in memory, without Spark, and gives the same as Spark's queries."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kconf.lake.schemas import (
    ACTIVITY,
    EFFECTIVE_CONFIG,
    EFFECTIVE_QUOTA,
    GOLD,
    HISTORY,
    INTEGRITY,
    JOURNAL,
    SNAPSHOT,
    VIOLATIONS,
    Table,
)
from kconf.spark import bronze, gold, silver, violations
from kconf.spark.delta_tables import Lake, fit, local
from kconf.spark.incremental import affected, new_rows
from kconf.spark.incremental.affected import Part
from kconf.spark.transforms import activity, integrity, lines
from kconf.spark.transforms.history import RESOURCE
from kconf.spark.violations import Row, begun_as
from tests.spark.journals import START, Journal, journals
from tests.spark.oracle import Line
from tests.spark.test_backtest import RULES as ALL_RULES
from tests.spark.test_backtest import VALUES
from tests.spark.test_incremental_gold import World, attempt, shown
from tests.spark.test_snapshots import config, snapshot, topic
from tests.support.targets import one_of

ROWS = Lake.rows
LOG = {"origin": "log", "epoch": 7}
QUOTA = {
    "resource_type": "quota",
    "resource_name": '{"user":null}',
    "entity": {"user": None},
    "key": "producer_byte_rate",
}


def texts(given: Iterable[Line]) -> list[str]:
    return [each if isinstance(each, str) else json.dumps(each) for each in given]


def test_counts_of_lines_in_memory_equal_those_of_spark(spark: SparkSession) -> None:
    made = [line for each in journals(3, 20) for line in each.lines]
    named = {**made[0], **LOG, "revision": 1}
    bare = {**made[0], **LOG, "revision": 2, "principal": "", "reason": None}
    other = {"cluster": "c001", "kind": "unknown", "epoch": 1, "revision": 9, "line": 0}
    given = [*made, made[3], named, bare, {**bare, "reason": "why"}, attempt("c000", 1, "User:eve"), other]
    rows = [{"value": each, "file": "f"} for each in [*texts(given), "{", "  "]]
    read = lines.read(local(spark, rows, "value string, file string"))

    by_spark = {row["cluster"]: row.asDict() for row in bronze._counts(read).collect()}
    in_memory = bronze._counts_in_memory(read.toArrow())

    assert set(in_memory) == set(by_spark) == {"c000", "c001", "c002", None}
    for cluster, counted in in_memory.items():
        row = by_spark[cluster]
        bounds = {name: None if row[name] is None else list(row[name]) for name in ("first", "last")}
        assert counted | {"cluster": cluster} == row | bounds


def test_summaries_of_new_lines_in_memory_equal_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"), spark)
    followed: dict[str, Line] = {
        "c000": {"origin": "log"},
        "c001": {"origin": "kconf", "log_begin": 5},
        "c002": {"epoch": 0},
    }
    for number, made in enumerate(journals(4, 25), 1):
        times = [{**line, "time": str(line["time"]), **followed.get(made.cluster, {})} for line in made.lines]
        rows = local(spark, times, JOURNAL.ddl.replace("`time` timestamp", "`time` string"))
        rows = rows.selectExpr("* EXCEPT (time)", "timestamp_millis(CAST(time AS bigint)) AS time")
        lake.append(JOURNAL, rows.selectExpr("* EXCEPT (round)", f"CAST({number} AS bigint) AS round"))

    (middle,) = lake.read(JOURNAL).selectExpr("percentile(unix_millis(time), 0.5) AS middle").collect()
    for since, clusters in ((0, 4), (2, 2), (4, 0)):
        for soon in (int(middle["middle"]), new_rows.soon_after_now()):
            journal, snapshot = lake.read_since(JOURNAL, since), lake.read_since(SNAPSHOT, since)
            summaries = new_rows.summaries_of_few(lake, since, soon)
            assert summaries == new_rows.summarized(new_rows.lines_of(journal, snapshot, soon))
            assert len(summaries) == clusters
            assert any(row["ahead"] for row in summaries.values()) is (bool(summaries) and soon == middle["middle"])


def test_a_part_selects_the_same_rows_in_memory_and_in_spark(spark: SparkSession) -> None:
    schema = pa.schema([(name, pa.string()) for name in RESOURCE])
    values = [
        {"cluster": cluster, "resource_type": kind, "resource_name": name}
        for cluster in ("a", "b", "c", None)
        for kind in ("topic", "group")
        for name in ("x", "y", "x\ny", None)
    ]
    rows = pa.Table.from_pylist(values, schema)
    frame = spark.createDataFrame(rows)
    part = Part(None, {("a", "topic", "x"), ("b", "group", "x\ny")}, ["c"])  # type: ignore[arg-type]

    assert part.within(rows).num_rows == 2 + 8
    for in_memory, by_spark in ((part.within(rows), part.of(frame)), (part.rest(rows), part.others(frame))):
        assert shown(spark.createDataFrame(in_memory)) == shown(by_spark)


def test_activity_counts_added_in_memory_equal_those_of_spark(spark: SparkSession) -> None:
    days = [{"first": f"2026-11-0{day}T00:00:00Z", "last": f"2026-11-0{day}T12:00:00Z"} for day in (1, 2)]
    same: Line = {"cluster": "c", "kind": "changes", "day": "2026-11-01", "principal": "User:a", "origin": "kconf"}
    given = [
        *({**same, "count": count, **day} for count, day in zip((2, 3), days, strict=True)),
        {**same, "count": 4, "principal": None, **days[0]},
        {**same, "count": 5, "principal": None, **days[1]},
        {**same, "count": 7, "key": "retention.ms", **days[0]},
    ]
    rows = local(spark, given, ACTIVITY.ddl)
    whole = fit(rows, ACTIVITY).toArrow()

    added = activity.added_in_memory(whole)

    assert sorted(added["count"].to_pylist()) == [5, 7, 9]
    assert added.schema == whole.schema
    assert shown(spark.createDataFrame(added)) == shown(fit(activity.added(rows, rows.limit(0)), ACTIVITY))


@pytest.mark.parametrize(
    ("numbers", "count"),
    [([(1, 1), (1, 2), (2, 1)], 1), ([(1, 2)], 1), ([(1, 1), (1, 3)], 1), ([(1, 1), (1, 2)], 2), ([], 1)],
)
def test_counts_in_memory_find_the_same_missing_lines_as_spark(
    spark: SparkSession, numbers: list[tuple[int, int]], count: int
) -> None:
    place = {"cluster": "c", "time": "2026-11-01T00:00:00Z", "origin": "kconf", "line": 0, "lines": count}
    rows = [{**place, "epoch": epoch, "revision": number, "sequence": number} for epoch, number in numbers]
    followed = [{**place, "origin": "log", "epoch": 9, "revision": 40, "sequence": 40}, {**place, "epoch": 0}]
    journal = local(spark, [*rows, *followed], JOURNAL.ddl)

    lines = fit(journal, JOURNAL).toArrow()

    later = integrity.JournalCounts(1).plus(lines.slice(0, 1), 2).plus(lines.slice(1), 3)
    at_once = integrity.JournalCounts(3).plus_rows(integrity.counted(journal).collect())

    assert later == at_once
    assert later.are_complete(["c"]) == integrity.holes(journal).isEmpty()
    assert later.are_complete([])


class Rounds:
    """A lake of a few clusters that is updated in one session; every update is compared with computing everything."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.world = World(spark, place)
        self.made = {name: Journal(name, Random(number), time=START) for number, name in enumerate(("one", "other"))}
        topics = [f"t{number}" for number in range(6)]
        self.run(*(line for each in self.made.values() for name in topics for line in each.create(name)))

    def run(self, *given: Line) -> set[str]:
        """The tables that were written, and not only their note."""
        written: set[str] = set()
        lake = self.world.lake
        before = {table: set(lake.read(table).inputFiles()) if lake.exists(table) else set() for table in GOLD}
        self.world.add(given)
        self.world.run()
        for table in GOLD:
            if set(lake.read(table).inputFiles()) != before[table]:
                written.add(table.name)
        return written


def test_tables_that_new_lines_do_not_affect_are_not_written(spark: SparkSession, tmp_path: Path) -> None:
    rounds = Rounds(spark, tmp_path)
    lake, (one, other) = rounds.world.lake, rounds.made.values()
    rounds.run(*one.set("topic", "t1", "retention.ms", "1000"))

    written = rounds.run(*one.set("topic", "t2", "retention.ms", "1000"))
    rounds.world.check()
    assert {"topics", "effective_quota", "uneven"} & written == set()
    assert {"effective_config", "activity"} <= written

    written = rounds.run(*one.create("t9", **{"retention.ms": "7"}))
    rounds.world.check()
    assert "topics" in written

    rounds.run(*({**line, **QUOTA} for line in one.set("topic", "t1", "x", "1000")))
    rounds.world.check()
    eve = [{**line, "principal": "User:eve"} for line in other.set("topic", "t1", "retention.ms", "1000")]
    mallory = [{**line, "principal": "User:mallory"} for line in one.set("topic", "t1", "retention.ms", "2000")]
    assert "effective_quota" in rounds.run(*eve)
    assert "effective_quota" in rounds.run(*mallory)
    rounds.world.check()
    users = {(row["cluster"], row["user"]) for row in lake.read(EFFECTIVE_QUOTA).collect()}
    assert ("one", "mallory") in users
    assert "other" not in {cluster for cluster, _ in users}


def test_inherited_values_are_computed_again_when_a_broker_changes(spark: SparkSession, tmp_path: Path) -> None:
    rounds = Rounds(spark, tmp_path)
    one, other = rounds.made.values()

    def retention(cluster: str, topic: str) -> str:
        rows = rounds.world.lake.read(EFFECTIVE_CONFIG).where("key = 'retention.ms'")
        (row,) = rows.where(f"cluster = '{cluster}' AND resource_name = '{topic}'").collect()
        return str(row["value"])

    rounds.run(*one.set("topic", "t1", "segment.bytes", "1000"))
    rounds.run(*one.set("topic", "t2", "segment.bytes", "1000"))
    rounds.run(*one.set("broker", "", "log.retention.ms", "77"))
    assert retention("one", "t2") == "77"
    rounds.run(*one.set("topic", "t3", "segment.bytes", "1000"), *other.set("topic", "t3", "segment.bytes", "1000"))
    assert (retention("one", "t3"), retention("other", "t3")) == ("77", "604800000")
    rounds.world.check()
    rounds.run(*other.set("broker", "", "log.retention.ms", "88"), *one.set("topic", "t4", "segment.bytes", "1000"))
    rounds.run(*other.set("topic", "t4", "segment.bytes", "1000"), *one.set("topic", "t5", "segment.bytes", "1000"))
    assert (retention("one", "t5"), retention("other", "t4")) == ("77", "88")
    rounds.world.check()


def test_a_gap_disappears_when_its_lines_arrive(spark: SparkSession, tmp_path: Path) -> None:
    rounds = Rounds(spark, tmp_path)
    one = rounds.made["one"]
    missing = one.set("topic", "t1", "retention.ms", "1000")

    rounds.run(*one.set("topic", "t2", "retention.ms", "1000"))
    assert [row["kind"] for row in rounds.world.lake.read(INTEGRITY).collect()] == ["gap"]
    rounds.run(*missing)
    assert rounds.world.lake.read(INTEGRITY).isEmpty()
    rounds.world.check()


def evaluated_since(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each update of the violations evaluated only the states since the first new line."""
    seen: list[bool] = []
    update = violations._update_few

    def noted(*given: Any) -> None:
        begun: list[list[Row] | None] = []

        def kept(last: Iterable[Row], new: Iterable[Row]) -> list[Row] | None:
            begun.append(begun_as(last, new))
            return begun[-1]

        with monkeypatch.context() as patch:
            patch.setattr(violations, "begun_as", kept)
            update(*given)
        seen.append(begun not in ([], [None]))

    monkeypatch.setattr(violations, "_update_few", noted)
    return seen


@pytest.mark.full
@pytest.mark.parametrize(("seed", "most"), [(0, False), (1, False), (2, True), (3, True)])
def test_violations_updated_with_new_lines_equal_a_full_evaluation(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, most: bool
) -> None:
    if most:
        affect_most(monkeypatch)
    world, made = World(spark, tmp_path), list(journals(3, 25, seed, VALUES))
    (tmp_path / "rules.yaml").write_text(ALL_RULES)
    monkeypatch.setattr(
        Lake, "rows", lambda lake, table, *names: None if table is HISTORY else ROWS(lake, table, *names)
    )
    file = config("broker", "1", "log.retention.ms", "77", "STATIC_BROKER_CONFIG")
    snapshot(tmp_path / "snapshots", 1, [topic("t1", "A"), file])
    world.add(line for each in made for line in each.lines)
    world.run()
    seen = evaluated_since(monkeypatch)

    for _ in range(6):  # a change of a broker would affect its whole cluster
        world.add(line for each in made for line in each.grow(5) if line["resource_type"] != "broker")
        world.run()
        whole = violations.evaluated(world.lake, world.inputs)
        assert shown(world.lake.read(VIOLATIONS)) == shown(fit(whole, VIOLATIONS))

    assert any(seen), "no update evaluated only the new states"
    assert {row["ended"] for row in world.lake.read(VIOLATIONS).collect()} == {None, "mended", "changed", "gone"}


def test_an_open_violation_keeps_its_beginning() -> None:
    begun = dict.fromkeys(VIOLATIONS.names) | {"rule": "a", "resource_name": "t1", "revision": 3, "changes": 2}
    after = begun | {"revision": 9, "changes": 1, "until_revision": 9, "ended": "mended", "open": False}
    new = begun | {"rule": "b", "revision": 9, "changes": 1}

    rows = begun_as([begun], [after | {"continued": True}, new | {"continued": False}])

    assert rows == [after | {"revision": 3, "changes": 3}, new]
    assert begun_as([], [after | {"continued": True}]) is None
    assert begun_as([begun], [new | {"continued": False}]) is None


def affect_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every change as one of most topics."""
    found = affected.affected

    def most(lake: Lake, since: int) -> Part | None:
        part = found(lake, since)
        return None if part is None else replace(part, is_most=bool(part.names))

    monkeypatch.setattr(affected, "affected", most)


@pytest.mark.parametrize(
    ("large", "most"), one_of(((HISTORY,), False), [((HISTORY, *GOLD), False), ((HISTORY,), True)])
)
def test_tables_of_medium_size_are_updated_file_by_file(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: tuple[Table, ...], most: bool
) -> None:
    """Of the history, only open rows and those of added files are read, unless lines came late."""
    if most:
        affect_most(monkeypatch)
    rounds = Rounds(spark, tmp_path)
    lake, (one, other) = rounds.world.lake, rounds.made.values()
    rows, prepare = Lake.rows, gold.Gold.prepare
    recent, single, since = [], [], evaluated_since(monkeypatch)

    def small_rows(self: Lake, table: Table, names: Sequence[str] | None = None) -> pa.Table | None:
        return None if table in large else rows(self, table, names)

    def noted(self: gold.Gold, tables: Collection[Table]) -> None:
        recent.append(self._recent is not None)
        changed = self._changed_keys
        single.append(None if changed is None else sorted(changed.single["resource_name"].to_pylist()))
        prepare(self, tables)

    monkeypatch.setattr(Lake, "rows", small_rows)
    monkeypatch.setattr(gold.Gold, "prepare", noted)
    before = set(lake.read(HISTORY).inputFiles())

    first = [*one.set("topic", "t1", "retention.ms", "1000"), *one.set("topic", "t2", "retention.ms", "1")]
    rounds.run(*first, attempt("other", 1, "User:eve"))
    rounds.run(*one.set("topic", "t1", "retention.ms", "5"), *other.create("new", **{"retention.ms": "1000"}))
    late = one.set("topic", "t3", "retention.ms", "5")
    outside = [{**line, "before": "77"} for line in one.set("topic", "t2", "retention.ms", "1000")]
    rounds.run(*one.set("topic", "t1", "retention.ms", "1000"), *outside)
    rounds.world.check()
    rounds.run(*one.set("topic", "t1", "retention.ms", "5"), *one.set("topic", "t3", "retention.ms", "1000"))
    rounds.world.check()

    assert [each["operationParameters"]["mode"] for each in DeltaTable(lake.path(HISTORY)).history(2)] == ["Append"] * 2
    assert before & set(lake.read(HISTORY).inputFiles()) == {each for each in before if "open=false" in each}
    rounds.run(*late, *one.set("topic", "t3", "retention.ms", "5"))
    rounds.world.check()
    assert recent == [large == (HISTORY,)] * 4 + [False]
    if any(recent):
        assert single == [["t1", "t2"], ["t1"], ["t1", "t2"], ["t1", "t3"], None], "all keys of a new topic"
    assert since[:4] == recent[:4]
    assert not any(since[4:]), "of most topics, late lines do not come to an update of few"
    kinds = {(row["kind"], row["count"]) for row in lake.read(ACTIVITY).where("resource_name = 't1'").collect()}
    assert ("flapping", 2) in kinds
    assert not lake.read(INTEGRITY).where("kind = 'slipped' AND resource_name = 't2'").isEmpty()
    again = shown(lake.read(HISTORY))
    monkeypatch.undo()
    silver.rebuild(lake)
    assert shown(lake.read(HISTORY)) == again
