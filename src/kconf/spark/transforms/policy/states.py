"""The state of every resource after each change: the subjects of rules, over the whole past.

The lines of a revision belong together, so there is one state per resource and revision, and one for each change of
inherited values. A state in which the resource does not exist ends the previous one.

Millions of rows pass through here: they are shuffled and sorted once, by a hash first, because Spark compares the first
eight bytes quickly. The windows use plain columns, because they would copy a whole struct per row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kconf.engine.policy.conditions import PARTITIONS
from kconf.engine.policy.rules import Rules
from kconf.spark.transforms import broker_levels
from kconf.spark.transforms.broker_levels import WHO
from kconf.spark.transforms.history import RESOURCE
from kconf.spark.transforms.policy.rules import fields, keys_of_rules
from kconf.spark.transforms.topics.shapes import partitions_of, replication_of
from kconf.spark.transforms.values import normalised

PLACE: Final = ("epoch", "revision", "step")
_UNSET, _WITHOUT_VALUE, _WITH_VALUE = 0, 1, 2
_COUNTS: Final = ("partitions", "replication")


Some = Callable[[DataFrame], DataFrame]
"""Keeps only rows of the requested resources."""


@dataclass(frozen=True)
class Past:
    """The rows that states are made from."""

    own: DataFrame
    """Intervals of the resources to evaluate."""
    of_brokers: DataFrame
    """Intervals of all brokers, from which the resources inherit."""
    clusters: DataFrame
    """The clusters of the resources."""
    changes: DataFrame
    """All intervals of the clusters with snapshots, by which the snapshots get their position in the order."""
    snapshot: DataFrame
    seen: Some | None
    """Selects the brokers to evaluate from those that snapshots show; None: no broker."""

    @cached_property
    def brokers(self) -> DataFrame:
        return _small(broker_levels.brokers(self.of_brokers, self.snapshot))

    @classmethod
    def whole(cls, history: DataFrame, snapshot: DataFrame, some: Some | None = None) -> Past:
        """The whole past of all resources, or of some."""
        clusters = history.select("cluster").union(snapshot.select("cluster")).distinct()
        return cls(
            some(history) if some else history, history, clusters, history, snapshot, some or (lambda rows: rows)
        )


@dataclass(frozen=True)
class Below:
    """The values that resources inherit: `inherited` by version, and the times at which the `versions` began (None:
    there is only one version)."""

    inherited: DataFrame
    versions: DataFrame | None

    @classmethod
    def of(cls, past: Past, keys: DataFrame, rules: Rules) -> Below:
        names, kinds = keys_of_rules(rules), kinds_of_rules(rules)
        brokers = past.brokers
        found = broker_levels.levels(past.of_brokers, past.snapshot, brokers, past.changes)
        levels = _small(_relevant(found, brokers, keys, names, kinds))
        versions, wanted = broker_levels.versions(levels), _wanted(keys, names, kinds)
        inherited = _small(broker_levels.by_version(past.clusters, levels, versions, brokers, wanted, names))
        return cls(inherited, None if versions.isEmpty() else versions)


def states(past: Past, keys: DataFrame, rules: Rules, below: Below | None = None) -> DataFrame:
    """The states of the resources that rules may select."""
    names, kinds = keys_of_rules(rules), kinds_of_rules(rules)
    below = below or Below.of(past, keys, rules)
    own = changes(past.own, _wanted(keys, names, kinds), rules, kinds)
    if "broker" in kinds and past.seen is not None:
        seen = _seen_brokers(past.brokers, past.snapshot, past.changes)
        own = own.unionByName(past.seen(seen), allowMissingColumns=True)
    everything = own.withColumn("own", F.lit(True)).withColumn("version", F.lit(None).cast("int"))
    if below.versions is not None:  # most clusters never change their defaults: skip the search for affected resources
        resources = own.where("NOT (resource_type = 'broker' AND resource_name = '')").select(*RESOURCE).distinct()
        moved = resources.join(F.broadcast(below.versions), "cluster").select("*", "place.*").drop("place")
        moved = moved.withColumns({"line": F.lit(0), "own": F.lit(False)})
        everything = everything.unionByName(moved, allowMissingColumns=True)
    return _with_values(_with_facts(_folded(everything, names), names), F.broadcast(below.inherited), names)


def kinds_of_rules(rules: Rules) -> list[str]:
    """The resource types that rules may select."""
    return sorted({kind.word for rule in rules.rules for kind in rule.types})


def _wanted(keys: DataFrame, names: list[str], kinds: list[str]) -> DataFrame:
    return keys.where(F.col("key").isin(*names) & F.col("resource_type").isin(*kinds))


def _small(rows: DataFrame) -> DataFrame:
    """Computed now, because it is used several times: planning all steps at once would take longer than the steps."""
    return rows.localCheckpoint()


def changes(history: DataFrame, keys: DataFrame, rules: Rules, kinds: list[str]) -> DataFrame:
    """Values set and removed on resources, formatted as by describe; `key` is empty for the topic itself."""
    topic, key = F.col("resource_type") == "topic", F.col("key")
    rows = history.where(F.col("kind").isin("config", "topic") & F.col("resource_type").isin(*kinds))
    if not any(rule.always for rule in rules.rules):
        rows = rows.where(~topic | (key == "") | key.isin(*keys_of_rules(rules)))
    types = keys.select("resource_type", "key", "type", "distinct")
    rows = rows.join(F.broadcast(types), ["resource_type", "key"], "left")
    replaced, done = F.col("ended") == "replaced", F.col("done")
    alone = F.col("open") | (topic & replaced)  # the replacing row has it
    both = F.when(alone, F.array(F.lit(False))).otherwise(F.array(F.lit(False), F.lit(True)))
    rows = rows.select(*(name for name in rows.columns if name != "kind"), F.explode(both).alias("done"))
    text = F.when(F.col("type").isNull(), F.col("value")).otherwise(
        normalised(F.col("value"), F.col("type"), F.col("distinct"))
    )
    shape = ~done & topic & (key == "")
    known = F.when(~done, F.col("not_before").isNotNull()).otherwise(F.lit(False))
    of_change = {name: _either(name) for name in ("epoch", "revision", "line", *WHO)}
    return rows.select(
        *(*RESOURCE, "key", "topic_id"),
        *(column.alias(name) for name, column in of_change.items()),
        F.lit(0).alias("step"),
        F.when(~done, F.lit(True)).when(~replaced, F.lit(False)).alias("is_set"),
        F.when(~done & ~F.col("sensitive"), text).alias("value"),
        F.when(done, F.col("until")).otherwise(F.col("since")).alias("time"),
        ((of_change["origin"] != "snapshot") | known).alias("known"),
        F.when(done, -1).otherwise(1).alias("count"),
        F.when(shape, partitions_of("value")).alias("partitions"),
        F.when(shape, replication_of("value")).alias("replication"),
    )


def _either(name: str) -> Column:
    """The columns for the start or the end of an interval."""
    return F.when(F.col("done"), F.col(f"until_{name}")).otherwise(F.col(name))


def _seen_brokers(brokers: DataFrame, snapshot: DataFrame, history: DataFrame) -> DataFrame:
    """A broker exists from the first snapshot that shows it until the first that does not."""
    facts = snapshot.where("resource_type = 'broker' AND resource_name <> ''")
    last = facts.groupBy("cluster", F.col("resource_name").alias("broker")).agg(F.max("taken").alias("last"))
    rows = brokers.where("seen IS NOT NULL").join(last, ["cluster", "broker"])
    seen = F.struct(F.col("seen").alias("time"), F.lit(True).alias("is_set"), F.lit(1).alias("count"))
    gone = F.struct(F.col("last").alias("time"), F.lit(False).alias("is_set"), F.lit(-1).alias("count"))
    rows = rows.select(
        *("cluster", F.lit("broker").alias("resource_type"), F.col("broker").alias("resource_name")),
        F.lit("").alias("key"),
        F.inline(F.when(F.col("now"), F.array(seen)).otherwise(F.array(seen, gone))),
    )
    places = broker_levels.placed(rows.select("cluster", "time").distinct(), history)
    return (
        rows.join(F.broadcast(places), ["cluster", "time"])
        .select("*", "place.*", F.lit(0).alias("line"), F.lit("snapshot").alias("origin"))
        .drop("place")
    )


def _relevant(levels: DataFrame, brokers: DataFrame, keys: DataFrame, names: list[str], kinds: list[str]) -> DataFrame:
    """The sources from which values used by rules may come."""
    rungs = _wanted(keys, names, kinds).select(F.explode("rungs.name").alias("name")).distinct()
    found = levels.join(F.broadcast(rungs), "name", "left_semi")
    if "broker" in kinds:
        return found
    first = brokers.where("broker = first").select("cluster", "broker")
    alone = found.where("broker <> ''").join(F.broadcast(first), ["cluster", "broker"], "left_semi")
    return found.where("broker = ''").unionByName(alone)


def _folded(events: DataFrame, names: list[str]) -> DataFrame:
    """The last value of every key after each revision; `at` distinguishes the positions of a resource.

    At the same position, inherited values come first, so the last row belongs to the resource itself, if any does.
    """
    is_own_change, key = F.col("own") & F.col("is_set").isNotNull(), F.col("key")
    said = F.when(~F.col("is_set"), _UNSET).when(F.col("value").isNull(), _WITHOUT_VALUE).otherwise(_WITH_VALUE)
    rows = events.select(
        F.xxhash64(*RESOURCE).alias("spot"),
        F.xxhash64(*PLACE).alias("at"),
        *(*RESOURCE, *PLACE, "own", "line", "time", *WHO, "known", "version", "value"),
        F.when(is_own_change, key).alias("key"),
        F.when(is_own_change, said).alias("said"),
        *(
            F.when(is_own_change & (key == ""), F.col(name)).alias(name)
            for name in ("topic_id", "partitions", "replication")
        ),
        F.when(F.col("own"), F.col("count")).alias("count"),
    )
    ordered = Window.partitionBy("spot", *RESOURCE).orderBy(*PLACE, "own", "line")
    so_far = ordered.rowsBetween(Window.unboundedPreceding, 0)

    def last(name: str, what: Column) -> Column:
        return F.last(F.when(key == name, what), ignorenulls=True).over(so_far)

    return rows.select(
        *("spot", "at", *RESOURCE, *PLACE, "own", *WHO, "known"),
        F.max("time").over(so_far).alias("time"),
        last("", F.col("said")).alias("shaped"),
        last("", F.col("at")).alias("shaped_at"),
        last("", F.coalesce("topic_id", F.lit(""))).alias("topic_id"),
        *(last("", F.coalesce(name, F.lit(-1))).alias(name) for name in ("partitions", "replication")),
        *(last(name, F.col("said")).alias(f"said_{number}") for number, name in enumerate(names)),
        *(last(name, F.col("at")).alias(f"at_{number}") for number, name in enumerate(names)),
        *(last(name, F.col("value")).alias(f"value_{number}") for number, name in enumerate(names)),
        F.sum("count").over(so_far).alias("count"),
        F.last("version", ignorenulls=True).over(so_far).alias("version"),
        F.lead("at").over(ordered).alias("following"),
    ).where("NOT following <=> at")


def _with_facts(rows: DataFrame, names: list[str]) -> DataFrame:
    """The properties of a state and its change that rules need, apart from values."""
    topic = F.col("resource_type") == "topic"
    is_shaped = F.coalesce(F.col("shaped") != _UNSET, F.lit(False))
    there = F.when(topic, reduce(or_, (_is_set(number) for number, _ in enumerate(names)), is_shaped))
    return rows.withColumns(
        {
            "version": F.coalesce("version", F.lit(0)),
            "exists": there.otherwise(F.col("count") > 0),
            "topic_id": F.when(is_shaped & (F.col("topic_id") != ""), F.col("topic_id")),
            "altered": F.col("own") & F.coalesce("known", F.lit(False)),
            "reshaped": topic & F.coalesce(F.col("shaped_at") == F.col("at"), F.lit(False)),
            **{each: F.when(topic & is_shaped & (F.col(each) >= 0), F.col(each)) for each in _COUNTS},
        }
    )


def _is_set(number: int) -> Column:
    return F.coalesce(F.col(f"said_{number}") != _UNSET, F.lit(False))


def _with_values(rows: DataFrame, inherited: DataFrame, names: list[str]) -> DataFrame:
    """Add the effective values: overrides or inherited values."""
    broker, name = F.col("resource_type") == "broker", F.col("resource_name")
    rows = rows.withColumn("seat", F.when(broker, name).otherwise(""))
    rows = rows.join(inherited, ["cluster", "version", "resource_type", "seat"], "left")
    unseen = F.col("seen").isNull() | (F.col("time") < F.col("seen"))
    values, overrides, touched, assumed = [], [], [], []
    for number, key in enumerate(names):
        is_set, below = _is_set(number), F.col(f"inherited_{number}")
        here = is_set & ~(broker & (name != ""))
        own = F.when(F.col(f"said_{number}") == _WITH_VALUE, F.col(f"value_{number}"))
        values.append(F.when(here, own).otherwise(below["value"]).alias(key))
        overrides.append(is_set.alias(key))
        at_once = F.coalesce(F.col(f"at_{number}") == F.col("at"), F.lit(False))
        touched.append((F.col("altered") & at_once).alias(key))
        weak = F.coalesce(below["source"].isin(broker_levels.STATIC, broker_levels.BUILT_IN), F.lit(False))
        assumed.append((unseen & ~here & weak).alias(key))
    touched.append((F.col("altered") & F.col("reshaped")).alias(PARTITIONS.name))
    return rows.select(
        *("spot", *RESOURCE, *PLACE, "time", *WHO, "exists", "topic_id", "own", "altered", "reshaped", *_COUNTS),
        *(fields(each).alias(word) for each, word in ((values, "values"), (overrides, "overrides"))),
        *(fields(each).alias(word) for each, word in ((touched, "touched"), (assumed, "assumed"))),
    )
