"""Combines snapshots with changes recorded by clients, for clusters that have both; neither is complete.

A snapshot stores only differences from the previous one. If a change was recorded in between, that is not enough: a key
that someone set back looks unchanged, and a key that was removed before any snapshot was never shown. So a snapshot is
repeated for the keys that were recorded since the previous one.

A snapshot may also be older than a change recorded before it: the record has the time at which the call started, and
brokers' metadata lags. If a snapshot started within `SETTLED` of a change and shows the value that the change replaced,
it is ignored for that key; the next snapshot counts.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kconf.spark.transforms.history import KEY, snapshot_events
from kconf.spark.transforms.snapshots import is_unseen
from kconf.spark.transforms.topics.shapes import meaning, same_shape

SETTLED: Final = 60_000_000
"""Microseconds after which every broker shows a change."""
_SHOWN: Final = ("topic", "broker", "group", "client-metrics", "quota", "scram", "acl")
"""Resource types that snapshots contain; logger levels are not included."""
_TOLD: Final = ("kind", "entity", "value", "source", "sensitive", "gone")


def observation_events(snapshot: DataFrame, journal: DataFrame) -> DataFrame:
    """Snapshots as events, combined with the lines recorded by clients (epoch 0)."""
    lines = journal.where((F.col("epoch") == 0) & F.col("resource_type").isin(*_SHOWN))
    snapshots = _snapshots(snapshot)
    events = snapshot_events(snapshot.unionByName(_repeated(snapshot, lines, snapshots), allowMissingColumns=True))
    return _without_stale(_once(events), lines, snapshots)


def _once(events: DataFrame) -> DataFrame:
    """One event per key and snapshot: the deletion of an older topic ID says nothing about the current topic of that
    name."""
    following = F.lead("line").over(Window.partitionBy(*KEY, "revision").orderBy("line"))
    return events.withColumn("following", following).where("following IS NULL").drop("following")


def _snapshots(snapshot: DataFrame) -> DataFrame:
    return snapshot.where("kind = 'snapshot'").select(
        *("cluster", "taken", "previous", F.array_sort("missing").alias("unseen")),
        (F.col("value").cast("bigint") * 1000).alias("began"),
    )


def _repeated(snapshot: DataFrame, lines: DataFrame, snapshots: DataFrame) -> DataFrame:
    """The state of each recorded key in the first snapshot after the change, and in the first one that settles it."""
    asked = _asked(lines, snapshots).join(snapshots, ["cluster", "taken"]).where("unseen IS NOT NULL")
    asked = asked.where(~is_unseen()).select(*KEY, "taken", "previous", F.col("kind").alias("recorded"))
    facts = snapshot.where("kind <> 'snapshot'").select(*KEY, F.col("taken").alias("shown"), *_TOLD)
    then = F.when(F.col("shown") <= F.col("taken"), F.struct("shown", ~F.col("gone")))
    last = F.max_by(F.struct("shown", *_TOLD), then).alias("last")
    states = asked.join(facts, list(KEY), "left").groupBy(*KEY, "taken", "previous", "recorded").agg(last)
    states = states.where(F.col("last.shown").isNull() | (F.col("last.shown") < F.col("taken")))
    return states.select(
        *KEY,
        "taken",
        "previous",
        F.coalesce("last.kind", "recorded").alias("kind"),
        *(F.col(f"last.{name}").alias(name) for name in ("entity", "value", "source")),
        F.coalesce("last.sensitive", F.lit(False)).alias("sensitive"),
        F.coalesce("last.gone", F.lit(True)).alias("gone"),
    )


def _asked(lines: DataFrame, snapshots: DataFrame) -> DataFrame:
    """The keys of recorded changes with the snapshots (`taken`) to check for them; some could not read them.

    One window in descending order, for each set of unreadable resources: the next snapshot is the last one passed.
    """
    nothing = F.lit(None).cast("timestamp")
    kinds = snapshots.select("cluster", "unseen").where("unseen IS NOT NULL").distinct()
    recorded = lines.join(F.broadcast(kinds), "cluster").select(
        *(*KEY, "kind", "unseen", F.col("revision").alias("place")), nothing.alias("next"), nothing.alias("settling")
    )
    ended = snapshots.select("cluster", "unseen", F.unix_micros("taken").alias("place"), F.col("taken").alias("next"))
    settled = snapshots.select(
        *("cluster", "unseen", (F.col("began") - SETTLED).alias("place"), F.col("taken").alias("settling"))
    )
    rows = recorded.unionByName(ended, allowMissingColumns=True).unionByName(settled, allowMissingColumns=True)
    backwards = Window.partitionBy("cluster", "unseen").orderBy(F.desc("place"), F.col("key").isNotNull())
    so_far = backwards.rowsBetween(Window.unboundedPreceding, 0)
    following = [F.last(name, ignorenulls=True).over(so_far) for name in ("next", "settling")]
    found = rows.select(*KEY, "kind", F.array(*following).alias("following")).where("key IS NOT NULL")
    found = found.select(*KEY, "kind", F.explode("following").alias("taken")).where("taken IS NOT NULL")
    return found.groupBy(*KEY, "taken").agg(F.max("kind").alias("kind"))


def _without_stale(events: DataFrame, lines: DataFrame, snapshots: DataFrame) -> DataFrame:
    """Drop snapshot values that may predate a change recorded shortly before or during the snapshot."""
    times = snapshots.select("cluster", F.col("taken").alias("seen_at"), "began")
    observed = events.join(times, ["cluster", "seen_at"]).alias("snapshot")
    recorded = lines.select(*KEY, F.col("revision").alias("changed"), "before", "sensitive").alias("line")
    same_key = [F.col(f"snapshot.{name}") == F.col(f"line.{name}") for name in KEY]
    recent = (F.col("line.changed") <= F.col("snapshot.revision")) & (
        F.col("line.changed") + SETTLED > F.col("snapshot.began")
    )
    stale = observed.join(recorded, [*same_key, recent, _shows_what_was()], "left_anti")
    return stale.select(*(f"snapshot.{name}" for name in events.columns))


def _shows_what_was() -> Column:
    """Whether a snapshot shows the value that a change replaced."""
    value, before, is_set = F.col("snapshot.value"), F.col("line.before"), F.col("snapshot.is_set")
    same = F.when(F.col("snapshot.kind") == "topic", same_shape(value, before)).otherwise(
        meaning(value) == meaning(before)
    )
    same = F.coalesce(same, F.lit(False)) | F.col("line.sensitive") | F.col("snapshot.sensitive")
    return F.when(before.isNull(), ~is_set).otherwise(is_set & same)
