"""Generates a journal of any length with Spark: topics are created, changed, deleted and recreated.

The events of a key are as far apart as there are keys, so the previous value is known without a look-up; one event in a
hundred has a different one. One event in ten removes its key. Every two thousandth event deletes a topic, and the next
one recreates it.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

KEYS = ("retention.ms", "segment.bytes", "min.insync.replicas", "max.message.bytes", "segment.ms")
CLUSTER = "bench-cluster"
RULES = """
labels:
  topic:*: {tier: bronze}
  topic:topic-1*: {tier: gold}
rules:
  - {id: retention, selector: topic, key: retention.ms, condition: {min: 1050}}
  - {id: segment, selector: "topic:topic-*", key: segment.bytes, condition: {min: 1010}, severity: warn}
  - {id: durable, selector: {type: topic, labels: {tier: gold}}, key: min.insync.replicas, condition: {min: 1020}}
  - {id: partitions, selector: topic, key: partitions, condition: {max: 12}}
  - {id: replication, selector: topic, key: replication_factor, condition: {min: 2}}
  - {id: message, selector: {type: topic, except: "topic-9*"}, key: max.message.bytes, condition: {min: 1020}}
"""
"""Rules of the usual kinds: one value of twenty to one of a hundred breaks the one about it."""
_STEP = 7919  # a prime, so that keys are not in order
_BEGAN = 1_700_000_000_000
_EVENT_MS = 100
_SMALL_CLUSTERS = 999


def events(spark: SparkSession, first: int, count: int, keys: int, round_: int) -> DataFrame:
    """The events of one cluster from `first` on, as rows of the table `journal`."""
    rows = spark.range(first, first + count)
    return _journal(rows.select("id", F.lit(CLUSTER).alias("cluster"), F.lit(keys).alias("keys")), round_)


def events_of_many(spark: SparkSession, first: int, count: int, round_: int) -> DataFrame:
    """The same for 1,000 clusters with 2 million keys: one has half of the events and of the keys, at all times."""
    number, pair = F.col("id"), F.floor(F.col("id") / 2)
    is_large = number % 2 == 0
    rows = spark.range(first - 1, first - 1 + count).select(
        F.when(is_large, pair).otherwise(F.floor(pair / _SMALL_CLUSTERS)) + 1,
        F.when(is_large, F.lit("large")).otherwise(F.format_string("small-%03d", pair % _SMALL_CLUSTERS)),
        F.when(is_large, F.lit(1_000_000)).otherwise(F.lit(1_000)),
    )
    return _journal(rows.toDF("id", "cluster", "keys"), round_)


def _journal(rows: DataFrame, round_: int) -> DataFrame:
    """The events with the numbers `id` of clusters with so many keys."""
    topics, number = F.floor(F.col("keys") / len(KEYS)), F.col("id")
    made, turn = number <= topics, F.floor(number / 2000)
    deletes, remakes = ~made & (number % 2000 == 0), ~made & (number % 2000 == 1)
    slot = F.pmod(number * _STEP, F.col("keys"))
    topic = F.when(made, number - 1).when(deletes | remakes, F.pmod(turn * _STEP, topics))
    rows = rows.select(
        *("id", "cluster", "keys"),
        topics.alias("topics"),
        turn.alias("turn"),
        slot.alias("slot"),
        F.coalesce(topic, F.floor(slot / len(KEYS))).alias("topic"),
        F.when(made, "make").when(deletes, "delete").when(remakes, "remake").alias("what"),
    )
    what, topics, life = F.col("what"), F.col("topics"), F.floor(F.col("turn") / F.col("topics"))
    lies = F.pmod(F.xxhash64("id", F.lit(3)), F.lit(100)) == 0
    before = F.when(what == "delete", _shape(life)).when(what.isNull(), _value(number - F.col("keys"), topics))
    after = (
        F.when(what == "make", _shape(F.lit(0)))
        .when(what == "remake", _shape(life + 1))
        .when(what.isNull(), _value(number, topics))
    )
    texts = {"origin": "kconf", "client_id": "admin", "host": "127.0.0.1", "op": "set"}
    texts |= {"resource_type": "topic", "api": "IncrementalAlterConfigs", "file": "segment.jsonl"}
    return rows.select(
        "cluster",
        *(F.lit(text).alias(name) for name, text in texts.items()),
        *(F.lit(1).alias(name) for name in ("epoch", "lines")),
        *(number.alias(name) for name in ("revision", "sequence", "request_id")),
        F.lit(0).alias("line"),
        F.timestamp_millis(F.lit(_BEGAN) + number * _EVENT_MS).alias("time"),
        F.concat(F.lit("User:u"), (number % 50).cast("string")).alias("principal"),
        F.when(number % 3 == 0, F.concat(F.lit("ticket "), F.floor(number / 1000).cast("string"))).alias("reason"),
        F.when(what.isNull(), "config").otherwise("topic").alias("kind"),
        F.concat(F.lit("topic-"), F.col("topic").cast("string")).alias("resource_name"),
        F.when(what.isNull(), _key()).otherwise("").alias("key"),
        F.when(what.isNull() & lies, "1").otherwise(before).alias("before"),
        after.alias("after"),
        F.lit(False).alias("sensitive"),
        F.lit(round_).alias("round"),
    )


def looked(spark: SparkSession, keys: int, events: int) -> DataFrame:
    """A snapshot after this many events, as rows of `snapshot`; one value in a hundred differs."""
    taken = _BEGAN + (events + 1000) * _EVENT_MS
    slots = spark.range(keys).withColumn("slot", F.col("id")).withColumn("topic", F.floor(F.col("id") / len(KEYS)))
    facts = slots.select(
        F.lit("config").alias("kind"),
        F.lit("topic").alias("resource_type"),
        F.concat(F.lit("topic-"), F.col("topic").cast("string")).alias("resource_name"),
        _key().alias("key"),
        F.when(F.col("id") % 100 == 0, "7").otherwise(_last(keys, events)).alias("value"),
        F.lit("DYNAMIC_TOPIC_CONFIG").alias("source"),
    ).where("value IS NOT NULL")
    head = spark.range(1).select(F.lit("snapshot").alias("kind"), F.lit(str(taken - 10)).alias("value"))
    rows = facts.unionByName(head, allowMissingColumns=True)
    common = {"cluster": F.lit(CLUSTER), "taken": F.timestamp_millis(F.lit(taken)), "round": F.lit(1)}
    return rows.withColumns({**common, "sensitive": F.lit(False), "gone": F.lit(False)})


def _last(keys: int, events: int) -> Column:
    """The value set by the last event of a slot: the event n with n × _STEP ≡ slot."""
    back = pow(_STEP, -1, keys)
    first = F.pmod(F.col("slot") * back, F.lit(keys))
    return _value(first + F.floor((F.lit(events) - first) / keys) * keys, F.lit(keys // len(KEYS)))


def _key() -> Column:
    return F.element_at(F.array(*map(F.lit, KEYS)), (F.col("slot") % len(KEYS) + 1).cast("int"))


def _value(number: Column, topics: Column) -> Column:
    """The value that an event sets; null if it removes the key."""
    fresh = (F.pmod(F.xxhash64(number, F.lit(1)), F.lit(1000)) + 1000).cast("string")
    return F.when((number > topics) & (F.pmod(F.xxhash64(number, F.lit(2)), F.lit(10)) != 0), fresh)


def _shape(life: Column) -> Column:
    """A topic in the format of the journal, with a different ID in each incarnation."""
    identity = F.hex(F.xxhash64("topic", life.cast("bigint")))
    return F.concat(F.lit('{"id":"'), identity, F.lit('","replicas":[[1,2,3]]}'))
