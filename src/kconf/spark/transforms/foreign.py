"""Finds changes that no client recorded, in clusters whose clients record changes.

Each change and each snapshot is compared with the state that was known before it.

Only known values can be contradicted: a key is known once a change of it was recorded, a snapshot could have shown it,
or the creation of its topic is known. Values set before recording began are not attributed to anyone.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kconf.spark.transforms.history import KEY, ORDER, topic_incarnations, with_incarnations
from kconf.spark.transforms.snapshots import unseen_words
from kconf.spark.transforms.topics.incarnations import incarnation_of
from kconf.spark.transforms.topics.shapes import meaning, same_shape

_WAS: Final = ("is_set", "value", "sensitive", "incarnation")


def foreign(events: DataFrame, snapshot: DataFrame) -> DataFrame:
    """Values that differ from the known state, found by changes (`slipped`) and by snapshots (`differs`).

    `events` are those of clusters whose changes no server numbers, including snapshots.
    """
    recorded = F.broadcast(_recorded(events))
    placed = with_incarnations(events, topic_incarnations(events)).join(recorded, "cluster")
    # A snapshot is one point in time: its rows are not compared with each other.
    observed = F.col("origin") == "snapshot"
    before = F.struct("epoch", "revision", F.when(observed, -1).otherwise(F.col("line") - 1).alias("line"))
    placed = placed.withColumn("moment", before.cast(placed.schema["own"].dataType.simpleString()))
    placed = placed.withColumns(
        {
            "incarnation": incarnation_of("incarnations", "own"),
            "incarnation_before": incarnation_of("incarnations", "moment"),
        }
    )
    ordered = Window.partitionBy(*KEY).orderBy(*ORDER)
    following = F.lead(F.struct("revision", "origin")).over(ordered)
    same_snapshot = (following["origin"] == "snapshot") & (following["revision"] == F.col("revision"))
    rows = placed.withColumn("replaced", observed & F.coalesce(same_snapshot, F.lit(False))).where("NOT replaced")
    rows = rows.withColumn("was", F.lag(F.struct(*_WAS)).over(ordered)).where("revision >= first")
    rows = rows.join(F.broadcast(_seen(snapshot)), "cluster", "left")
    expected = F.when(_was_set(), F.col("was.value"))
    wrong = rows.where(_is_known() & ~_is_expected())
    found = F.when(observed, F.when(F.col("is_set"), F.col("value"))).otherwise(F.col("before"))
    hidden = F.col("sensitive") | F.coalesce("was.sensitive", F.lit(False))
    return wrong.select(
        *(*KEY, F.when(observed, "differs").otherwise("slipped").alias("kind"), "epoch"),
        *(
            F.when(hidden & each.isNotNull(), "[hidden]").otherwise(each).alias(name)
            for name, each in (("expected", expected), ("found", found))
        ),
        F.col("since").alias("time"),
    )


def _recorded(events: DataFrame) -> DataFrame:
    """When the first change of a cluster was recorded."""
    return events.where("origin <> 'snapshot'").groupBy("cluster").agg(F.min("revision").alias("first"))


def _seen(snapshot: DataFrame) -> DataFrame:
    """Per cluster, what snapshots could not read, and the first snapshot for which that is true."""
    snapshots = snapshot.where("kind = 'snapshot' AND missing IS NOT NULL")
    by_missing = snapshots.groupBy("cluster", F.array_sort("missing").alias("unseen")).agg(
        F.unix_micros(F.min("taken")).alias("taken")
    )
    return by_missing.groupBy("cluster").agg(F.collect_list(F.struct("unseen", "taken")).alias("snapshots"))


def _was_set() -> Column:
    same = (F.col("kind") == "topic") | (F.col("was.incarnation") == F.col("incarnation_before"))
    return F.coalesce(F.col("was.is_set") & same, F.lit(False))


def _is_known() -> Column:
    def could_show(snapshot: Column) -> Column:
        return (snapshot["taken"] < F.col("revision")) & ~F.arrays_overlap(snapshot["unseen"], unseen_words())

    shown = F.coalesce(F.exists("snapshots", could_show), F.lit(False))
    return F.col("was").isNotNull() | (F.col("incarnation_before") > 0) | shown


def _is_expected() -> Column:
    observed = F.col("origin") == "snapshot"
    was_set = _was_set()
    now_set = F.when(observed, F.col("is_set")).otherwise(F.col("before").isNotNull())
    value = F.when(observed, F.col("value")).otherwise(F.col("before"))
    was = F.col("was.value")
    same = F.when(F.col("kind") == "topic", same_shape(was, value)).otherwise(meaning(was) == meaning(value))
    secret = F.col("sensitive") & F.col("was.sensitive")
    same = value.eqNullSafe(was) | F.coalesce(same, F.lit(False)) | F.coalesce(secret, F.lit(False))
    return (~was_set & ~now_set) | (was_set & now_set & same)
