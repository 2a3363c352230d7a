"""The incarnations of topics: a topic that is deleted and recreated is a new topic, which inherits nothing.

A new incarnation starts when the topic is deleted, when its creation is recorded, and when a known ID changes to
another known ID. An unknown ID contradicts nothing: a client may record a topic before any broker shows it, so a topic
whose ID becomes known is the same topic, and had that ID before.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.spark.transforms.topics.shapes import topic_id_of


def incarnations_of(topics: DataFrame, name: Sequence[str], order: Sequence[str], ending: Sequence[str]) -> DataFrame:
    """Per topic its events in `order`: (order, id, new, number, end).

    `number` counts the incarnations, `new` marks the start of one, and `id` is its topic ID, null if never shown.
    """
    was, now = topic_id_of("before"), topic_id_of("value")
    event = F.struct(
        F.struct(*order).alias("order"),
        F.when(F.col("is_set"), F.coalesce(now, was, "topic_id")).alias("id"),
        "is_set",
        ((F.col("origin") != "snapshot") & F.col("before").isNull()).alias("created"),
        F.coalesce(was != now, F.lit(False)).alias("another"),
        F.struct(*ending).alias("end"),
    )
    end = topics.select(F.struct(*ending).alias("end")).schema["end"].dataType.simpleString()
    place = topics.select(F.struct(*order).alias("order")).schema["order"].dataType.simpleString()
    incarnation = f"struct<order:{place},id:string,new:boolean,number:int,end:{end}>"
    start = F.struct(
        F.lit(None).cast("string").alias("id"),
        F.lit(False).alias("there"),
        F.lit(0).alias("number"),
        F.array().cast(f"array<{incarnation}>").alias("incarnations"),
    )
    grouped = topics.groupBy(*name).agg(F.array_sort(F.collect_list(event)).alias("events"))
    incarnations = F.aggregate("events", start, _next, lambda last: last["incarnations"])
    grouped = grouped.select(*name, incarnations.alias("incarnations"))
    return grouped.select(
        *name, F.when(_has_all_ids(), F.col("incarnations")).otherwise(_with_ids(incarnation)).alias("incarnations")
    )


def _next(last: Column, each: Column) -> Column:
    same = last["there"] & F.coalesce(last["id"] == each["id"], F.lit(False))
    other = each["another"] | F.coalesce(last["id"] != each["id"], F.lit(False))
    new = ~each["is_set"] | other | (each["created"] & ~same)
    number = last["number"] + new.cast("int")
    known = F.when(new, each["id"]).otherwise(F.coalesce(each["id"], last["id"]))
    incarnation = F.struct(
        each["order"].alias("order"),
        known.alias("id"),
        new.alias("new"),
        number.alias("number"),
        each["end"].alias("end"),
    )
    return F.struct(
        known.alias("id"),
        each["is_set"].alias("there"),
        number.alias("number"),
        F.concat(last["incarnations"], F.array(incarnation)).alias("incarnations"),
    )


def _has_all_ids() -> Column:
    return ~F.exists("incarnations", lambda each: each["id"].isNull())


def _with_ids(incarnation: str) -> Column:
    """An ID that becomes known late in an incarnation was its ID from the start."""

    def known(number: Column) -> Column:
        return F.filter("incarnations", lambda each: (each["number"] == number) & each["id"].isNotNull())

    filled = F.transform(
        "incarnations",
        lambda each: F.struct(
            each["order"].alias("order"),
            F.coalesce(each["id"], F.get(known(each["number"]), F.lit(0))["id"]).alias("id"),
            each["new"].alias("new"),
            each["number"].alias("number"),
            each["end"].alias("end"),
        ),
    )
    return filled.cast(f"array<{incarnation}>")


def incarnation_of(incarnations: str, own: str) -> Column:
    """The number of the incarnation at a position in the order; 0: before the first known start."""
    begun = F.filter(incarnations, lambda each: each["new"] & (each["order"] <= F.col(own)))
    return F.when(F.col(incarnations).isNull(), 0).otherwise(F.size(begun))


def id_of(incarnations: str, own: str) -> Column:
    """The ID of the topic at a position in the order."""
    number = F.size(F.filter(incarnations, lambda each: each["new"] & (each["order"] <= F.col(own))))
    known = F.filter(incarnations, lambda each: (each["number"] == number) & each["id"].isNotNull())
    return F.get(known, F.lit(0))["id"]


def began_of(incarnations: str, own: str) -> Column:
    """The position at which that incarnation started; null: unknown."""
    begun = F.filter(incarnations, lambda each: each["new"] & (each["order"] <= F.col(own)))
    return F.get(begun, F.size(begun) - 1)["order"]


def ended_by(incarnations: str, own: str) -> Column:
    """What ended that incarnation; null: nothing."""
    following = F.filter(incarnations, lambda each: each["new"] & (each["order"] > F.col(own)))
    return F.get(following, F.lit(0))["end"]
