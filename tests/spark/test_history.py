"""Compares the history with a plain Python implementation, for any order, duplicates and batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kconf.lake.schemas import HISTORY, JOURNAL
from kconf.lake.storage.location import LakeError
from kconf.spark import bronze, silver
from kconf.spark.delta_tables import Lake
from kconf.spark.transforms import lines
from kconf.spark.transforms.history import intervals, journal_events
from tests.spark.journals import Journal, journals
from tests.spark.oracle import Line, as_of, comparable, fold, lines_of, state
from tests.support.targets import one_of


def rows(table: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in table.collect()]


def journal_of(spark: SparkSession, directory: Path, given: Iterable[Line]) -> DataFrame:
    write(directory, "journal", given)
    text = spark.read.text(str(directory)).withColumn("file", F.lit("file"))
    return lines.changes(lines.read(text).persist())


def write(directory: Path, name: str, given: Iterable[Line]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.jsonl").write_text("".join(f"{each}\n" for each in lines_of(given)))


@dataclass(frozen=True)
class History:
    """Random journals, each of a separate cluster, and their intervals by one Spark job."""

    journals: list[Journal]
    made: list[dict[str, Any]]

    @property
    def lines(self) -> list[Line]:
        return [line for each in self.journals for line in each.lines]


MORE = [pytest.param(each, marks=pytest.mark.full) for each in ((300, 40, 7), (60, 60, 11))]


@pytest.fixture(scope="module", params=[(40, 50, 7), *MORE], ids=["40 journals", "300 journals", "60 journals"])
def history(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> History:
    found = journals(*request.param)
    lines = [line for each in found for line in each.lines]
    place = tmp_path_factory.mktemp("history")
    return History(found, rows(intervals(journal_events(journal_of(spark, place, lines)))))


def test_the_history_of_random_journals_equals_a_plain_replay(history: History) -> None:
    assert comparable(history.made) == comparable(fold(history.lines))


def test_intervals_of_a_key_never_overlap_and_none_is_missing(history: History) -> None:
    by_key: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in history.made:
        by_key.setdefault(tuple(row[each] for each in ("cluster", "resource_type", "resource_name", "key")), []).append(
            row
        )
    for mine in by_key.values():
        mine.sort(key=lambda row: (row["epoch"], row["revision"], row["line"]))
        assert sum(row["open"] for row in mine) <= 1
        for row, following in itertools.pairwise(mine):
            assert row["since"] <= row["until"] <= following["since"]
    assert len(history.made) == sum(line["after"] is not None for line in history.lines)


def test_the_state_at_a_time_equals_a_replay_up_to_it(history: History) -> None:
    steady = {each.cluster for each in history.journals if not each.skewed}
    lines = [line for line in history.lines if line["cluster"] in steady]
    made = [row for row in history.made if row["cluster"] in steady]
    first = min(row["since"] for row in made)

    for minutes in range(0, 60, 3):
        time = first + timedelta(minutes=minutes)
        assert as_of(made, time) == state(lines, time)


@pytest.mark.parametrize(("batches", "little"), one_of((2, False), [(3, True), (3, False)]))
def test_history_built_in_any_batches_equals_a_plain_replay_and_a_rebuild(
    spark: SparkSession, tmp_path: Path, batches: int, little: bool
) -> None:
    """Files arrive late, twice and out of order."""
    random, lake = Random(3), Lake(str(tmp_path / "lake"), spark, little=little)
    everything = [line for journal in journals(12, 40, seed=3) for line in journal.lines]
    jumbled = sorted(everything, key=lambda line: line["revision"] + random.randrange(12))
    archive = tmp_path / "archive"
    cuts = sorted(random.sample(range(1, len(jumbled)), batches - 1))
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(jumbled)], strict=True)):
        again = random.sample(jumbled[:end], min(end, 20))
        write(archive / "c", f"{number:020}", [*jumbled[start:end], *again])
        bronze.read_archive(lake, str(archive), silver.next_round(lake), bronze.Read())
        silver.update(lake)
        so_far = comparable(rows(lake.read(HISTORY)))
        assert so_far == comparable(fold(jumbled[:end]))

    if batches > 2:
        silver.rebuild(lake)
        assert comparable(rows(lake.read(HISTORY))) == so_far
    assert lake.read(JOURNAL).count() == len(everything)


def test_a_cluster_whose_id_begins_with_an_underscore_is_read_too(lake: Lake, tmp_path: Path) -> None:
    """One of 64 IDs does, and Spark ignores such directories when it lists files."""
    journal = Journal("_Qx9JkVxR0uF3yZb1LmNpw", Random(1))
    archive = tmp_path / "archive"
    write(archive / journal.cluster, "1", journal.create("orders"))

    result = bronze.Read()
    bronze.read_archive(lake, str(archive), silver.next_round(lake), result)
    write(archive / journal.cluster, "2", journal.create("payments"))
    bronze.read_archive(lake, str(archive), silver.next_round(lake), result)

    assert result.journal == 2
    assert {row["resource_name"] for row in lake.read(JOURNAL).collect()} == {"orders", "payments"}


@pytest.mark.parametrize("path", one_of("in memory", ["by Spark"]))
def test_an_update_of_a_key_with_two_open_values_is_refused(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    journal = Journal("c", Random(1))
    write(tmp_path / "archive", "1", journal.create("orders", **{"retention.ms": "1"}))
    bronze.read_archive(lake, str(tmp_path / "archive"), 1, bronze.Read())
    silver.update(lake)
    twice = lake.read(HISTORY).where("key = 'retention.ms'").withColumn("revision", F.col("revision") + 1)
    lake.append(HISTORY, twice)
    before = rows(lake.read(HISTORY))
    journal.revision += 2
    write(tmp_path / "archive", "2", journal.set("topic", "orders", "retention.ms", "2"))
    bronze.read_archive(lake, str(tmp_path / "archive"), 2, bronze.Read())
    if path == "by Spark":
        monkeypatch.setattr(silver, "_merged_in_memory", lambda *_, few: False)

    with pytest.raises(LakeError) as error:
        silver.update(lake)

    assert str(error.value) == (
        "topic:orders of cluster c would have 2 values of retention.ms at once, so the history was not written. Run"
        " `kconf pipeline rebuild` to rebuild it from bronze."
    )
    assert rows(lake.read(HISTORY)) == before
    silver.rebuild(lake)
    (last,) = rows(lake.read(HISTORY).where("open AND key = 'retention.ms'"))
    assert last["value"] == "2"
