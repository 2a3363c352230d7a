"""The table of topics, one row per topic ID of a name, with owners."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.engine.policy.selectors import NamePattern
from kconf.model.resource import INTERNAL_TOPICS
from kconf.spark.inputs import Owners
from kconf.spark.transforms.topics.shapes import partitions_of, replication_of
from kconf.spark.transforms.values import matches_pattern


def topics(history: DataFrame, snapshots: DataFrame, owners: Owners) -> DataFrame:
    """`snapshots` has the time of the last snapshot of each cluster (`cluster`, `previous`)."""
    incarnations = history.where("kind = 'topic'")
    last = F.max_by("value", F.struct("epoch", "revision", "line"))
    shown = F.max(F.greatest("since", F.coalesce("until", "since")))
    rows = incarnations.groupBy("cluster", F.col("resource_name").alias("topic"), "topic_id").agg(
        last.alias("shape"), F.min("since").alias("first_seen"), shown.alias("shown"), F.max("open").alias("exists")
    )
    rows = rows.join(F.broadcast(snapshots), "cluster", "left")
    internal = F.get_json_object("shape", "$.internal").cast("boolean")
    return rows.select(
        *("cluster", "topic", "topic_id", partitions_of("shape").alias("partitions")),
        replication_of("shape").alias("replication"),
        F.coalesce(internal, F.col("topic").isin(*INTERNAL_TOPICS)).alias("internal"),
        owner_of(F.col("topic"), owners).alias("owner"),
        "first_seen",
        F.when(F.col("exists"), F.greatest("shown", "previous")).otherwise(F.col("shown")).alias("last_seen"),
        "exists",
    )


def owner_of(name: Column, owners: Owners) -> Column:
    """The owner by the first matching line. Literal names between two patterns are looked up together."""
    found: list[Column] = []
    plain: dict[str, str] = {}
    for pattern, owner in owners:
        if _is_plain(pattern):
            plain.setdefault(pattern.text, owner)
            continue
        found += [_named(name, plain), F.when(matches_pattern(name, pattern), F.lit(owner))]
        plain = {}
    return F.coalesce(*found, _named(name, plain))


def _named(name: Column, owners: Mapping[str, str]) -> Column:
    if not owners:
        return F.lit(None).cast("string")
    return F.create_map(*(F.lit(each) for pair in owners.items() for each in pair))[name]


def _is_plain(pattern: NamePattern) -> bool:
    return not pattern.is_regex and not set("*?[") & set(pattern.text)
