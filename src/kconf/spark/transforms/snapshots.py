"""The facts in snapshots, and the differences between successive snapshots.

A fact has a name (cluster, kind, resource, topic ID, key) and a value. Only differences from the previous snapshot are
stored; otherwise an unchanging cluster would fill the lake. What a snapshot could not read is not treated as deleted.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kconf.model.acl import AclType, Operation, PatternType, Permission

FACT: Final = ("cluster", "kind", "resource_type", "resource_name", "topic_id", "key")
_TOLD: Final = ("value", "source", "sensitive")
_WORDS: Final = {"quota": "quotas", "scram": "users", "acl": "acls", "group": "groups", "topic": "topics"}


def facts(lines: DataFrame) -> DataFrame:
    """The lines of a snapshot as facts, with the names used by the journal."""
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
    """The keys of a topic belong to its ID: with a new ID they are new."""
    ids = facts.where("kind = 'topic'").select("cluster", "taken", "resource_name", F.col("topic_id").alias("its_id"))
    keys = F.col("kind").isin("config") & (F.col("resource_type") == "topic")
    same = [F.col(f"f.{name}") == F.col(f"t.{name}") for name in ("cluster", "taken", "resource_name")]
    joined = facts.alias("f").join(ids.alias("t"), [keys, *same], "left")
    return joined.select("f.*", "its_id").withColumn("topic_id", F.coalesce("topic_id", "its_id")).drop("its_id")


def latest(snapshot: DataFrame) -> DataFrame:
    """The last snapshot of each cluster: the last row of each fact, except deleted ones."""
    last = F.max_by(F.struct("taken", "entity", *_TOLD, "gone"), "taken").alias("last")
    return snapshot.groupBy(*FACT).agg(last).where(~F.col("last.gone")).select(*FACT, "last.*").drop("gone")


def states(snapshot: DataFrame, asked: DataFrame) -> DataFrame:
    """The facts of stored snapshots (`cluster`, `part`, `step`, `at`, `unseen`), reconstructed from the differences.

    Facts that a snapshot could not read are not included.
    """
    then = F.unix_millis("taken") <= F.col("at")
    rows = snapshot.join(asked, "cluster").where(then)
    last = F.max_by(F.struct("entity", *_TOLD, "gone"), "taken").alias("last")
    found = rows.groupBy(*FACT, "part", "step", "unseen").agg(last).where(~F.col("last.gone"))
    found = found.where((F.col("step") == 0) | F.col("unseen").isNull() | ~is_unseen())
    return found.select(*FACT, "last.*", "part", "step").drop("gone")


def news(shown: DataFrame, snapshots: DataFrame) -> DataFrame:
    """The rows that snapshots add: new, changed and deleted facts.

    `shown` has the facts of each snapshot by `part` and `step` (step 0 only for comparison); `snapshots` has all of
    them (`cluster`, `part`, `step`, `at`, `unseen`). Facts that a snapshot could not read stay unchanged.
    """
    every = snapshots.groupBy("cluster", "part").agg(
        F.array_sort(F.collect_list(F.struct("step", "at", F.coalesce("unseen", F.array()).alias("unseen")))).alias(
            "snapshots"
        )
    )
    ordered = Window.partitionBy("part", *FACT).orderBy("step")
    rows = shown.join(F.broadcast(every), ["cluster", "part"]).withColumn("next", F.lead("step").over(ordered))

    def not_shown(snapshot: Column) -> Column:
        between = (snapshot["step"] > F.col("step")) & (F.col("next").isNull() | (snapshot["step"] < F.col("next")))
        return between & ~F.arrays_overlap(snapshot["unseen"], unseen_words())

    rows = rows.withColumn("lost", F.get(F.filter("snapshots", not_shown), F.lit(0)))
    was = F.lag(F.struct(*_TOLD, F.col("lost").isNotNull().alias("is_lost"))).over(ordered)
    same = _all([F.col(f"was.{name}").eqNullSafe(F.col(name)) for name in _TOLD])
    other = F.col("was").isNull() | F.col("was.is_lost") | ~same
    rows = rows.withColumn("was", was).withColumn("is_new", (F.col("step") > 0) & other)
    come = rows.where("is_new").select(*FACT, "entity", *_TOLD, F.lit(False).alias("gone"), "snapshots", "step")
    gone = rows.where("lost IS NOT NULL").select(
        *FACT, "entity", *_TOLD, F.lit(True).alias("gone"), "snapshots", F.col("lost.step").alias("step")
    )
    both = come.unionByName(gone)
    mine = F.get(F.filter("snapshots", lambda snapshot: snapshot["step"] == F.col("step")), F.lit(0))
    before = F.get(F.filter("snapshots", lambda snapshot: snapshot["step"] == F.col("step") - 1), F.lit(0))
    return both.select(
        F.timestamp_millis(mine["at"]).alias("taken"),
        F.timestamp_millis(before["at"]).alias("previous"),
        *(*FACT, "entity", *_TOLD, "gone"),
    )


def is_unseen() -> Column:
    """Whether a snapshot with these `unseen` resources could not have shown the fact."""
    return F.arrays_overlap("unseen", unseen_words())


def unseen_words() -> Column:
    """The names under which a snapshot lists resources it could not read."""
    kind, name = F.col("resource_type"), F.col("resource_name")
    part = F.coalesce(*(F.when(kind == word, F.lit(part)) for word, part in _WORDS.items()), kind)
    one = F.when((kind == "broker") & (name == ""), "brokers").otherwise(F.concat_ws(":", kind, name))
    return F.array(part, F.concat(F.lit("the configs of "), kind, F.lit("s")), one, F.lit("configs"))


def plain_number(text: Column) -> Column:
    """A number in the journal's quota format: integers without a decimal point."""
    value = text.cast("double")
    whole = value.cast("decimal(30,0)").cast("string")
    return F.when((value == F.floor(value)) & (F.abs(value) < 1e18), whole).otherwise(value.cast("string"))


def _entity_name() -> Column:
    """A quota entity as its resource name: types in ascending order."""
    ordered = F.map_from_entries(F.array_sort(F.map_entries("entity")))
    return F.to_json(ordered, {"ignoreNullFields": "false"})


def _number(name: str, words: type[IntEnum]) -> Column:
    """An ACL enum name as its number in the protocol."""
    return F.coalesce(*(F.when(F.upper(name) == each.name, str(each.value)) for each in words), F.lit("0"))


def _all(conditions: list[Column]) -> Column:
    whole = conditions[0]
    for each in conditions[1:]:
        whole = whole & each
    return whole
