"""The values that topics, groups and brokers inherit from broker-level configs, at any time in the past.

The history has the changes of dynamic broker configs. Only snapshots show server.properties: before its first snapshot,
a broker's file is assumed to have the same contents as in that snapshot, and `seen` is the time of that snapshot. Each
change that affects inherited values creates a new version of them; version 0 is the state before all changes.

A position in the order is epoch, revision and `step`: 1 for what a snapshot showed after that revision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kconf.spark.transforms.effective import inherited

STATIC: Final = "STATIC_BROKER_CONFIG"
BUILT_IN: Final = "DEFAULT_CONFIG"
_LEVEL: Final = ("cluster", "broker", "rank", "source", "name", "value")
WHO: Final = ("principal", "reason", "origin")


def place(prefix: str = "") -> Column:
    """The position of a change in the order."""
    return F.struct(
        F.col(f"{prefix}epoch").alias("epoch"), F.col(f"{prefix}revision").alias("revision"), F.lit(0).alias("step")
    )


def brokers(history: DataFrame, snapshot: DataFrame) -> DataFrame:
    """All known brokers: whether each exists `now`, when its file was first `seen`, and which broker is `first`.

    Topics inherit from the first broker: the existing one with the lowest ID.
    """
    named = "resource_type = 'broker' AND resource_name <> ''"
    stored = history.where(named).select(
        "cluster", "resource_name", "open", F.lit(None).cast("timestamp").alias("taken")
    )
    last = F.max_by("gone", "taken").alias("gone")
    facts = snapshot.where(named).groupBy("cluster", "resource_name", "key").agg(last, F.min("taken").alias("taken"))
    every = stored.unionByName(facts.withColumn("open", ~F.col("gone")).drop("key", "gone"))
    known = every.groupBy("cluster", F.col("resource_name").alias("broker")).agg(
        F.max("open").alias("now"), F.min("taken").alias("seen")
    )
    rank = F.struct(~F.col("now"), F.col("broker").cast("bigint"))
    return known.join(known.groupBy("cluster").agg(F.min_by("broker", rank).alias("first")), "cluster")


def levels(history: DataFrame, snapshot: DataFrame, brokers: DataFrame, changes: DataFrame) -> DataFrame:
    """The intervals in which a value was set for one broker, for all brokers, or in a file.

    `history` has the intervals of brokers, `changes` those of all resources: see `placed`. `begun` and `done` are
    (position, time, author), or null if the interval is unbounded.
    """
    here = F.col("resource_name") != ""
    done = F.struct(
        place("until_").alias("place"), F.col("until").alias("time"), *(F.col(f"until_{n}").alias(n) for n in WHO)
    )
    set_here = history.where("kind = 'config' AND resource_type = 'broker'").select(
        "cluster",
        F.col("resource_name").alias("broker"),
        F.when(here, 1).otherwise(2).alias("rank"),
        F.when(here, "DYNAMIC_BROKER_CONFIG").otherwise("DYNAMIC_DEFAULT_BROKER_CONFIG").alias("source"),
        F.col("key").alias("name"),
        F.when(~F.col("sensitive"), F.col("value")).alias("value"),
        F.struct(place().alias("place"), F.col("since").alias("time"), *WHO).alias("begun"),
        F.when(~F.col("open"), done).alias("done"),
    )
    return set_here.unionByName(_in_files(snapshot, brokers, changes))


def _in_files(snapshot: DataFrame, brokers: DataFrame, changes: DataFrame) -> DataFrame:
    """Values in server.properties. A dynamic value that overrides one does not mean that it was removed from
    the file."""
    facts = snapshot.where("kind = 'config' AND resource_type = 'broker' AND resource_name <> ''")
    facts = facts.where(F.col("gone") | F.col("source").isin(STATIC, BUILT_IN))
    following = F.lead("taken").over(Window.partitionBy("cluster", "resource_name", "key").orderBy("taken"))
    rows = facts.withColumn("next", following).where((F.col("source") == STATIC) & ~F.col("gone"))
    rows = rows.withColumnRenamed("resource_name", "broker").join(brokers, ["cluster", "broker"])
    rows = rows.withColumn("from", F.when(F.col("taken") != F.col("seen"), F.col("taken")))
    times = rows.select("cluster", F.explode(F.array("from", "next")).alias("time")).where("time IS NOT NULL")
    known = placed(times.distinct(), changes)
    for name, when in (("begun", "from"), ("done", "next")):
        at = known.select("cluster", F.col("time").alias(when), _observed().alias(name))
        rows = rows.join(F.broadcast(at), ["cluster", when], "left")
    return rows.select(
        "cluster", "broker", F.lit(3).alias("rank"), "source", F.col("key").alias("name"), "value", "begun", "done"
    )


def _observed() -> Column:
    nobody = F.lit(None).cast("string")
    return F.struct(
        "place", "time", nobody.alias("principal"), nobody.alias("reason"), F.lit("snapshot").alias("origin")
    )


def placed(times: DataFrame, history: DataFrame) -> DataFrame:
    """The position of snapshots (`cluster`, `time`) in the order: after the last change made by then."""
    changes = history.select("cluster", "since", "until", place().alias("began"), place("until_").alias("ended"))
    before = [F.when(F.col(at) <= F.col("time"), F.col(what)) for at, what in (("since", "began"), ("until", "ended"))]
    last = F.greatest(*(F.max(each) for each in before)).alias("last")
    found = changes.join(F.broadcast(times), "cluster").groupBy("cluster", "time").agg(last)
    found = times.join(F.broadcast(found), ["cluster", "time"], "left")
    alone = F.struct(F.lit(0).cast("bigint").alias("epoch"), F.unix_micros("time").alias("revision"), F.lit(0))
    after = F.struct("last.epoch", "last.revision", F.lit(1).alias("step"))
    by_server = F.col("last.epoch") > 0
    kind = "struct<epoch:bigint,revision:bigint,step:int>"
    return found.select(
        "cluster", "time", F.when(by_server, after.cast(kind)).otherwise(alone.cast(kind)).alias("place")
    )


def versions(levels: DataFrame) -> DataFrame:
    """The times at which inherited values changed, numbered from 1 per cluster, with the author."""
    points = levels.select("cluster", F.explode(F.array("begun", "done")).alias("point")).where("point IS NOT NULL")
    moments = points.groupBy("cluster", "point.place").agg(F.max("point").alias("point"))
    number = F.row_number().over(Window.partitionBy("cluster").orderBy("place"))
    return moments.select("cluster", number.alias("version"), "point.*")


def by_version(
    clusters: DataFrame,
    levels: DataFrame,
    versions: DataFrame,
    brokers: DataFrame,
    keys: DataFrame,
    names: Sequence[str],
) -> DataFrame:
    """The inherited values of each version: (cluster, version, resource_type, seat, seen, inherited_0, …).

    `seat` is the broker for broker resources, otherwise empty; each key has its value and source by its number.
    """
    first = clusters.select("cluster", F.lit(0).alias("version"), F.lit(None).alias("place"))
    moments = first.unionByName(versions.select("cluster", "version", "place"))
    begun, done, at = F.col("begun.place"), F.col("done.place"), F.col("place")
    held = (begun.isNull() | F.coalesce(begun <= at, F.lit(False))) & (done.isNull() | at.isNull() | (at < done))
    then = levels.join(F.broadcast(moments), "cluster").where(held).withColumn("cluster", _named()).select(*_LEVEL)
    everyone = moments.withColumn("cluster", _named())
    there = brokers.join(F.broadcast(moments), "cluster").withColumn("cluster", _named())
    ladders = inherited(everyone, then, there, keys)
    value = F.struct("value", "source").cast("struct<value:string,source:string>")  # both nullable, as in Arrow
    own = [F.when(F.col("key") == name, value) for name in names]
    values = [F.max(each).alias(f"inherited_{number}") for number, each in enumerate(own)]
    by_seat = ladders.groupBy("cluster", "resource_type", "broker").agg(F.count("*"), *values)
    by_seat = by_seat.select(
        F.regexp_extract("cluster", r"(?s)^(.*)\n", 1).alias("cluster"),
        F.substring_index("cluster", "\n", -1).cast("int").alias("version"),
        "resource_type",
        "broker",
        *(f"inherited_{number}" for number, _ in enumerate(names)),
    )
    seat = F.when(F.col("resource_type") == "broker", F.col("broker")).otherwise("").alias("seat")
    seen = brokers.select("cluster", "broker", "seen")
    return by_seat.join(F.broadcast(seen), ["cluster", "broker"], "left").withColumn("seat", seat).drop("broker")


def _named() -> Column:
    """A cluster at one version, treated as a separate cluster."""
    return F.concat("cluster", F.lit("\n"), F.col("version").cast("string"))
