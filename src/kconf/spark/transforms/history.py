"""The history: events become intervals, each with what began it and what ended it.

An event says that a key has a value from now on, or none. Events come from the journal, from snapshots of clusters that
have no journal, and from open intervals of the table itself, which are the events that began them: so a batch is folded
into what is there by the same function that builds everything anew. The order is (epoch, revision, line), never the
clock; where a clock went back, an interval begins when the one before it did.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kconf.lake.schemas import HISTORY
from kconf.model.line_fields import CALLER, CALLER_NAMES

RESOURCE: Final = ("cluster", "resource_type", "resource_name")
KEY: Final = (*RESOURCE, "key")
ORDER: Final = ("epoch", "revision", "line")
EVENT: Final = (
    *(*KEY, *ORDER, *CALLER_NAMES),
    *("kind", "entity", "topic_id", "op", "before", "value", "is_set", "sensitive", "since", "origin"),
    *("not_before", "seen_at", "returned"),
)
_ENDING: Final = ("since", *ORDER, "principal", "reason", "origin")
_NAME: Final = ("cluster", "resource_name")
_SORTED: Final = (*_NAME, "resource_type", "key")
_OWN_LEVEL: Final = {
    "topic": "DYNAMIC_TOPIC_CONFIG",
    "broker": "DYNAMIC_BROKER_CONFIG",
    "group": "DYNAMIC_GROUP_CONFIG",
    "client-metrics": "DYNAMIC_CLIENT_METRICS_CONFIG",
}


def journal_events(journal: DataFrame) -> DataFrame:
    """Lines of the journal as events."""
    return journal.select(
        *(*KEY, *ORDER, *CALLER_NAMES, "kind", "entity"),
        F.lit(None).cast("string").alias("topic_id"),
        *("op", "before"),
        F.col("after").alias("value"),
        F.col("after").isNotNull().alias("is_set"),
        "sensitive",
        F.col("time").alias("since"),
        "origin",
        F.lit(None).cast("timestamp").alias("not_before"),
        F.lit(None).cast("timestamp").alias("seen_at"),
        F.lit(None).cast("boolean").alias("returned"),
    )


def snapshot_events(snapshot: DataFrame) -> DataFrame:
    """What successive looks at a cluster showed, as events at the time of the look; who did it is not known."""
    own = F.coalesce(*(F.when(F.col("resource_type") == kind, F.lit(level)) for kind, level in _OWN_LEVEL.items()))
    default = (F.col("resource_type") == "broker") & (F.col("resource_name") == "")
    own = F.when(default, "DYNAMIC_DEFAULT_BROKER_CONFIG").otherwise(own)
    is_set = ~F.col("gone") & ((F.col("kind") != "config") | (F.col("source") == own))
    # At one look: what is gone comes before what is new, and a topic before its configuration.
    topic = F.col("kind") == "topic"
    place = F.when(F.col("gone"), F.when(topic, 1).otherwise(0)).otherwise(F.when(topic, 2).otherwise(3))
    return snapshot.where(F.col("kind") != "snapshot").select(
        *KEY,
        F.lit(0).cast("bigint").alias("epoch"),
        F.unix_micros("taken").alias("revision"),
        place.alias("line"),
        *(F.lit(None).cast(each.type).alias(each.name) for each in CALLER),
        F.when(topic, "topic").otherwise("config").alias("kind"),
        "entity",
        F.lit(None).cast("string").alias("topic_id"),
        F.lit("snapshot").alias("op"),
        F.lit(None).cast("string").alias("before"),
        F.when(is_set, F.col("value")).alias("value"),
        is_set.alias("is_set"),
        "sensitive",
        F.col("taken").alias("since"),
        F.lit("snapshot").alias("origin"),
        F.col("previous").alias("not_before"),
        F.col("taken").alias("seen_at"),
        F.lit(None).cast("boolean").alias("returned"),
    )


def open_events(history: DataFrame) -> DataFrame:
    """The open intervals as the events that began them."""
    return history.where("open").withColumn("is_set", F.lit(True)).select(*EVENT)


def order(*prefix: str) -> Column:
    """The place of a row in the order, to compare by."""
    return F.struct(*(F.col(".".join((*prefix, name))).alias(name) for name in ORDER))


def intervals(events: DataFrame) -> DataFrame:
    """The rows of the history that events make.

    All lines about one name come to one place: for the windows, and for the topics' lives, which are looked up there.
    The windows' sort begins with a hash, since Spark compares by the first eight bytes where these differ.
    """
    placed = events.withColumn("spot", F.xxhash64(*_SORTED)).repartition(*_NAME)
    ordered = Window.partitionBy("spot", *_SORTED).orderBy(*ORDER)
    so_far = ordered.rowsBetween(Window.unboundedPreceding, 0)
    rows = placed.select(
        *(name for name in placed.columns if name != "since"),
        F.max("since").over(so_far).alias("since"),
        *(F.lead(name).over(ordered).alias(f"next_{name}") for name in (*_ENDING, "before", "is_set")),
        F.lag(F.when(F.col("is_set"), F.col("before"))).over(ordered).alias("last_before"),
    ).where("is_set")
    rows = _within_topics(rows, topic_lives(placed))
    ended = F.col("end_epoch").isNotNull()
    told = (F.col("end_origin") != "snapshot") & ~F.col("cut")
    slipped = ended & told & ~F.col("next_before").eqNullSafe(F.col("value"))
    return rows.select(
        *(name for name in HISTORY.names if name in set(EVENT) - {"returned"}),
        F.when(ended, F.greatest(F.least("end_since", "next_since"), "since")).alias("until"),
        *(F.col(f"end_{name}").alias(f"until_{name}") for name in _ENDING if name != "since"),
        F.when(F.col("deleted"), "deleted")
        .when(ended & F.col("next_is_set"), "replaced")
        .when(ended, F.when(F.col("kind") == "topic", "deleted").otherwise("removed"))
        .alias("ended"),
        slipped.alias("slipped"),
        F.when(slipped, F.col("next_before")).alias("found"),
        # An open interval knows it: what was before it is not among the events any more.
        F.coalesce("returned", F.col("last_before") == F.col("value"), F.lit(False)).alias("returned"),
        (~ended).alias("open"),
    )


def seen_changes(events: DataFrame) -> DataFrame:
    """Without what a look at the cluster showed and was known already: the event before it says the same."""
    told = F.when(F.col("kind") == "topic", _shape()).otherwise(F.col("value"))
    before = F.lag(F.struct("is_set", told.alias("told"), "sensitive")).over(Window.partitionBy(*KEY).orderBy(*ORDER))
    same = (F.col("was.is_set") & F.col("is_set")) & (
        F.col("was.told").eqNullSafe(told) | (F.col("was.sensitive") & F.col("sensitive"))
    )
    known = F.coalesce(same | (~F.col("was.is_set") & ~F.col("is_set")), ~F.col("is_set"))
    return events.withColumn("was", before).where((F.col("origin") != "snapshot") | ~known).drop("was")


def partitions_of(topic: str) -> Column:
    """How many partitions a topic has, as the journal or a snapshot writes it."""
    counted = F.get_json_object(topic, "$.partitions").cast("int")
    return F.coalesce(counted, F.json_array_length(F.get_json_object(topic, "$.replicas")))


def _shape() -> Column:
    """What a topic is, whoever tells it."""
    return F.concat_ws(" ", F.get_json_object("value", "$.id"), partitions_of("value"))


def topic_lives(events: DataFrame) -> DataFrame:
    """Per topic, in order, what happened to the topic itself: its id from then on, and whether another life began."""
    was, now = F.get_json_object("before", "$.id"), F.get_json_object("value", "$.id")
    looked = F.col("origin") == "snapshot"  # a look does not know what was before: see below
    other = ~looked & (F.col("before").isNull() | ~was.eqNullSafe(now))
    life = F.struct(
        order().alias("order"),
        F.when(F.col("is_set"), now).alias("id"),
        (~F.col("is_set") | other).alias("new"),
        F.struct(*_ENDING).alias("end"),
    )
    lives = F.array_sort(F.collect_list(life))

    def compared(each: Column, place: Column) -> Column:
        another = (place > 0) & ~F.col("sorted")[place - 1]["id"].eqNullSafe(each["id"])
        return F.struct(
            each["order"].alias("order"),
            each["id"].alias("id"),
            (each["new"] | another).alias("new"),
            each["end"].alias("end"),
        )

    return (
        events.where("kind = 'topic'")
        .groupBy(*_NAME)
        .agg(lives.alias("sorted"))
        .select(*_NAME, F.transform("sorted", compared).alias("lives"))
    )


def _within_topics(rows: DataFrame, lives: DataFrame) -> DataFrame:
    """A topic's keys end with it, whether or not the journal says so; a topic made anew inherits nothing.

    In steps, since Spark's optimiser writes out an expression wherever its column is used. The lives are looked up in a
    hash table: a merge would want the rows sorted by name, and copied once more.
    """
    named = [F.col(f"l.{name}") == F.col(f"e.{name}") for name in _NAME]
    looked_up = lives.hint("shuffle_hash").alias("l")
    joined = rows.alias("e").join(looked_up, [*named, F.col("e.resource_type") == "topic"], "left")
    found = joined.select("e.*", "lives", order("e").alias("own"))
    lived = F.filter("lives", lambda each: each["order"] <= F.col("own"))
    ends = F.filter("lives", lambda each: each["new"] & (each["order"] > F.col("own")))
    once = (F.size("lives") == 1) & (F.col("lives")[0]["order"] <= F.col("own"))  # most topics: no need to search
    found = found.select(
        *(name for name in found.columns if name not in ("lives", "own", "topic_id")),
        F.coalesce(
            "topic_id", F.when(once, F.col("lives")[0]["id"]).otherwise(F.get(lived, F.size(lived) - 1)["id"])
        ).alias("topic_id"),
        F.when((F.col("kind") == "config") & ~once, F.get(ends, F.lit(0))["end"]).alias("gone"),
    )
    following, gone = F.struct(*(f"next_{name}" for name in ORDER)), F.struct(*(f"gone.{name}" for name in ORDER))
    found = found.withColumn("cut", F.col("gone").isNotNull() & (F.col("next_epoch").isNull() | (gone < following)))
    same = [F.col(f"gone.{name}") == F.col(f"next_{name}") for name in ("epoch", "revision")]
    with_it = ~F.col("next_is_set") & same[0] & same[1]
    return found.select(
        *(name for name in found.columns if name != "gone"),
        (F.col("cut") | F.coalesce(with_it, F.lit(False))).alias("deleted"),
        *(
            F.when(F.col("cut"), F.col(f"gone.{name}")).otherwise(F.col(f"next_{name}")).alias(f"end_{name}")
            for name in _ENDING
        ),
    )
