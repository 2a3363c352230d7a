"""The history: converts events to intervals, each with the changes that started and ended it.

An event sets a key to a new value, or removes it. Events come from the journal, from snapshots of clusters without a
journal, and from the open intervals of the table itself, which are the events that started them. So the function that
builds the whole history also merges a batch. The order is (epoch, revision, line), never the clock; if a clock went
back, an interval starts when the previous one did.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kconf.lake.schemas import HISTORY
from kconf.model.lines.fields import CALLER, CALLER_NAMES
from kconf.spark.transforms.topics.incarnations import began_of, ended_by, id_of, incarnation_of, incarnations_of
from kconf.spark.transforms.topics.shapes import (
    NO_ID,
    meaning,
    partitions_of,
    replication_of,
    same_shape,
    topic_id_of,
)

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


_IN_LOG: Final = "log:[0-9]+$"  # in place of a secret: the offset at which it was set


def journal_events(journal: DataFrame) -> DataFrame:
    """Lines of the journal as events. Those of a followed cluster may have `not_before`."""
    not_before = F.col("not_before") if "not_before" in journal.columns else F.lit(None)
    return journal.select(
        *(*KEY, *ORDER, *CALLER_NAMES, "kind", "entity"),
        F.lit(None).cast("string").alias("topic_id"),
        *("op", "before"),
        F.col("after").alias("value"),
        F.col("after").isNotNull().alias("is_set"),
        "sensitive",
        F.col("time").alias("since"),
        "origin",
        not_before.cast("timestamp").alias("not_before"),
        F.when(F.col("origin") == "snapshot", F.col("time")).alias("seen_at"),
        F.lit(None).cast("boolean").alias("returned"),
    )


def snapshot_events(snapshot: DataFrame) -> DataFrame:
    """Successive snapshots of a cluster as events at the time of the snapshot; the author is unknown."""
    snapshot = _without_unknown_ids(snapshot.where(F.col("kind") != "snapshot"))
    own = F.coalesce(*(F.when(F.col("resource_type") == kind, F.lit(level)) for kind, level in _OWN_LEVEL.items()))
    default = (F.col("resource_type") == "broker") & (F.col("resource_name") == "")
    own = F.when(default, "DYNAMIC_DEFAULT_BROKER_CONFIG").otherwise(own)
    is_set = ~F.col("gone") & ((F.col("kind") != "config") | (F.col("source") == own))
    # Within a snapshot: deletions come before additions, and a topic before its configuration.
    topic = F.col("kind") == "topic"
    place = F.when(F.col("gone"), F.when(topic, 1).otherwise(0)).otherwise(F.when(topic, 2).otherwise(3))
    return snapshot.select(
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


def _without_unknown_ids(facts: DataFrame) -> DataFrame:
    """Drop the end of a fact of a topic whose ID became known or unknown, if the snapshot shows it with the other ID.

    An unknown ID contradicts nothing: after an upgrade from a Kafka before 2.8, the topic is the same one.
    """
    moment = Window.partitionBy(*KEY, "taken")
    identity = F.nullif("topic_id", F.lit(NO_ID))
    shown = [
        F.max(~F.col("gone") & (F.col("resource_type") == "topic") & condition).over(moment)
        for condition in (identity.isNull(), identity.isNotNull())
    ]
    is_same = F.col("gone") & F.when(identity.isNull(), shown[1]).otherwise(shown[0])
    return facts.withColumn("is_same", F.coalesce(is_same, F.lit(False))).where("NOT is_same").drop("is_same")


def open_events(history: DataFrame) -> DataFrame:
    """The open intervals as the events that started them."""
    return history.where("open").withColumn("is_set", F.lit(True)).select(*EVENT)


def order(*prefix: str) -> Column:
    """The position of a row in the order, for comparison."""
    return F.struct(*(F.col(".".join((*prefix, name))).alias(name) for name in ORDER))


def folded(events: DataFrame) -> DataFrame:
    """The history rows of events, some of which come from snapshots."""
    incarnations = topic_incarnations(events)
    return intervals(seen_changes(events, incarnations), incarnations)


def intervals(events: DataFrame, incarnations: DataFrame | None = None) -> DataFrame:
    """The history rows of events; `incarnations` are those of the topics, if some events were left out.

    All lines of one name are in one partition: for the windows, and for looking up the topics' incarnations. The
    windows sort by a hash first, because Spark compares the first eight bytes quickly.
    """
    placed = events.withColumn("spot", F.xxhash64(*_SORTED)).repartition(*_NAME)
    ordered = Window.partitionBy("spot", *_SORTED).orderBy(*ORDER)
    so_far = ordered.rowsBetween(Window.unboundedPreceding, 0)
    rows = placed.select(
        *(name for name in placed.columns if name != "since"),
        F.max("since").over(so_far).alias("since"),
        *(F.lead(name).over(ordered).alias(f"next_{name}") for name in (*_ENDING, "before", "is_set")),
        *(F.lag(name).over(ordered).alias(f"last_{name}") for name in ORDER),
        F.lag(F.when(F.col("is_set"), F.col("before"))).over(ordered).alias("last_before"),
        # Only an open interval, which is an event here, has a known `returned`.
        (F.col("returned").isNotNull() & F.lag("returned").over(ordered).isNotNull()).alias("is_second"),
    ).where("is_set")
    rows = _within_topics(rows, topic_incarnations(placed) if incarnations is None else incarnations)
    ended = F.col("end_epoch").isNotNull()
    recorded = (F.col("end_origin") != "snapshot") & ~F.col("cut")
    slipped = ended & recorded & ~_is_found()
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
        # An open interval has it: earlier events are not available anymore.
        F.coalesce(
            "returned", (F.col("last_before") == F.col("value")) & (F.col("op") != "rewrite"), F.lit(False)
        ).alias("returned"),
        F.when(F.col("is_second") | (~ended & F.col("next_epoch").isNotNull()), _refused())
        .otherwise(~ended)
        .alias("open"),
    )


TWO_VALUES: Final = "would have 2 values of"


def _refused() -> Column:
    """An error instead of a history in which a key has two values at once. It costs nothing if there is none."""
    key = F.coalesce(F.nullif("key", F.lit("")), F.lit("the topic itself"))
    resource = F.concat_ws(":", "resource_type", "resource_name")
    text = F.concat(resource, F.lit(" of cluster "), "cluster", F.lit(f" {TWO_VALUES} "), key, F.lit(" at once"))
    return F.raise_error(text).cast("boolean")


def _is_found() -> Column:
    """Whether the change that ends an interval found the expected value.

    Secrets cannot be read: a client or a snapshot only shows that one is set. The placeholders for a secret in a
    client's journal and in a followed log cannot be compared.
    """
    value, found = F.col("value"), F.col("next_before")
    unreadable = (F.col("end_origin") == "client") | value.isNull() | (value.rlike(_IN_LOG) != found.rlike(_IN_LOG))
    secret = F.col("sensitive") & found.isNotNull() & unreadable
    same = F.when(F.col("kind") == "topic", same_shape(value, found)).otherwise(meaning(value) == meaning(found))
    return found.eqNullSafe(value) | F.coalesce(secret | same, F.lit(False))


def seen_changes(events: DataFrame, incarnations: DataFrame) -> DataFrame:
    """Drop snapshot events that repeat the known value.

    For a recreated topic nothing is known: all its keys are new, even those with the same value.
    """
    number = incarnation_of("incarnations", "own")
    placed = with_incarnations(events, incarnations).withColumn("incarnation", number).drop("incarnations", "own")
    last = F.lag(F.struct("is_set", "value", "sensitive", "incarnation")).over(Window.partitionBy(*KEY).orderBy(*ORDER))
    is_topic, in_incarnation = F.col("kind") == "topic", F.col("was.incarnation") == F.col("incarnation")
    was_set = F.coalesce(F.col("was.is_set") & (is_topic | in_incarnation), F.lit(False))
    value, was = F.col("value"), F.col("was.value")
    same = F.when(is_topic, same_shape(was, value)).otherwise(meaning(was) == meaning(value))
    same = value.eqNullSafe(was) | F.coalesce(same, F.lit(False)) | (F.col("was.sensitive") & F.col("sensitive"))
    known = (was_set & F.col("is_set") & same & in_incarnation) | (~was_set & ~F.col("is_set"))
    shown = F.lead(F.struct("value", "origin", "incarnation")).over(Window.partitionBy(*KEY).orderBy(*ORDER))
    kept = placed.withColumns({"was": last, "shown": shown}).where((F.col("origin") != "snapshot") | ~known)
    return kept.withColumn("value", _filled()).select(*events.columns)


def _filled() -> Column:
    """A topic recorded by a client with incomplete partitions gets the rest from the next snapshot that shows it."""
    value, shown = F.col("value"), F.col("shown.value")
    short = partitions_of(value).isNull() | replication_of(value).isNull()
    is_shown = (
        (F.col("shown.origin") == "snapshot") & (F.col("shown.incarnation") == F.col("incarnation")) & shown.isNotNull()
    )
    whole = F.struct(
        F.coalesce(topic_id_of(value), topic_id_of(shown)).alias("id"),
        F.coalesce(partitions_of(value), partitions_of(shown)).alias("partitions"),
        F.coalesce(replication_of(value), replication_of(shown)).alias("replication"),
    )
    is_topic = (F.col("kind") == "topic") & F.col("is_set") & (F.col("origin") != "snapshot")
    return F.when(is_topic & is_shown & short, F.to_json(whole)).otherwise(value)


def topic_incarnations(events: DataFrame) -> DataFrame:
    """Per topic (`cluster`, `resource_name`) the events of the topic itself, as `incarnations`."""
    return incarnations_of(events.where("kind = 'topic'"), _NAME, ORDER, _ENDING)


def with_incarnations(rows: DataFrame, incarnations: DataFrame) -> DataFrame:
    """Rows with the `incarnations` of their topic (null for other resources), and their `own` position in the order.

    Incarnations are joined by hash: a merge join would sort and copy all rows again.
    """
    named = [F.col(f"l.{name}") == F.col(f"e.{name}") for name in _NAME]
    looked_up = incarnations.hint("shuffle_hash").alias("l")
    joined = rows.alias("e").join(looked_up, [*named, F.col("e.resource_type") == "topic"], "left")
    return joined.select("e.*", "incarnations", order("e").alias("own"))


def _within_topics(rows: DataFrame, incarnations: DataFrame) -> DataFrame:
    """End the keys of a topic when it is deleted, even if the journal does not contain this. A recreated topic has none
    of the old keys.

    Done in steps, because Spark's optimizer inlines an expression wherever its column is used.
    """
    found = with_incarnations(rows, incarnations)
    once = (F.size("incarnations") == 1) & (
        F.col("incarnations")[0]["order"] <= F.col("own")
    )  # most topics: no need to search
    ends = F.when((F.col("kind") == "config") & ~once, ended_by("incarnations", "own"))
    last = F.struct(*(F.col(f"last_{name}").alias(name) for name in ORDER))
    began = F.when(once, F.when(F.col("incarnations")[0]["new"], F.col("incarnations")[0]["order"])).otherwise(
        began_of("incarnations", "own")
    )
    found = found.select(
        *(name for name in found.columns if name not in ("incarnations", "own", "topic_id", "last_before")),
        F.coalesce(
            "topic_id", F.when(once, F.col("incarnations")[0]["id"]).otherwise(id_of("incarnations", "own"))
        ).alias("topic_id"),
        F.when(began.isNull() | (last >= began), F.col("last_before")).alias("last_before"),
        ends.alias("gone"),
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
