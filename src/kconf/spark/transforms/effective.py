"""Resolves config values for all resources at once: override → this broker → all brokers → file → default.

The same as engine/configs/resolver.py, except that `source` is always the actual source (Kafka's describe returns
DEFAULT if only a synonym is set). Topics and groups inherit from the broker with the lowest ID; table `uneven` lists
differences between brokers.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.spark.transforms.values import normalised, whole

OWN: Final = {
    "topic": "DYNAMIC_TOPIC_CONFIG",
    "group": "DYNAMIC_GROUP_CONFIG",
    "client-metrics": "DYNAMIC_CLIENT_METRICS_CONFIG",
}
_BROKER, _DEFAULT, _STATIC, _BUILT_IN = (
    "DYNAMIC_BROKER_CONFIG",
    "DYNAMIC_DEFAULT_BROKER_CONFIG",
    "STATIC_BROKER_CONFIG",
    "DEFAULT_CONFIG",
)
_RUNG: Final = "array<struct<name:string,value:string,source:string>>"


def levels(current: DataFrame, snapshot: DataFrame) -> DataFrame:
    """Values set on brokers: (cluster, broker, rank, source, name, value). The broker '' is the cluster-wide default.

    `current` is the current state, `snapshot` the snapshots: only they show server.properties. A dynamic value that
    overrides one does not mean that it was removed from the file.
    """
    set_here = current.where("kind = 'config' AND resource_type = 'broker'").select(
        "cluster",
        F.col("resource_name").alias("broker"),
        F.when(F.col("resource_name") == "", 2).otherwise(1).alias("rank"),
        F.when(F.col("resource_name") == "", _DEFAULT).otherwise(_BROKER).alias("source"),
        F.col("key").alias("name"),
        F.when(~F.col("sensitive"), F.col("value")).alias("value"),
    )
    facts = snapshot.where("kind = 'config' AND resource_type = 'broker' AND resource_name <> ''")
    facts = facts.where(F.col("gone") | F.col("source").isin(_STATIC, _BUILT_IN))
    last = F.max_by(F.struct("source", "value", "gone"), "taken").alias("last")
    in_file = facts.groupBy("cluster", F.col("resource_name").alias("broker"), F.col("key").alias("name")).agg(last)
    in_file = in_file.where((F.col("last.source") == _STATIC) & ~F.col("last.gone"))
    in_file = in_file.select("cluster", "broker", F.lit(3).alias("rank"), "last.source", "name", "last.value")
    return set_here.unionByName(in_file)


def brokers(current: DataFrame, observed: DataFrame) -> DataFrame:
    """Every known broker, and whether topics inherit from it."""
    named = "resource_type = 'broker' AND resource_name <> ''"
    every = (
        observed.where(named)
        .select("cluster", "resource_name")
        .union(current.where(named).select("cluster", "resource_name"))
    )
    first = F.min_by("broker", F.col("broker").cast("bigint"))
    every = every.distinct().withColumnRenamed("resource_name", "broker")
    return every.join(every.groupBy("cluster").agg(first.alias("first")), "cluster")


def inherited(clusters: DataFrame, levels: DataFrame, brokers: DataFrame, keys: DataFrame) -> DataFrame:
    """The value of each key if it is not set on the resource itself: per cluster, and for brokers per broker."""
    seats = clusters.select("cluster").join(brokers.select("cluster", "first").distinct(), "cluster", "left")
    from_first = seats.withColumn("broker", F.col("first")).crossJoin(
        F.broadcast(keys.where("resource_type <> 'broker'"))
    )
    each = brokers.select("cluster", "first", "broker").crossJoin(F.broadcast(keys.where("resource_type = 'broker'")))
    seats = from_first.unionByName(each)
    wanted = seats.select("*", F.explode_outer("rungs").alias("rung"))
    here = (F.col("l.broker") == "") | (F.col("l.broker") == F.col("w.broker"))
    found = wanted.alias("w").join(
        levels.alias("l"),
        (F.col("l.cluster") == F.col("w.cluster")) & (F.col("l.name") == F.col("w.rung.name")) & here,
        "left",
    )
    factor = F.col("w.rung.factor")
    value = F.when(factor == 1, normalised(F.col("l.value"), F.col("w.type"), F.col("w.distinct"))).otherwise(
        (whole(F.col("l.value")) * factor).cast("string")
    )
    value = F.when((F.col("w.key") == "retention.ms") & value.startswith("-"), "-1").otherwise(value)
    rung = F.struct(
        F.col("l.rank").alias("rank"),
        F.col("w.rung.place").alias("place"),
        F.col("l.name").alias("name"),
        F.when(~F.col("w.sensitive"), value).alias("value"),
        F.col("l.source").alias("source"),
    )
    taken = F.col("l.name").isNotNull() & ((factor == 1) | whole(F.col("l.value")).isNotNull())
    group = [
        F.col(f"w.{name}") for name in ("cluster", "broker", "resource_type", "key", "type", "distinct", "sensitive")
    ]
    rungs = found.groupBy(*group, F.col("w.default")).agg(
        F.array_sort(F.collect_list(F.when(taken, rung))).alias("set")
    )
    built_in = F.struct(F.col("key").alias("name"), F.col("default").alias("value"), F.lit(_BUILT_IN).alias("source"))
    values_set = F.transform("set", lambda each: F.struct(each["name"], each["value"], each["source"])).cast(_RUNG)
    bottom = F.when(F.col("default").isNotNull() & ~F.col("sensitive"), F.array(built_in)).otherwise(F.array())
    ladders = rungs.withColumn("ladder", F.concat(values_set, bottom.cast(_RUNG)))
    return ladders.select(
        *("cluster", "broker", "resource_type", "key", "type", "distinct", "sensitive", "ladder"),
        F.get("ladder", F.lit(0))["value"].alias("value"),
        F.coalesce(F.get("ladder", F.lit(0))["source"], F.lit(_BUILT_IN)).alias("source"),
    )


def effective(current: DataFrame, inherited: DataFrame) -> DataFrame:
    """Every key of every resource, including its override."""
    values = F.map_from_entries(F.collect_list(F.struct("key", F.struct("value", "sensitive").alias("set"))))
    configs = current.where((F.col("kind") == "config") & F.col("resource_type").isin(*OWN))
    own = configs.groupBy("cluster", "resource_type", "resource_name").agg(values.alias("overrides"))
    bare = current.where("kind = 'topic'").select("cluster", "resource_type", "resource_name")
    bare = bare.join(own.select(*bare.columns), bare.columns, "left_anti").withColumn("overrides", F.lit(None))
    resources = own.unionByName(bare)
    of_others = inherited.where("resource_type <> 'broker'")
    rows = resources.join(F.broadcast(of_others), ["cluster", "resource_type"])
    of_resources = _with_own(rows.withColumn("own", F.element_at("overrides", F.col("key"))))
    return of_resources.unionByName(_of_brokers(inherited)).unionByName(_of_all_brokers(current))


def of_keys(wanted: DataFrame, inherited: DataFrame) -> DataFrame:
    """Only some keys of resources other than brokers: `wanted` has for each key whether it `is_set` on the resource
    itself, and then `own_value` and `own_sensitive`."""
    of_others = inherited.where("resource_type <> 'broker'")
    rows = wanted.join(F.broadcast(of_others), ["cluster", "resource_type", "key"])
    own = F.struct(F.col("own_value").alias("value"), F.col("own_sensitive").alias("sensitive"))
    return _with_own(rows.withColumn("own", F.when(F.col("is_set"), own)))


def _with_own(rows: DataFrame) -> DataFrame:
    """The effective values of keys with inherited values, of which some have an `own` value on the resource."""
    level = F.coalesce(*(F.when(F.col("resource_type") == kind, F.lit(name)) for kind, name in OWN.items()))
    text = normalised(F.col("own.value"), F.col("type"), F.col("distinct"))
    rows = rows.withColumn("mine", F.when(~F.col("own.sensitive"), text))
    top = F.array(F.struct(F.col("key").alias("name"), F.col("mine").alias("value"), level.alias("source"))).cast(_RUNG)
    is_set = F.col("own").isNotNull()
    return rows.select(
        *("cluster", "resource_type", "resource_name", "key"),
        F.when(is_set, F.col("mine")).otherwise(F.col("value")).alias("value"),
        F.when(is_set, level).otherwise(F.col("source")).alias("source"),
        F.coalesce("own.sensitive", F.col("sensitive")).alias("sensitive"),
        F.when(is_set, F.concat(top, F.col("ladder"))).otherwise(F.col("ladder")).alias("ladder"),
    )


def _of_brokers(inherited: DataFrame) -> DataFrame:
    return inherited.where("resource_type = 'broker'").select(
        *("cluster", "resource_type", F.col("broker").alias("resource_name"), "key"),
        *("value", "source", "sensitive", "ladder"),
    )


def _of_all_brokers(current: DataFrame) -> DataFrame:
    """The cluster-wide default: only values set there, as stored."""
    value = F.when(~F.col("sensitive"), F.col("value"))
    rung = F.array(F.struct(F.col("key").alias("name"), value.alias("value"), F.lit(_DEFAULT).alias("source")))
    return current.where("kind = 'config' AND resource_type = 'broker' AND resource_name = ''").select(
        *("cluster", "resource_type", "resource_name", "key", value.alias("value"), F.lit(_DEFAULT).alias("source")),
        *("sensitive", rung.cast(_RUNG).alias("ladder")),
    )


def uneven(inherited: DataFrame) -> DataFrame:
    """Broker keys that differ among the brokers of a cluster. Keys that must differ, and hidden values, are
    excluded."""
    of_brokers = inherited.where("resource_type = 'broker' AND NOT sensitive").where(~F.col("key").isin(*PER_BROKER))
    by_value = of_brokers.groupBy("cluster", "key", "value").agg(
        F.sort_array(F.collect_list("broker")).alias("brokers")
    )
    common = F.struct((-F.size("brokers")).alias("count"), "value", "brokers")
    return (
        by_value.groupBy("cluster", "key")
        .agg(F.array_sort(F.collect_list(common)).alias("values"))
        .where(F.size("values") > 1)
        .select("cluster", "key", F.transform("values", _with_brokers).alias("brokers"))
    )


def _with_brokers(each: Column) -> Column:
    return F.struct(each["value"].alias("value"), each["brokers"].alias("brokers"))


PER_BROKER: Final = (
    *(
        "broker.id",
        "node.id",
        "broker.rack",
        "process.roles",
        "listeners",
        "advertised.listeners",
        "log.dir",
        "log.dirs",
    ),
    *("metadata.log.dir", "cordoned.log.dirs", "controller.listener.names", "control.plane.listener.name"),
    *("ssl.keystore.location", "ssl.truststore.location", "ssl.keystore.type", "ssl.truststore.type"),
)
"""The values of each broker."""
