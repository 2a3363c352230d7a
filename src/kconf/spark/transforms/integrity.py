"""Inconsistencies: gaps in the journal, and changes made outside kconf."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from kconf.spark.transforms.followed import FOLLOWED, runs
from kconf.spark.transforms.values import normalised

_KEY: Final = ("cluster", "resource_type", "resource_name", "key")
_OWN: Final = (
    *("DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
    *("DYNAMIC_GROUP_CONFIG", "DYNAMIC_CLIENT_METRICS_CONFIG"),
)


_NUMBERED: Final = ("kconf", "outside")
"""Origins with consecutive revisions of a server. Lines of a metadata log have its offsets instead."""


def _numbered(journal: DataFrame) -> DataFrame:
    return journal.where("epoch > 0").where(F.col("origin").isin(*_NUMBERED))


def counted(journal: DataFrame) -> DataFrame:
    """For each epoch of a server: how many revisions and lines there are, and how many there should be."""
    head = F.col("line") == 0
    return (
        _numbered(journal)
        .groupBy("cluster", "epoch")
        .agg(
            F.count_if(head).alias("revisions"),
            F.max("sequence").alias("should_be"),
            F.count("*").alias("lines"),
            F.sum(F.when(head, F.col("lines"))).alias("should_have"),
        )
    )


def holes(journal: DataFrame) -> DataFrame:
    """Missing sequence numbers, and incomplete revisions. Changes without server numbering have neither.

    Every epoch starts with 1, so missing first revisions are found too. Each epoch is counted first, which is fast;
    only those with a wrong count are examined line by line.
    """
    numbered = _numbered(journal)
    doubtful = counted(journal).where("revisions <> should_be OR lines <> should_have").select("cluster", "epoch")
    revisions = (
        numbered.join(F.broadcast(doubtful), ["cluster", "epoch"], "left_semi")
        .groupBy("cluster", "epoch", "sequence")
        .agg(F.count("*").alias("there"), F.max("lines").alias("should_have"), F.max("time").alias("time"))
    )
    ordered = Window.partitionBy("cluster", "epoch").orderBy("sequence")
    last, when = F.coalesce(F.lag("sequence").over(ordered), F.lit(0)), F.lag("time").over(ordered)
    gaps = revisions.withColumns({"last": last, "when": when}).where("sequence > last + 1")
    gaps = gaps.select(
        *("cluster", F.lit("gap").alias("kind"), "epoch", (F.col("last") + 1).alias("first_sequence")),
        *((F.col("sequence") - 1).alias("last_sequence"), F.coalesce("when", "time").alias("time")),
    )
    incomplete = revisions.where("there <> should_have").select(
        *("cluster", F.lit("incomplete").alias("kind"), "epoch", F.col("sequence").alias("first_sequence")),
        *(F.col("sequence").alias("last_sequence"), F.col("should_have").cast("string").alias("expected")),
        *(F.col("there").cast("string").alias("found"), "time"),
    )
    return gaps.unionByName(incomplete, allowMissingColumns=True)


COUNTED: Final = ("cluster", "epoch", "sequence", "line", "lines", "origin")
"""The columns that `JournalCounts` needs of new lines."""


@dataclass(frozen=True)
class JournalCounts:
    """The result of `counted` for all lines up to a round. New lines can be added, because no line is stored twice."""

    round: int
    epochs: Mapping[tuple[str, int], tuple[int, int, int, int]] = field(default_factory=dict)

    def plus_rows(self, rows: Iterable[Row]) -> JournalCounts:
        """With rows of `counted`."""
        found = {(row["cluster"], row["epoch"]): _figures(row) for row in rows}
        return JournalCounts(self.round, {**self.epochs, **found})

    def plus(self, lines: pa.Table, number: int) -> JournalCounts:
        """With new lines in memory, up to round `number`."""
        is_numbered = pc.and_(pc.greater(lines["epoch"], 0), pc.is_in(lines["origin"], value_set=pa.array(_NUMBERED)))
        numbered, epochs = lines.filter(is_numbered), dict(self.epochs)
        is_head = pc.equal(numbered["line"], 0)
        columns = {"head": is_head.cast(pa.int64()), "whole": pc.if_else(is_head, numbered["lines"], 0)}
        for name, column in columns.items():
            numbered = numbered.append_column(name, column)
        figures = [("head", "sum"), ("sequence", "max"), ("line", "count"), ("whole", "sum")]
        for row in numbered.group_by(["cluster", "epoch"]).aggregate(figures).to_pylist():
            place = row["cluster"], row["epoch"]
            revisions, should_be, count, should_have = epochs.get(place, (0, 0, 0, 0))
            epochs[place] = (
                revisions + row["head_sum"],
                max(should_be, row["sequence_max"]),
                count + row["line_count"],
                should_have + (row["whole_sum"] or 0),
            )
        return JournalCounts(number, epochs)

    def are_complete(self, clusters: Collection[str]) -> bool:
        """Whether nothing is missing in these clusters."""
        found = (figures for (cluster, _), figures in self.epochs.items() if cluster in clusters)
        return all(
            revisions == should_be and count == should_have for revisions, should_be, count, should_have in found
        )


def _figures(row: Row) -> tuple[int, int, int, int]:
    return row["revisions"], row["should_be"], row["lines"], row["should_have"] or 0


def log_gaps(ranges: DataFrame, lines: DataFrame) -> DataFrame:
    """The offsets of followed logs that no file covers, after the first covered one.

    If the log was deleted before it was read, a file has at least the differences after the gap (`difference`).
    """
    ends = ranges.where("gap").groupBy("cluster").agg(F.max("end_offset").alias("begin"))
    parts = runs(ranges).unionByName(ends.withColumn("end", F.col("begin")))  # up to the end of the last marked gap
    ordered = Window.partitionBy("cluster").orderBy("begin", F.desc("end"))
    before = F.coalesce(F.max("end").over(ordered.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0))
    holes = parts.withColumn("last", before).where("begin > last").select("cluster", "last", "begin").alias("h")
    marked = ranges.where("gap").select("cluster", "first_offset", "end_offset").alias("m")
    inside = [F.col("m.cluster") == F.col("h.cluster"), F.col("m.first_offset") <= F.col("h.last")]
    inside.append(F.col("m.end_offset") >= F.col("h.begin"))
    known = holes.join(F.broadcast(marked), inside, "left")
    known = known.groupBy("h.cluster", "h.last", "h.begin").agg(F.max("m.end_offset").isNotNull().alias("is_known"))
    followed = lines.where(F.col("origin").isin(*FOLLOWED)).select("cluster", "revision", "epoch", "time").alias("l")
    after = [F.col("l.cluster") == F.col("k.cluster"), F.col("l.revision") >= F.col("k.begin") - 1]
    rows = known.alias("k").join(followed, after, "left").groupBy("k.cluster", "k.last", "k.begin", "is_known")
    first = F.min(F.struct("l.revision", "l.epoch", "l.time")).alias("first")
    return rows.agg(first).select(
        *("cluster", F.lit("gap").alias("kind"), F.col("first.epoch").alias("epoch")),
        *(F.col("last").alias("first_sequence"), (F.col("begin") - 1).alias("last_sequence")),
        *(F.when(F.col("is_known"), "difference").alias("found"), F.col("first.time").alias("time")),
    )


def contradicted(requests: DataFrame) -> DataFrame:
    """Changes that a client recorded as committed, but that the log does not have at that time."""
    after = F.when(F.col("sensitive") & F.col("after").isNotNull(), "[hidden]").otherwise(F.col("after"))
    return requests.select(F.lit("contradicted").alias("kind"), *_KEY, after.alias("expected"), "time")


def slipped(history: DataFrame) -> DataFrame:
    """Changes that found a value other than the one left by the previous change."""
    return history.where("slipped").select(
        *(F.lit("slipped").alias("kind"), *_KEY, F.col("until_epoch").alias("epoch")),
        *(F.col("value").alias("expected"), "found", F.col("until").alias("time")),
    )


def differences(history: DataFrame, observed: DataFrame, snapshots: DataFrame, keys: DataFrame) -> DataFrame:
    """Differences between a snapshot and the journal at that time.

    `snapshots` are the clusters to compare: (cluster, began, taken). Changes made during the snapshot are excluded:
    whether it shows them is unknown.
    """
    at = history.where("kind = 'config' AND resource_type NOT IN ('broker-logger', 'acl')").join(
        F.broadcast(snapshots), "cluster"
    )
    moved = F.col("since").between(F.col("began"), F.col("taken")) | F.col("until").between(
        F.col("began"), F.col("taken")
    )
    at = at.where((F.col("since") <= F.col("taken")) & (F.col("until").isNull() | (F.col("until") >= F.col("began"))))
    recorded = at.select(*_KEY, "value", "sensitive", F.coalesce(moved, F.lit(False)).alias("moved"))
    types = F.broadcast(keys.select("resource_type", "key", "type", "distinct"))
    recorded = recorded.join(types, ["resource_type", "key"], "left")
    text = F.when(F.col("type").isNull(), F.col("value")).otherwise(
        normalised(F.col("value"), F.col("type"), F.col("distinct"))
    )
    recorded = recorded.withColumn("value", F.when(~F.col("sensitive"), text))
    own = (F.col("kind") == "config") & F.col("source").isin(*_OWN) | F.col("kind").isin("quota", "scram")
    everywhere = (F.col("source") == "DYNAMIC_DEFAULT_BROKER_CONFIG") & (F.col("resource_name") != "")
    seen = observed.where(own & ~F.coalesce(everywhere, F.lit(False))).join(
        F.broadcast(snapshots), "cluster", "left_semi"
    )
    seen = seen.select(*_KEY, F.when(~F.col("sensitive"), F.col("value")).alias("value"), "sensitive")
    same = [F.col(f"j.{name}") == F.col(f"s.{name}") for name in _KEY]
    both = recorded.alias("j").join(seen.alias("s"), same, "full")
    values = F.col("j.value").eqNullSafe(F.col("s.value")) | (F.col("j.sensitive") & F.col("s.sensitive"))
    there = F.col("j.cluster").isNotNull() & F.col("s.cluster").isNotNull()
    wrong = both.where(~F.coalesce(F.col("j.moved"), F.lit(False)) & ~(there & values))
    shown = [F.when(F.col(f"{side}.sensitive"), "[hidden]").otherwise(F.col(f"{side}.value")) for side in ("j", "s")]
    rows = wrong.select(
        *(F.coalesce(f"j.{name}", f"s.{name}").alias(name) for name in _KEY),
        *(shown[0].alias("expected"), shown[1].alias("found")),
    )
    return rows.join(F.broadcast(snapshots.select("cluster", F.col("taken").alias("time"))), "cluster").withColumn(
        "kind", F.lit("differs")
    )
