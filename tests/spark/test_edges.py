"""Transformations of incomplete data: a trimmed journal, file values hidden by an override, no owner.

Also the list of read files in another time zone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kconf.engine.policy.selectors import NamePattern
from kconf.lake.schemas import HISTORY, JOURNAL, SNAPSHOT, Table
from kconf.spark import files
from kconf.spark.delta_tables import SMALL, Lake, local
from kconf.spark.transforms import effective, integrity
from kconf.spark.transforms.topics.table import owner_of


def rows_of(spark: SparkSession, table: Table, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    return local(spark, rows, table.ddl)


def test_an_epoch_whose_first_revisions_are_missing_has_a_gap(spark: SparkSession) -> None:
    def line(epoch: int, sequence: int, origin: str = "kconf") -> dict[str, Any]:
        place = {"epoch": epoch, "revision": sequence, "sequence": sequence, "line": 0, "lines": 1}
        return {"cluster": "c", "time": "2026-11-01T00:00:00Z", "origin": origin, **place}

    numbers = [(1, 1), (1, 2), (2, 3), (2, 4), (2, 7)]
    journal = rows_of(spark, JOURNAL, [*(line(*each) for each in numbers), line(9, 40, "log"), line(9, 44, "log")])

    found = [(row["epoch"], row["first_sequence"], row["last_sequence"]) for row in integrity.holes(journal).collect()]

    assert sorted(found) == [(2, 1, 2), (2, 5, 6)]


def test_the_first_matching_line_of_the_owners_file_counts(spark: SparkSession) -> None:
    owners = [("orders.old", "old"), ("orders*", "shop"), ("orders.eu", "europe"), ("*", "nobody"), ("x", "late")]
    names = local(spark, [{"name": each} for each in ("orders.old", "orders.eu", "payments", "x")], "name string")
    owner = owner_of(F.col("name"), [(NamePattern(text), each) for text, each in owners])

    found = {row["name"]: row["owner"] for row in names.select("name", owner.alias("owner")).collect()}

    assert found == {"orders.old": "old", "orders.eu": "shop", "payments": "nobody", "x": "nobody"}


def test_a_file_value_stays_known_while_a_dynamic_value_overrides_it(spark: SparkSession) -> None:
    def fact(broker: str, value: str, source: str, hour: int, *, gone: bool = False) -> dict[str, Any]:
        named = {"cluster": "c", "kind": "config", "resource_type": "broker", "resource_name": broker}
        told = {"key": "log.segment.bytes", "value": value, "source": source, "sensitive": False, "gone": gone}
        return {**named, **told, "taken": f"2026-11-01T0{hour}:00:00Z"}

    facts = [
        *(fact("1", "1", "STATIC_BROKER_CONFIG", 1), fact("1", "5", "DYNAMIC_DEFAULT_BROKER_CONFIG", 2)),
        *(fact("2", "1", "STATIC_BROKER_CONFIG", 1), fact("2", "7", "DEFAULT_CONFIG", 2)),
        *(fact("3", "1", "STATIC_BROKER_CONFIG", 1), fact("3", "1", "STATIC_BROKER_CONFIG", 2, gone=True)),
    ]

    found = effective.levels(rows_of(spark, HISTORY, []), rows_of(spark, SNAPSHOT, facts)).collect()

    assert [(row["broker"], row["rank"], row["source"], row["value"]) for row in found] == [
        ("1", 3, "STATIC_BROKER_CONFIG", "1")
    ]


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_tokyo")
@pytest.mark.parametrize("small", [SMALL, 0], ids=["deltalake", "spark"])
def test_a_file_that_was_read_is_recognized_in_every_time_zone(spark: SparkSession, tmp_path: Path, small: int) -> None:
    lake, file = Lake(str(tmp_path), spark, small=small), files.Listed("/archive/1.jsonl", 7, 1_700_000_000_123)

    files.record(lake, "archive", [file], {}, 1)

    assert files.is_known(lake, "archive", file)
    assert not files.is_known(lake, "archive", files.Listed(file.path, 7, file.modified + 1))
