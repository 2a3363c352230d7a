"""The pipeline's history beside DuckDB on the same files in one run, and what a new batch and the gold tables cost.

A journal of so many events over 200,000 keys is made by Spark and written as the pipeline writes it. Then both make the
history of it: Spark by the pipeline's own function into a Delta table, cold (first work of its session) and warm, and
DuckDB by one query over the same Parquet files into Parquet. Both answers must agree. Then come new events, a run
without any, and the gold tables. `python -m bench.pipeline --events 1000000`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bench import machine
from kconf.spark import gold, session, silver
from kconf.spark.inputs import Inputs
from kconf.spark.lake import Lake
from kconf.spark.runner import Sources, run
from kconf.spark.schemas import HISTORY, JOURNAL

KEYS = ("retention.ms", "segment.bytes", "cleanup.policy", "min.insync.replicas", "max.message.bytes")
CLUSTER = "bench-cluster"
_COUNTED = (
    "count(*), count(*) FILTER (WHERE open), sum(CAST(revision AS DECIMAL(38,0))), "
    "sum(CAST(until_revision AS DECIMAL(38,0))), count(*) FILTER (WHERE ended = 'replaced'), count(DISTINCT value)"
)


def events(lake: Lake, first: int, count: int, keys: int, number: int) -> DataFrame:
    """Events in order; every tenth removes its key."""
    rows = lake.spark.range(first, first + count).withColumn("slot", F.pmod(F.xxhash64("id"), F.lit(keys)))
    key = F.element_at(F.array(*map(F.lit, KEYS)), (F.col("slot") % len(KEYS) + 1).cast("int"))
    value = F.pmod(F.xxhash64("id", F.lit(1)), F.lit(1000)).cast("string")
    return rows.select(
        F.lit(CLUSTER).alias("cluster"),
        *(F.lit(1).alias(name) for name in ("epoch", "lines")),
        *(F.col("id").alias(name) for name in ("revision", "sequence", "request_id")),
        F.lit(0).alias("line"),
        F.timestamp_millis(F.lit(1_700_000_000_000) + F.col("id") * 100).alias("time"),
        F.lit("kconf").alias("origin"),
        F.concat(F.lit("User:u"), (F.col("id") % 50).cast("string")).alias("principal"),
        *(F.lit(text).alias(name) for name, text in (("client_id", "admin"), ("host", "127.0.0.1"), ("op", "set"))),
        F.lit("config").alias("kind"),
        F.lit("topic").alias("resource_type"),
        F.concat(F.lit("topic-"), F.floor(F.col("slot") / len(KEYS)).cast("string")).alias("resource_name"),
        key.alias("key"),
        F.when(F.col("id") % 10 != 0, value).alias("after"),
        F.lit(False).alias("sensitive"),
        F.lit(number).alias("round"),
    )


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def append(lake: Lake, first: int, count: int, keys: int, number: int) -> None:
    note = {"marks": {CLUSTER: [1, first + count - 1, 0]}}
    lake.append(JOURNAL, events(lake, first, count, keys, number), note=note)


def duck(files: str, target: Path) -> tuple[float, tuple[Any, ...]]:
    """The same history by DuckDB: one window, one file of Parquet."""
    base = duckdb.connect()
    plain = "cluster kind resource_type resource_name key before sensitive epoch revision line origin op principal"
    names = ", ".join([*plain.split(), "client_id, host, api, request_id, reason", "after AS value", "time AS since"])
    query = f"""
        COPY (
          SELECT {names}, "next".time AS "until", "next".epoch AS until_epoch, "next".revision AS until_revision,
            "next".line AS until_line, "next".principal AS until_principal, "next".reason AS until_reason,
            CASE WHEN "next" IS NULL THEN NULL WHEN "next".after IS NULL THEN 'removed' ELSE 'replaced' END AS ended,
            "next" IS NULL AS open
          FROM (
            SELECT *, lead({{'time': time, 'epoch': epoch, 'revision': revision, 'line': line, 'principal': principal,
              'reason': reason, 'after': after}}) OVER (
                PARTITION BY cluster, resource_type, resource_name, key ORDER BY epoch, revision, line) AS "next"
            FROM read_parquet('{files}')
          ) WHERE after IS NOT NULL
        ) TO '{target}' (FORMAT parquet)"""
    seconds = timed(lambda: base.execute(query))
    counted = base.execute(f"SELECT {_COUNTED} FROM read_parquet('{target}')").fetchone()
    assert counted is not None
    return seconds, tuple(map(int, counted))


def answer(lake: Lake) -> tuple[int, ...]:
    lake.read(HISTORY).createOrReplaceTempView("bench_history")
    return tuple(map(int, lake.spark.sql(f"SELECT {_COUNTED} FROM bench_history").collect()[0]))


def peak(spark: Any) -> float:
    """The most memory that the JVM had, in GB."""
    status = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 / 1024 if found else 0.0


def size(place: Path) -> int:
    return sum(each.stat().st_size for each in place.rglob("*") if each.is_file())


def measure(count: int, keys: int, batches: list[int]) -> None:
    place = Path(tempfile.mkdtemp(prefix="kconf-bench-"))
    spark = session.start("local[2]", log=place / "spark.log")
    try:
        lake = Lake(str(place / "lake"), spark)
        append(lake, 1, count, keys, 1)
        session.stop(spark)  # so that the first history is the first work of its session
        spark = session.start("local[2]", log=place / "spark.log")
        lake = Lake(str(place / "lake"), spark)
        cold, warm = timed(lambda: silver.rebuild(lake)), timed(lambda: silver.rebuild(lake))
        theirs, expected = duck(f"{place}/lake/{JOURNAL.path}/*.parquet", place / "duck.parquet")
        if answer(lake) != expected:
            raise RuntimeError(f"the histories differ: {answer(lake)} and {expected}")
        print(
            f"{count:>12,} events: DuckDB {theirs:.2f} s, cold {cold:.2f} s ({cold / theirs:.1f}×), "
            f"warm {warm:.2f} s ({warm / theirs:.1f}×), answers equal; peak {peak(spark):.1f} GB"
        )
        first = count + 1
        for turn, more in enumerate(batches):
            append(lake, first, more, keys, silver.next_round(lake))
            first += more
            print(
                f"{more:>12,} new events: {timed(lambda: silver.update(lake)):.2f} s"
                + (" (first)" if turn == 0 else "")
            )
        print(
            f"  gold tables: {timed(lambda: gold.write(lake, Inputs(), lambda _: None)):.2f} s, "
            f"again {timed(lambda: gold.write(lake, Inputs(), lambda _: None)):.2f} s; peak {peak(spark):.1f} GB"
        )
        (place / "archive").mkdir()
        sources = Sources([str(place / "archive")])
        run(lake, sources, Inputs(), lambda _: None)
        print(f"  nothing new: {timed(lambda: run(lake, sources, Inputs(), lambda _: None)):.2f} s")
        sizes = {table.name: size(place / "lake" / table.path) for table in (JOURNAL, HISTORY)}
        print("  " + ", ".join(f"{name} {count:,} bytes" for name, count in sizes.items()))
    finally:
        session.stop(spark)
        shutil.rmtree(place, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="The pipeline beside DuckDB.")
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--batches", type=int, nargs="*", default=[1_000, 1_000, 95_000])
    asked = parser.parse_args()
    print(f"{machine.describe()}; load average {os.getloadavg()[0]:.2f}")
    for count in asked.events:
        measure(count, asked.keys, asked.batches)


if __name__ == "__main__":
    main()
