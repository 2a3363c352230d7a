"""Evaluates rules over the past: when each was violated and until when, who violated it, and which changes it would
have refused.

Every past state of a resource is evaluated as the server's policy evaluates the result of a request
(engine/policy/rules.py; tests/spark/test_backtest.py compares the two).
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from kconf.engine.policy.rules import Rules
from kconf.spark.transforms.broker_levels import WHO
from kconf.spark.transforms.history import RESOURCE
from kconf.spark.transforms.policy.rules import broken
from kconf.spark.transforms.policy.states import PLACE, Below, Past, states

_FINDING: Final = ("severity", "key", "value", "condition", "message")
_NEXT: Final = (*PLACE, "time", *WHO, "exists", "topic_id")


def evaluated(
    past: Past, keys: DataFrame, rules: Rules, first: DataFrame | None = None, below: Below | None = None
) -> DataFrame:
    """One row per state and violated rule, with what ended the state as `next`.

    With `first`, the position of the first new change of each cluster: only the states since then (`is_new`) and the
    last one before. `below` has the inherited values, if they are known.
    """
    ordered = Window.partitionBy("spot", *RESOURCE).orderBy(*PLACE)
    is_broken = F.col("found").isNotNull()
    every = states(past, keys, rules, below)
    chosen = every.withColumn("is_new", F.lit(True)) if first is None else _since(every, first, ordered)
    rows = broken(chosen, rules).select(
        *("spot", *RESOURCE, *PLACE, "time", *WHO, "exists", "topic_id", "own", "altered", "reshaped", "found"),
        "is_new",
        *(F.lag(name).over(ordered).alias(f"last_{name}") for name in ("exists", "topic_id")),
        F.lag(is_broken).over(ordered).alias("was_broken"),
        F.row_number().over(ordered).alias("number"),
    )
    # Most states violate nothing: only those that do, and what follows them, go through the wide window.
    rows = rows.where(is_broken | F.col("was_broken")).select(
        "*", *(F.lead(name).over(ordered).alias(f"next_{name}") for name in _NEXT)
    )
    another = ~F.coalesce("last_exists", F.lit(False)) | (F.col("last_topic_id") != F.col("topic_id"))
    created = F.col("altered") & F.col("reshaped") & F.coalesce(another, F.lit(False))
    after = F.struct(*(F.col(f"next_{name}").alias(name) for name in _NEXT))
    rows = rows.where(is_broken).select(
        *("spot", *RESOURCE, "topic_id", "number", F.struct(*PLACE).alias("place"), "time", "is_new"),
        *(F.struct(*WHO).alias("who"), F.col("own").alias("by_itself"), created.alias("created")),
        F.when(F.col("next_epoch").isNotNull(), after).alias("next"),
        F.explode("found").alias("found"),
    )
    rows = rows.where("found IS NOT NULL").select(*(name for name in rows.columns if name != "found"), "found.*")
    return rows.withColumn("evaluated", F.col("is_new") & (F.col("created") | F.col("evaluated"))).drop("created")


def _since(states: DataFrame, first: DataFrame, ordered: WindowSpec) -> DataFrame:
    """The states since the first new change of their cluster, and the last one before."""
    is_new = F.struct("epoch", "revision") >= F.struct("first_epoch", "first_revision")
    rows = states.join(F.broadcast(first), "cluster").withColumn("is_new", is_new).drop(*first.columns[1:])
    following = rows.withColumn("following", F.lead("is_new").over(ordered))
    return following.where(F.col("is_new") | F.coalesce("following", F.lit(True))).drop("following")


def refusals(evaluated: DataFrame) -> DataFrame:
    """The changes that a rule would have refused or warned about."""
    return evaluated.where("evaluated").select(*RESOURCE, "rule", *_FINDING, "time", "place.*", "who.*").drop("step")


def breaches(evaluated: DataFrame) -> DataFrame:
    """The intervals in which a rule was violated; a new one starts if the value or the violated condition changes.

    `continued`: the rule was violated before the first new change; then `changes` counts only new changes.
    """
    by_rule = Window.partitionBy("spot", *RESOURCE, "rule").orderBy("number")
    finding = F.struct("topic_id", "value", "condition")
    last = F.lag(F.struct("number", finding.alias("finding"))).over(by_rule)
    follows = F.coalesce(F.lead("number").over(by_rule) == F.col("number") + 1, F.lit(False))
    rows = evaluated.select("*", finding.alias("finding"), last.alias("last"), follows.alias("follows"))
    on = (F.col("last.number") == F.col("number") - 1) & _is_same("last.finding", "finding")
    rows = rows.withColumn("run", F.sum(F.when(on, 0).otherwise(1)).over(by_rule))
    first = F.min_by(
        F.struct("topic_id", *_FINDING, "time", "place", "who", "by_itself", "assumed", "is_new"), "number"
    )
    end = F.max_by(F.struct("next", "follows", "topic_id"), "number")
    runs = rows.groupBy("spot", *RESOURCE, "rule", "run").agg(
        first.alias("first"), end.alias("end"), F.count_if("evaluated").alias("changes")
    )
    return _shown(runs)


def _is_same(one: str, other: str) -> Column:
    """A topic whose ID becomes known is the same topic."""
    same = [F.col(f"{one}.{name}").eqNullSafe(F.col(f"{other}.{name}")) for name in ("value", "condition")]
    topic = F.coalesce(F.col(f"{one}.topic_id") == F.col(f"{other}.topic_id"), F.lit(True))
    return same[0] & same[1] & topic


def _shown(runs: DataFrame) -> DataFrame:
    after = F.col("end.next")
    another = F.coalesce(after["topic_id"] != F.col("end.topic_id"), F.lit(False))
    return runs.select(
        *(*RESOURCE, "rule", "first.topic_id", *(f"first.{name}" for name in _FINDING), "changes", "first.assumed"),
        F.col("first.time").alias("since"),
        *(f"first.place.{name}" for name in ("epoch", "revision")),
        *(f"first.who.{name}" for name in WHO),
        F.when(F.col("first.by_itself"), "itself").otherwise("inherited").alias("cause"),
        after["time"].alias("until"),
        *(after[name].alias(f"until_{name}") for name in ("epoch", "revision", *WHO)),
        F.when(after.isNull(), None)
        .when(~after["exists"] | another, "gone")
        .when(F.col("end.follows"), "changed")
        .otherwise("mended")
        .alias("ended"),
        after.isNull().alias("open"),
        (~F.col("first.is_new")).alias("continued"),
    )
