"""Looks at clusters: what a look shows, and what is new in it.

A fact has a name (cluster, kind, resource, topic id, key) and a value. Only what differs from the look before is kept,
since a cluster that nobody touches would fill the lake otherwise. What a look could not see is not gone.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.model.acl import AclType, Operation, PatternType, Permission

FACT: Final = ("cluster", "kind", "resource_type", "resource_name", "topic_id", "key")
_TOLD: Final = ("value", "source", "sensitive")
_WORDS: Final = {"quota": "quotas", "scram": "users", "acl": "acls", "group": "groups", "topic": "topics"}


def facts(lines: DataFrame) -> DataFrame:
    """The lines of a look as facts, named as the journal names them."""
    kind = F.col("kind")
    shape = F.to_json(F.struct("id", "partitions", "replication", "internal"))
    acl = F.concat_ws(":", _number("resource_type", AclType), _number("pattern", PatternType), F.col("name"))
    rule = F.array(F.to_json(F.array("principal")), F.to_json(F.array("host")))
    rule = F.concat(
        F.regexp_replace(rule[0], "]$", ","),
        F.regexp_replace(F.regexp_replace(rule[1], "^\\[", ""), "]$", ","),
        F.concat_ws(",", _number("operation", Operation), _number("permission", Permission)),
        F.lit("]"),
    )
    named = lines.where(~kind.isin("missing", "end")).select(
        "cluster",
        F.timestamp_millis("taken").alias("taken"),
        "kind",
        F.when(kind == "config", F.col("resource_type")).when(kind != "snapshot", kind).alias("resource_type"),
        F.when(kind == "config", F.col("resource_name"))
        .when(kind == "topic", F.col("name"))
        .when(kind == "quota", _entity_name())
        .when(kind == "scram", F.col("user"))
        .when(kind == "acl", acl)
        .alias("resource_name"),
        "entity",
        F.col("id").alias("topic_id"),
        F.when(kind.isin("config", "quota"), F.col("key"))
        .when(kind == "scram", F.col("mechanism"))
        .when(kind == "acl", rule)
        .otherwise("")
        .alias("key"),
        F.when(kind == "config", F.when(~F.coalesce("sensitive", F.lit(False)), F.col("value")))
        .when(kind == "quota", plain_number(F.col("value")))
        .when(kind == "topic", shape)
        .when(kind == "snapshot", F.col("started").cast("string"))
        .when(kind == "acl", F.lit(""))
        .alias("value"),
        F.when(kind == "config", F.col("source")).alias("source"),
        ((kind == "scram") | F.coalesce("sensitive", F.lit(False))).alias("sensitive"),
    )
    return _with_topic_ids(named)


def _with_topic_ids(facts: DataFrame) -> DataFrame:
    """The keys of a topic are those of its id: under a new one they are new."""
    ids = facts.where("kind = 'topic'").select("cluster", "resource_name", F.col("topic_id").alias("its_id"))
    keys = F.col("kind").isin("config") & (F.col("resource_type") == "topic")
    joined = facts.alias("f").join(
        ids.alias("t"),
        keys & (F.col("f.cluster") == F.col("t.cluster")) & (F.col("f.resource_name") == F.col("t.resource_name")),
        "left",
    )
    return joined.select("f.*", "its_id").withColumn("topic_id", F.coalesce("topic_id", "its_id")).drop("its_id")


def missing(lines: DataFrame) -> DataFrame:
    """Per cluster, what the look could not see."""
    return lines.where("kind = 'missing'").groupBy("cluster").agg(F.collect_set("name").alias("unseen"))


def latest(snapshot: DataFrame) -> DataFrame:
    """What the last look at each cluster showed: the last row of each fact, unless it is gone."""
    last = F.max_by(F.struct("taken", "entity", *_TOLD, "gone"), "taken").alias("last")
    return snapshot.groupBy(*FACT).agg(last).where(~F.col("last.gone")).select(*FACT, "last.*").drop("gone")


def news(look: DataFrame, known: DataFrame, unseen: DataFrame, before: DataFrame) -> DataFrame:
    """The rows that a look adds: what is new or other than known, what is gone, and one row for the look itself.

    `before` has the time of the last look at each cluster (`cluster`, `previous`); a look that is not later than that
    adds nothing, so that reading a file again does no harm.
    """
    times = look.where("kind = 'snapshot'").select("cluster", F.col("taken").alias("now"))
    times = times.join(before, "cluster", "left").where(F.col("previous").isNull() | (F.col("now") > F.col("previous")))
    same = [F.col(f"n.{name}").eqNullSafe(F.col(f"k.{name}")) for name in FACT]
    known = known.where("kind <> 'snapshot'")
    both = look.where("kind <> 'snapshot'").alias("n").join(known.alias("k"), _all(same), "full")
    is_new, is_gone = F.col("k.cluster").isNull(), F.col("n.cluster").isNull()
    other = ~_all([F.col(f"n.{name}").eqNullSafe(F.col(f"k.{name}")) for name in _TOLD])
    changed = both.where(is_new | is_gone | other).select(
        *(F.coalesce(f"n.{name}", f"k.{name}").alias(name) for name in FACT),
        F.coalesce("n.entity", "k.entity").alias("entity"),
        *(F.when(is_gone, F.col(f"k.{name}")).otherwise(F.col(f"n.{name}")).alias(name) for name in _TOLD),
        is_gone.alias("gone"),
    )
    looked = look.where("kind = 'snapshot'").withColumn("gone", F.lit(False)).select(changed.columns)
    rows = changed.unionByName(looked).join(F.broadcast(times), "cluster").join(F.broadcast(unseen), "cluster", "left")
    missing = F.when(F.col("kind") == "snapshot", F.coalesce("unseen", F.array().cast("array<string>")))
    return rows.where(~F.col("gone") | F.col("unseen").isNull() | ~is_unseen()).select(
        "cluster", F.col("now").alias("taken"), "previous", *changed.columns[1:], missing.alias("missing")
    )


def is_unseen() -> Column:
    """Whether the look, which did not see what is in `unseen`, could not have shown it."""
    return F.arrays_overlap("unseen", unseen_words())


def unseen_words() -> Column:
    """The words by which a look says that it could not see a resource."""
    kind, name = F.col("resource_type"), F.col("resource_name")
    part = F.coalesce(*(F.when(kind == word, F.lit(part)) for word, part in _WORDS.items()), kind)
    one = F.when((kind == "broker") & (name == ""), "brokers").otherwise(F.concat_ws(":", kind, name))
    return F.array(part, F.concat(F.lit("the configs of "), kind, F.lit("s")), one, F.lit("configs"))


def plain_number(text: Column) -> Column:
    """A number as the journal writes a quota: a whole one without a point."""
    value = text.cast("double")
    whole = value.cast("decimal(30,0)").cast("string")
    return F.when((value == F.floor(value)) & (F.abs(value) < 1e18), whole).otherwise(value.cast("string"))


def _entity_name() -> Column:
    """A quota's entity as its resource is named: types in ascending order."""
    ordered = F.map_from_entries(F.array_sort(F.map_entries("entity")))
    return F.to_json(ordered, {"ignoreNullFields": "false"})


def _number(name: str, words: type[IntEnum]) -> Column:
    """A word of ACLs as its number on the wire."""
    return F.coalesce(*(F.when(F.upper(name) == each.name, str(each.value)) for each in words), F.lit("0"))


def _all(conditions: list[Column]) -> Column:
    whole = conditions[0]
    for each in conditions[1:]:
        whole = whole & each
    return whole
