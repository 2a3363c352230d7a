"""What a topic is, whoever wrote it: the journal names the replicas of each partition, a snapshot counts them."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

NO_ID: Final = "A" * 22
"""Zero, as ids are written: what a broker older than topic ids returns."""
_BOOLEANS: Final = ("true", "false")


def topic_id_of(topic: str | Column) -> Column:
    """The id; null: unknown."""
    return F.nullif(F.get_json_object(topic, "$.id"), F.lit(NO_ID))


def partitions_of(topic: str | Column) -> Column:
    """How many partitions a topic has; null: unknown, as where a client left it to the broker's default."""
    counted = F.get_json_object(topic, "$.partitions").cast("int")
    return _positive(F.coalesce(counted, F.json_array_length(F.get_json_object(topic, "$.replicas"))))


def replication_of(topic: str | Column) -> Column:
    """How many replicas its first partition has; null: unknown."""
    counted = F.get_json_object(topic, "$.replication").cast("int")
    return _positive(F.coalesce(counted, F.json_array_length(F.get_json_object(topic, "$.replicas[0]"))))


def same_shape(one: Column, other: Column) -> Column:
    """Whether two texts are about one topic with one shape; what only one of them has is not compared."""
    same = F.lit(True)
    for fact in (topic_id_of, partitions_of, replication_of):
        same = same & F.coalesce(fact(one) == fact(other), F.lit(True))
    return same & one.isNotNull() & other.isNotNull()


def meaning(value: Column) -> Column:
    """A value as a broker describes it, where a client may have written it with spaces or capitals."""
    text = F.trim(value)
    return F.when(F.lower(text).isin(*_BOOLEANS), F.lower(text)).otherwise(F.regexp_replace(text, r"\s*,\s*", ","))


def _positive(count: Column) -> Column:
    return F.when(count > 0, count)
