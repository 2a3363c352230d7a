"""Topics, one row per id that bore a name, with their owners."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.engine.policy.selectors import NamePattern
from kconf.model.resource import INTERNAL_TOPICS
from kconf.spark.inputs import Owners
from kconf.spark.transforms.history import partitions_of
from kconf.spark.transforms.values import matches_pattern


def topics(history: DataFrame, looks: DataFrame, owners: Owners) -> DataFrame:
    """`looks` has the time of the last look at each cluster (`cluster`, `previous`)."""
    lives = history.where("kind = 'topic'")
    last = F.max_by("value", F.struct("epoch", "revision", "line"))
    shown = F.max(F.greatest("since", F.coalesce("until", "since")))
    rows = lives.groupBy("cluster", F.col("resource_name").alias("topic"), "topic_id").agg(
        last.alias("shape"), F.min("since").alias("first_seen"), shown.alias("shown"), F.max("open").alias("exists")
    )
    rows = rows.join(F.broadcast(looks), "cluster", "left")
    replicas = F.json_array_length(F.get_json_object("shape", "$.replicas[0]"))
    internal = F.get_json_object("shape", "$.internal").cast("boolean")
    return rows.select(
        *("cluster", "topic", "topic_id", partitions_of("shape").alias("partitions")),
        F.coalesce(F.get_json_object("shape", "$.replication").cast("int"), replicas).alias("replication"),
        F.coalesce(internal, F.col("topic").isin(*INTERNAL_TOPICS)).alias("internal"),
        owner_of(F.col("topic"), owners).alias("owner"),
        "first_seen",
        F.when(F.col("exists"), F.greatest("shown", "previous")).otherwise(F.col("shown")).alias("last_seen"),
        "exists",
    )


def owner_of(name: Column, owners: Owners) -> Column:
    exact = {pattern.text: owner for pattern, owner in reversed(owners) if _is_plain(pattern)}
    found = F.lit(None).cast("string")
    if exact:
        found = F.create_map(*(F.lit(each) for pair in exact.items() for each in pair))[name]
    others = [
        F.when(matches_pattern(name, pattern), F.lit(owner)) for pattern, owner in owners if not _is_plain(pattern)
    ]
    return F.coalesce(found, *others)


def _is_plain(pattern: NamePattern) -> bool:
    return not pattern.is_regex and not set("*?[") & set(pattern.text)
