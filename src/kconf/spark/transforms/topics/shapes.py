"""The partitions of a topic in both formats: the journal lists the replicas of each partition, a snapshot
counts them."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

NO_ID: Final = "A" * 22
"""The zero ID, returned by brokers without topic IDs."""
_BOOLEANS: Final = ("true", "false")


def topic_id_of(topic: str | Column) -> Column:
    """The ID; null: unknown."""
    return F.nullif(F.get_json_object(topic, "$.id"), F.lit(NO_ID))


def partitions_of(topic: str | Column) -> Column:
    """The number of partitions; null: unknown, for example if a client used the broker's default."""
    counted = F.get_json_object(topic, "$.partitions").cast("int")
    return _positive(F.coalesce(counted, F.json_array_length(F.get_json_object(topic, "$.replicas"))))


def replication_of(topic: str | Column) -> Column:
    """The number of replicas of the first partition; null: unknown."""
    counted = F.get_json_object(topic, "$.replication").cast("int")
    return _positive(F.coalesce(counted, F.json_array_length(F.get_json_object(topic, "$.replicas[0]"))))


def same_shape(one: Column, other: Column) -> Column:
    """Whether two values describe the same topic with the same partitions; what only one of them has is not
    compared."""
    same = F.lit(True)
    for fact in (topic_id_of, partitions_of, replication_of):
        same = same & F.coalesce(fact(one) == fact(other), F.lit(True))
    return same & one.isNotNull() & other.isNotNull()


def meaning(value: Column) -> Column:
    """A value as a broker describes it; a client may have written it with spaces or capitals."""
    text = F.trim(value)
    return F.when(F.lower(text).isin(*_BOOLEANS), F.lower(text)).otherwise(F.regexp_replace(text, r"\s*,\s*", ","))


def _positive(count: Column) -> Column:
    return F.when(count > 0, count)
