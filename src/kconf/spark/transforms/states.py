"""What every resource was after each change: the subjects of rules, over all of the past.

The lines of one revision hold together, so there is one state per resource and revision, and one wherever what it
inherits becomes another. `next` is what ended the state: null for what holds now.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kconf.engine.policy_rules import PARTITIONS, Rules
from kconf.spark.transforms import levels as ladder
from kconf.spark.transforms.history import RESOURCE, partitions_of
from kconf.spark.transforms.rules import keys_of_rules
from kconf.spark.transforms.values import normalised

_WHO: Final = ("principal", "reason", "origin")
_ORDER: Final = ("place", "line")
_CHANGE: Final = (
    "array<struct<place:struct<epoch:bigint,revision:bigint,step:int>,line:int,is_set:boolean,value:string,"
    "time:timestamp,principal:string,reason:string,origin:string,not_before:timestamp,count:int>>"
)


def states(history: DataFrame, snapshot: DataFrame, keys: DataFrame, rules: Rules) -> DataFrame:
    """The states of all resources that rules may be about."""
    names = keys_of_rules(rules)
    kinds = sorted({kind.word for rule in rules.rules for kind in rule.types})
    brokers = _small(ladder.brokers(history, snapshot))
    levels = _small(_relevant(ladder.levels(history, snapshot, brokers), brokers, keys, names, kinds))
    versions = ladder.versions(levels)
    wanted = keys.where(F.col("key").isin(*names) & F.col("resource_type").isin(*kinds))
    clusters = history.select("cluster").union(snapshot.select("cluster")).distinct()
    inherited = _small(ladder.by_version(clusters, levels, versions, brokers, wanted))

    own = changes(history, wanted, rules, kinds)
    if "broker" in kinds:
        own = own.unionByName(_seen_brokers(brokers, snapshot, history), allowMissingColumns=True)
    everything = own.withColumn("own", F.lit(True)).withColumn("version", F.lit(None).cast("int"))
    if not versions.isEmpty():  # most clusters never change their defaults: no need to look for whom it concerns
        resources = own.where("NOT (resource_type = 'broker' AND resource_name = '')").select(*RESOURCE).distinct()
        moved = resources.join(F.broadcast(versions), "cluster").withColumn("line", F.lit(0))
        everything = everything.unionByName(moved, allowMissingColumns=True)
    return _with_values(_told(_folded(everything, names), names), F.broadcast(inherited), names)


def _small(rows: DataFrame) -> DataFrame:
    """Made now, since several need it: the plan of all these steps together would take longer than the steps."""
    return rows.localCheckpoint()


def changes(history: DataFrame, keys: DataFrame, rules: Rules, kinds: list[str]) -> DataFrame:
    """What was set, and what ended, at resources: values as a describe prints them, `key` empty for a topic itself."""
    topic, key = F.col("resource_type") == "topic", F.col("key")
    rows = history.where(F.col("kind").isin("config", "topic") & F.col("resource_type").isin(*kinds))
    if not any(rule.always for rule in rules.rules):
        rows = rows.where(~topic | (key == "") | key.isin(*keys_of_rules(rules)))
    types = keys.select("resource_type", "key", "type", "distinct")
    rows = rows.join(F.broadcast(types), ["resource_type", "key"], "left")
    text = F.when(F.col("type").isNull(), F.col("value")).otherwise(
        normalised(F.col("value"), F.col("type"), F.col("distinct"))
    )
    text = F.when(~F.col("sensitive"), text)
    begun = F.struct(
        ladder.place(), "line", F.lit(True), text, "since", *_WHO, F.col("not_before"), F.lit(1).alias("count")
    )
    replaced = F.col("ended") == "replaced"
    done = F.struct(
        ladder.place("until_"),
        "until_line",
        F.when(~replaced, F.lit(False)),
        F.lit(None).cast("string"),
        "until",
        *(f"until_{name}" for name in _WHO),
        F.lit(None).cast("timestamp"),
        F.lit(-1),
    )
    both = F.when(F.col("open") | (topic & replaced), F.array(begun).cast(_CHANGE))
    both = both.otherwise(F.concat(F.array(begun).cast(_CHANGE), F.array(done).cast(_CHANGE)))
    return rows.select(*RESOURCE, "key", "topic_id", F.inline(both))


def _seen_brokers(brokers: DataFrame, snapshot: DataFrame, history: DataFrame) -> DataFrame:
    """A broker is there from the first look that shows it to the one that does not."""
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
    places = ladder.placed(rows.select("cluster", "time").distinct(), history)
    return rows.join(F.broadcast(places), ["cluster", "time"]).select(
        "*", F.lit(0).alias("line"), F.lit("snapshot").alias("origin")
    )


def _relevant(levels: DataFrame, brokers: DataFrame, keys: DataFrame, names: list[str], kinds: list[str]) -> DataFrame:
    """The levels that what rules look at may come from."""
    wanted = keys.where(F.col("key").isin(*names) & F.col("resource_type").isin(*kinds))
    rungs = wanted.select(F.explode("rungs.name").alias("name")).distinct()
    found = levels.join(F.broadcast(rungs), "name", "left_semi")
    if "broker" in kinds:
        return found
    first = brokers.where("broker = first").select("cluster", "broker")
    alone = found.where("broker <> ''").join(F.broadcast(first), ["cluster", "broker"], "left_semi")
    return found.where("broker = ''").unionByName(alone)


def _folded(events: DataFrame, names: list[str]) -> DataFrame:
    """The last word on everything after each revision."""
    ordered = Window.partitionBy(*RESOURCE).orderBy(*_ORDER)
    so_far = ordered.rowsBetween(Window.unboundedPreceding, 0)
    own, key = F.coalesce("own", F.lit(False)), F.col("key")
    said = F.struct("is_set", "value", "place")

    def last(condition: Column, what: Column) -> Column:
        return F.last(F.when(condition, what), ignorenulls=True).over(so_far)

    told = own & F.col("is_set").isNotNull()
    rows = events.select(
        *RESOURCE,
        "place",
        F.max("time").over(so_far).alias("time"),
        last(own, F.struct(*_WHO, "not_before", "place")).alias("changed"),
        F.struct(*_WHO).alias("moved"),
        last(told & (key == ""), F.struct("is_set", "value", "place", "topic_id")).alias("shape"),
        *(last(told & (key == name), said).alias(f"own_{number}") for number, name in enumerate(names)),
        F.sum(F.when(own, F.col("count"))).over(so_far).alias("count"),
        F.last("version", ignorenulls=True).over(so_far).alias("version"),
        F.lead("place").over(ordered).alias("following"),
    )
    return rows.where(~F.col("following").eqNullSafe(F.col("place"))).drop("following")


def _told(rows: DataFrame, names: list[str]) -> DataFrame:
    """What rules want to know of a state and of the change that made it, beside the values."""
    at = F.col("place")
    topic = F.col("resource_type") == "topic"
    own = [F.coalesce(F.col(f"own_{number}.is_set"), F.lit(False)) for number, _ in enumerate(names)]
    has_shape = F.coalesce("shape.is_set", F.lit(False))
    there = F.when(topic, reduce(or_, own, has_shape)).otherwise(F.col("count") > 0)
    altered = F.coalesce(F.col("changed.place") == at, F.lit(False))
    known = (F.col("changed.origin") != "snapshot") | F.col("changed.not_before").isNotNull()
    rows = rows.select(
        *(*RESOURCE, "place", "time", F.coalesce("version", F.lit(0)).alias("version"), there.alias("exists")),
        F.when(has_shape, F.col("shape.topic_id")).alias("topic_id"),
        *("shape", *(f"own_{number}" for number, _ in enumerate(names))),
        F.when(altered, F.struct(*(f"changed.{name}" for name in _WHO))).otherwise(F.col("moved")).alias("who"),
        altered.alias("by_itself"),
        (altered & F.coalesce(known, F.lit(False))).alias("altered"),
    )
    ordered = Window.partitionBy(*RESOURCE).orderBy("place")
    before = F.lag(F.struct("exists", "topic_id")).over(ordered).alias("before")
    after = F.lead(F.struct("place", "time", "who", "exists", "topic_id")).over(ordered).alias("next")
    rows = rows.select("*", before, after, F.row_number().over(ordered).alias("number"))
    shaped = F.coalesce(F.col("shape.place") == at, F.lit(False))
    another = ~F.coalesce("before.exists", F.lit(False)) | (F.col("before.topic_id") != F.col("topic_id"))
    touched = [
        *(F.when(F.col(f"own_{number}.place") == at, F.lit(name)) for number, name in enumerate(names)),
        F.when(shaped & topic, F.lit(PARTITIONS.name)),
    ]
    nothing = F.array().cast("array<string>")
    shape = "shape.value"
    replicas = F.json_array_length(F.get_json_object(shape, "$.replicas[0]"))
    return rows.where("exists").select(
        *(*RESOURCE, "number", "place", "time", "version", "topic_id", "who", "by_itself", "altered", "next"),
        *(f"own_{number}" for number, _ in enumerate(names)),
        F.when(topic & has_shape, partitions_of(shape)).alias("partitions"),
        F.when(topic & has_shape, F.coalesce(F.get_json_object(shape, "$.replication").cast("int"), replicas)).alias(
            "replication"
        ),
        (F.col("altered") & topic & shaped & F.coalesce(another, F.lit(False))).alias("created"),
        F.when(F.col("altered"), F.array_compact(F.array(*touched))).otherwise(nothing).alias("touched"),
    )


def _with_values(rows: DataFrame, inherited: DataFrame, names: list[str]) -> DataFrame:
    """With the values in force: what is set at the resource itself, or what it inherits."""
    broker, name = F.col("resource_type") == "broker", F.col("resource_name")
    rows = rows.withColumn("seat", F.when(broker, name).otherwise(""))
    rows = rows.join(inherited, ["cluster", "version", "resource_type", "seat"], "left")
    unseen = F.col("seen").isNull() | (F.col("time") < F.col("seen"))
    values, overrides, assumed = [], [], []
    for number, key in enumerate(names):
        is_set, below = F.coalesce(F.col(f"own_{number}.is_set"), F.lit(False)), F.col("inherited")[key]
        here = is_set & ~(broker & (name != ""))
        values.append(F.when(here, F.col(f"own_{number}.value")).otherwise(below["value"]).alias(key))
        overrides.append(F.when(is_set, F.lit(key)))
        weak = below["source"].isin(ladder.STATIC, ladder.BUILT_IN)
        assumed.append(F.when(unseen & ~here & weak, F.lit(key)))
    return rows.select(
        *(*RESOURCE, "number", "place", "time", "topic_id", "who", "by_itself", "altered", "created", "touched"),
        *("next", "partitions", "replication", F.struct(*values or [F.lit(None).alias("none")]).alias("values")),
        *(_names(each).alias(word) for each, word in ((overrides, "overrides"), (assumed, "assumed"))),
    )


def _names(found: list[Column]) -> Column:
    return F.array_compact(F.array(*found)) if found else F.array().cast("array<string>")
