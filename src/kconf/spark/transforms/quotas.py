"""The effective quotas by the levels of `PRECEDENCE`, for every user and client ID at once."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.engine.quotas.precedence import PRECEDENCE
from kconf.model.quota import CLIENT_ID, USER

_NONE, _DEFAULT, _NAMED = "none", "default", "named"


def seen(current: DataFrame, activity: DataFrame, usage: DataFrame) -> DataFrame:
    """Every pair of user and client ID that sent requests, has usage data, or has a quota."""
    callers = activity.select("cluster", "principal", "client_id")
    user = F.regexp_extract("principal", "^User:(.*)$", 1).alias("user")
    callers = (
        callers.where(F.col("principal").isNotNull())
        .distinct()
        .select("cluster", user, F.coalesce("client_id", F.lit("")).alias("client_id"))
    )
    quotas = current.where("resource_type = 'quota'")
    named = [F.coalesce(F.element_at("entity", F.lit(kind)), F.lit("")) for kind in (USER, CLIENT_ID)]
    entities = quotas.select("cluster", *named)
    return (
        callers.union(entities)
        .union(usage.select("cluster", "user", "client_id"))
        .distinct()
        .where("user <> '' OR client_id <> ''")
    )


def effective(current: DataFrame, seen: DataFrame, usage: DataFrame) -> DataFrame:
    """The quotas that apply to each pair, and its usage."""
    stored = current.where((F.col("resource_type") == "quota") & ~F.map_contains_key("entity", "ip")).select(
        "cluster", *_place(), F.col("key"), F.col("value").cast("double").alias("value")
    )
    asked = seen.select("*", F.explode(F.array(*_levels())).alias("level")).select(
        "cluster", "user", "client_id", "level.*"
    )
    asked = asked.where(
        ((F.col("u") == _NONE) | (F.col("user") != "")) & ((F.col("c") == _NONE) | (F.col("client_id") != ""))
    )
    found = asked.join(stored, ["cluster", "u", "u_name", "c", "c_name"])
    rung = F.struct("rank", "source", "value")
    ladders = found.groupBy("cluster", "user", "client_id", "key").agg(F.array_sort(F.collect_list(rung)).alias("all"))
    values = F.transform("all", lambda each: F.struct(each["source"].alias("source"), each["value"].alias("value")))
    used = usage.groupBy("cluster", "user", "client_id", "key").agg(F.max("rate").alias("used"))
    rows = ladders.withColumn("ladder", values).join(used, ["cluster", "user", "client_id", "key"], "left")
    value = F.col("ladder")[0]["value"]
    return rows.select(
        *("cluster", "user", "client_id", "key", value.alias("value"), F.col("ladder")[0]["source"].alias("source")),
        *("ladder", "used", F.when(value > 0, F.col("used") / value).alias("share")),
    )


def _place() -> list[Column]:
    """The level of a stored quota: named, default or absent, for the user and for the client ID."""
    return [column for kind, short in ((USER, "u"), (CLIENT_ID, "c")) for column in _part(kind, short)]


def _part(kind: str, short: str) -> list[Column]:
    name = F.element_at("entity", F.lit(kind))
    how = F.when(~F.map_contains_key("entity", kind), _NONE).when(name.isNull(), _DEFAULT).otherwise(_NAMED)
    return [how.alias(short), F.coalesce(name, F.lit("")).alias(f"{short}_name")]


def _levels() -> list[Column]:
    """The levels to check for a user with a client id, in order."""
    made = []
    for rank, source in enumerate(PRECEDENCE):
        parts = dict(source.entity("u", "c").parts)
        fields = [F.lit(rank).alias("rank"), F.lit(source.name).alias("source")]
        for kind, short, column in ((USER, "u", "user"), (CLIENT_ID, "c", "client_id")):
            how = _NONE if kind not in parts else _DEFAULT if parts[kind] is None else _NAMED
            fields += [F.lit(how).alias(short), (F.col(column) if how == _NAMED else F.lit("")).alias(f"{short}_name")]
        made.append(F.struct(*fields))
    return made
