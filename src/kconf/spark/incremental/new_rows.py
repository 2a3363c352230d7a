"""Summarizes new bronze rows by cluster: what they contain, and how far they go.

A line with a time in the future, by a wrong clock, does not count for how far they go, because all later lines would
then be late. Such lines are listed with their resources (`Ahead`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.lake.schemas import JOURNAL, SNAPSHOT
from kconf.spark.delta_tables import Lake
from kconf.spark.transforms import followed
from kconf.spark.transforms.history import ORDER, RESOURCE, order

Summaries = dict[str, dict[str, Any]]
"""What the new bronze rows of each cluster contain: the `first` and `last` event, the `earliest` and `latest` time, the
last `round`, when a server's journal `began`, whether they include a `snapshot`, a change `recorded` by a client or a
change from a `followed` log, the first and last offset of each epoch and origin of such a log (`begins`), whether there
are lines in the future (`ahead`), and the `count` of lines and facts (0 for a snapshot without differences). `lines`
has the bounds of journal lines only. `looked` is the time of the first snapshot."""
Ahead = dict[str, list[list[Any]]]
"""Per cluster the resources with lines in the future: type, name, the last time and the last position in the order."""

_TOLERANCE: Final = 60_000
"""Milliseconds by which clocks may differ."""


def lines_of(journal: DataFrame, snapshot: DataFrame, soon: int) -> DataFrame:
    """The order, time and kind of bronze rows. `ahead`: the time is in the future, after `soon`."""
    snapshots = snapshot.select(
        "cluster",
        F.lit(0).cast("bigint").alias("epoch"),
        F.unix_micros("taken").alias("revision"),
        F.lit(0).alias("line"),
        F.col("taken").alias("time"),
        "round",
        F.lit(True).alias("snapshot"),
        (F.col("kind") == "snapshot").alias("bare"),
        F.lit(False).alias("followed"),
        F.lit("").alias("origin"),
        F.lit(False).alias("ahead"),
    )
    no = F.lit(False)
    marks = no.alias("snapshot"), no.alias("bare"), followed.is_of_log().alias("followed")
    lines = journal.select("cluster", *ORDER, "time", "round", *marks, "origin", _is_ahead(soon).alias("ahead"))
    return lines.unionByName(snapshots)


def soon_after_now() -> int:
    """Times after this one, in milliseconds, are those of a wrong clock."""
    return int(time.time() * 1000) + _TOLERANCE


def _is_ahead(soon: int) -> Column:
    return F.unix_millis("time") > soon


def summaries_of_few(lake: Lake, since: int, soon: int) -> Summaries | None:
    """The summaries of a few journal lines after a round, without Spark; None: there are more rows."""
    names = ("cluster", *ORDER, "time", "round", "origin", "log_begin")
    facts, lines = lake.fresh(SNAPSHOT, ("round",), since), lake.fresh(JOURNAL, names, since)
    if lines is None or facts is None or facts.num_rows:
        return None
    micros = lines["time"].cast(pa.timestamp("us")).cast(pa.int64())
    ahead = pc.greater(micros, pa.scalar(soon * 1000 + 999, pa.int64()))
    is_last = pc.invert(pc.and_(ahead, pc.equal(lines["epoch"], 0)))
    nothing = pa.scalar(None, pa.int64())
    columns = {
        "micros": micros,
        "followed": followed.are_of_log(lines),
        "ahead": ahead,
        "now": pc.if_else(ahead, nothing, micros),
        **{f"last_{name}": pc.if_else(is_last, lines[name].cast(pa.int64()), nothing) for name in ("revision", "line")},
        **{
            origin: pc.if_else(pc.equal(lines["origin"], origin), lines["revision"], nothing)
            for origin in followed.FOLLOWED
        },
    }
    for name, column in columns.items():
        lines = lines.append_column(name, column)
    of = [(name, "min") for name in ("revision", "line", "micros", *followed.FOLLOWED)]
    of += [(name, "max") for name in ("last_revision", "last_line", "now", "round", *followed.FOLLOWED)]
    rows = lines.group_by(["cluster", "epoch"])
    found = rows.aggregate([*of, ("followed", "any"), ("ahead", "any"), ("line", "count")])
    epochs: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(found.to_pylist(), key=lambda row: int(row["epoch"])):
        bounds = {
            **{f"first_{name}": row[f"{name}_min"] for name in ("revision", "line", *followed.FOLLOWED)},
            **{f"last_{name}": row[f"last_{name}_max"] for name in ("revision", "line")},
            **{f"last_{name}": row[f"{name}_max"] for name in followed.FOLLOWED},
        }
        summary = {
            "epoch": row["epoch"],
            "earliest": row["micros_min"] // 1000,
            "latest": None if row["now_max"] is None else row["now_max"] // 1000,
            "round": row["round_max"],
            "followed": row["followed_any"],
            "ahead": row["ahead_any"],
            "recorded": row["epoch"] == 0,
            "snapshot": False,
            "count": row["line_count"],
        }
        epochs.setdefault(row["cluster"], []).append({**bounds, **summary})
    return {cluster: _together(rows) for cluster, rows in epochs.items()}


def summarized(lines: DataFrame) -> Summaries:
    """Summarize lines by cluster, in one pass.

    Plain minima and maxima need no sort. They give only bounds for the line number: the minimum or maximum within the
    epoch. An event may be considered late because of that; the result is the same.
    """
    rows = lines.groupBy("cluster", "epoch", "snapshot")
    is_last, of_log = ~(F.col("ahead") & (F.col("epoch") == 0)), F.col("origin")
    aggregated = rows.agg(
        *(F.min(name).alias(f"first_{name}") for name in ("revision", "line")),
        *(F.max(F.when(is_last, F.col(name))).alias(f"last_{name}") for name in ("revision", "line")),
        *(F.min(F.when(of_log == each, F.col("revision"))).alias(f"first_{each}") for each in followed.FOLLOWED),
        *(F.max(F.when(of_log == each, F.col("revision"))).alias(f"last_{each}") for each in followed.FOLLOWED),
        F.unix_millis(F.min("time")).alias("earliest"),
        F.unix_millis(F.max(F.when(~F.col("ahead"), F.col("time")))).alias("latest"),
        *(F.max(name).alias(name) for name in ("round", "followed", "ahead")),
        F.max((F.col("epoch") == 0) & ~F.col("snapshot")).alias("recorded"),
        F.count_if(~F.col("bare")).alias("count"),
    )
    epochs: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(aggregated.collect(), key=lambda row: int(row["epoch"])):
        epochs.setdefault(row["cluster"], []).append(row.asDict())
    return {cluster: _together(rows) for cluster, rows in epochs.items()}


def _together(epochs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine the epochs of one cluster."""
    lines = [row for row in epochs if not row["snapshot"]]
    return {
        **_bounds(epochs),
        "lines": _bounds(lines) if lines else None,
        "looked": min((row["earliest"] for row in epochs if row["snapshot"]), default=None),
        "began": min((row["earliest"] for row in epochs if row["epoch"] > 0), default=None),
        **{name: max(row[name] for row in epochs) for name in ("round", "snapshot", "recorded", "followed", "ahead")},
        "begins": [
            [row["epoch"], origin, row[f"first_{origin}"], row[f"last_{origin}"]]
            for row in epochs
            for origin in followed.FOLLOWED
            if row[f"first_{origin}"] is not None
        ],
        "count": sum(row["count"] for row in epochs),
    }


def _bounds(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The first and last position in the order, and the earliest and latest time; lines in the future count only for
    the first ones. A client's lines are ordered by their time."""
    ends = [[row["epoch"], row["last_revision"], row["last_line"]] for row in rows if row["last_revision"] is not None]
    return {
        "first": min([row["epoch"], row["first_revision"], row["first_line"]] for row in rows),
        "last": max(ends, default=[0, 0, 0]),
        "earliest": min(row["earliest"] for row in rows),
        "latest": max((row["latest"] for row in rows if row["latest"] is not None), default=0),
    }


def ahead_of(journal: DataFrame, summaries: Summaries, soon: int) -> Ahead:
    """The resources with lines in the future, with the last time and position."""
    found = sorted(cluster for cluster, row in summaries.items() if row["ahead"])
    if not found:
        return {}
    rows = journal.where(F.col("cluster").isin(found) & _is_ahead(soon)).groupBy(*RESOURCE)
    ahead: Ahead = {}
    for row in rows.agg(F.unix_millis(F.max("time")).alias("then"), F.max(order()).alias("last")).collect():
        ahead.setdefault(row["cluster"], []).append([*row[1:3], row["then"], list(row["last"])])
    return ahead
