"""Compares declared with actual values by meaning: values are parsed by type, and inherited values need not be set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.configdef.broker import BROKER
from kconf.configdef.dynamic import base_name
from kconf.engine.access.acls import key_of, pattern_of
from kconf.engine.declarative.model import SCOPES, THROTTLES, Declared, Scope
from kconf.engine.policy.selectors import Names
from kconf.model.resource import Resource, ResourceType
from kconf.spark.transforms.effective import OWN
from kconf.spark.transforms.values import matches_pattern, normalised

_KEY: Final = ("resource_type", "resource_name", "key")
_NAMED: Final = ("topic", "broker", "group", "client-metrics", "quota")
PARTITIONS: Final = "partitions"
REPLICATION: Final = "replication_factor"


def declared_rows(declared: Declared, cluster: str | None) -> Iterable[dict[str, Any]]:
    """The rows of table `declared`. Secrets are marked but not included; unknown keys likewise."""

    def row(
        resource: Resource, key: str, value: str | None, place: object, *, sensitive: bool = False
    ) -> dict[str, Any]:
        named = {"resource_type": resource.type.word, "resource_name": resource.name}
        return {"cluster": cluster, **named, "key": key, "value": value, "sensitive": sensitive, "place": str(place)}

    for name, topic in declared.topics.items():
        yield row(Resource.topic(name), "", "", topic.place)
        for key, count in ((PARTITIONS, topic.partitions), (REPLICATION, topic.replication)):
            if count is not None:
                yield row(Resource.topic(name), key, str(count), topic.place)
    for resource, values in declared.configs.items():
        for key, wanted in values.items():
            hidden = wanted.text is None or not _is_known(resource.type, key)
            yield row(resource, key, None if hidden else wanted.text, wanted.place, sensitive=hidden)
    for entity, values in declared.quotas.items():
        for key, wanted in values.items():
            yield {**row(entity.resource, key, wanted.text, wanted.place), "entity": dict(entity.parts)}
    for user, credentials in declared.users.items():
        for mechanism, credential in credentials.items():
            yield row(Resource(ResourceType.SCRAM, user), mechanism.word, None, credential.place, sensitive=True)
    for binding, place in declared.acls.items():
        yield row(pattern_of(binding).resource, key_of(binding), "", place)


def _is_known(kind: ResourceType, name: str) -> bool:
    """Brokers accept unknown keys, and do not show their values."""
    return kind is not ResourceType.BROKER or base_name(name) in BROKER


def actual(effective: DataFrame, current: DataFrame, topics: DataFrame) -> DataFrame:
    """The actual values to compare with: (cluster, resource, key, value, source, sensitive, below)."""
    below = F.get("ladder", F.lit(1))["value"].alias("below")
    configs = effective.select("cluster", *_KEY, "value", "source", "sensitive", below)
    others = current.where("kind = 'config' AND resource_type IN ('quota', 'scram', 'acl')")
    others = others.select(
        "cluster", *_KEY, "value", F.lit(None).alias("source"), "sensitive", F.lit(None).alias("below")
    )
    there = topics.where("exists")
    shapes = [
        there.select(
            *("cluster", F.lit("topic").alias("resource_type"), F.col("topic").alias("resource_name")),
            *(F.lit(key).alias("key"), value.cast("string").alias("value"), F.lit(None).alias("source")),
            *(F.lit(False).alias("sensitive"), F.lit(None).alias("below")),
        )
        for key, value in ((PARTITIONS, F.col("partitions")), (REPLICATION, F.col("replication")), ("", F.lit("")))
    ]
    return configs.union(others).union(shapes[0]).union(shapes[1]).union(shapes[2])


def wanted(declared: DataFrame, clusters: DataFrame, keys: DataFrame) -> DataFrame:
    """The declared values of each cluster, with the type and default of their keys."""
    types = keys.select("resource_type", "key", "type", "distinct", F.col("default"))
    found = declared.alias("d").join(clusters.alias("c"), F.coalesce("d.cluster", "c.cluster") == F.col("c.cluster"))
    found = found.select("c.cluster", *(f"d.{name}" for name in (*_KEY, "value", "sensitive", "place")))
    return found.join(F.broadcast(types), ["resource_type", "key"], "left")


def drift(wanted: DataFrame, actual: DataFrame, current: DataFrame, owned: Column) -> DataFrame:
    """The differences, with the change that caused each. `owned`: whether the files manage a value that is set."""
    same = [F.col(f"w.{name}") == F.col(f"a.{name}") for name in ("cluster", *_KEY)]
    both = wanted.alias("w").join(actual.alias("a"), same, "full")
    meant = F.when(F.col("w.type").isNull(), F.col("w.value")).otherwise(
        normalised(F.col("w.value"), F.col("w.type"), F.col("w.distinct"))
    )
    numbers = meant.cast("double") == F.col("a.value").cast("double")
    is_there = F.col("a.cluster").isNotNull()
    holds = F.col("a.value").eqNullSafe(meant) | (F.col("w.type").isNull() & F.coalesce(numbers, F.lit(False)))
    holds = holds | (F.col("w.sensitive") & is_there) | (~is_there & F.col("w.default").eqNullSafe(meant))
    own = F.col("a.source").isNull() | (F.col("a.source") == _own_level("a"))
    nobodys = F.col("w.cluster").isNull() & own & ~F.col("a.value").eqNullSafe(F.col("a.below"))
    kind = (
        F.when(F.col("w.cluster").isNull(), F.when(nobodys, "undeclared"))
        .when(~is_there & (F.col("w.key") == ""), "missing")
        .when(~holds, "differs")
    )
    rows = both.withColumn("what", kind).where(F.col("what").isNotNull())
    rows = rows.select(
        *(F.coalesce(f"w.{name}", f"a.{name}").alias(name) for name in ("cluster", *_KEY)),
        *(F.col("what").alias("kind"), meant.alias("declared"), F.col("a.source").alias("source"), "place"),
        F.when(~F.coalesce(F.col("a.sensitive"), F.lit(False)), F.col("a.value")).alias("actual"),
    )
    named = wanted.where(F.col("resource_type").isin(*_NAMED)).select("cluster", *_KEY[:2]).distinct()
    rows = rows.join(named.withColumn("named", F.lit(True)), ["cluster", *_KEY[:2]], "left")
    rows = rows.where((F.col("kind") != "undeclared") | owned).drop("named")
    who = current.select("cluster", *_KEY, "since", "principal", "reason")
    return rows.join(who, ["cluster", *_KEY], "left")


def owned(declared: Declared) -> Column:
    """Whether the files manage a row: it matches a selector, or a declared resource (the column `named`).

    Ignored and unmanaged keys are excluded, and so are replication throttles.
    """
    ignored_keys = [each for scope in declared.ignored if scope.word == "key" for each in scope.names.patterns]
    key_ignored = _any([matches_pattern(F.col("key"), each) for each in ignored_keys])
    inside = _any([_covers(each) for each in declared.selectors])
    outside = _any([_covers(each) for each in declared.ignored if each.word != "key"])
    return (
        (inside | F.coalesce(F.col("named"), F.lit(False)))
        & ~outside
        & ~_unmanaged(declared)
        & ~key_ignored
        & ~F.col("key").isin(*THROTTLES)
        & ~F.col("key").isin("", PARTITIONS, REPLICATION)
    )


def _unmanaged(declared: Declared) -> Column:
    """Unmanaged keys of single topics; topics with the same patterns share one condition."""
    topics: dict[Names, list[str]] = {}
    for resource, patterns in declared.unmanaged.items():
        topics.setdefault(patterns, []).append(resource.name)
    return _any(
        [
            (F.col("resource_type") == "topic")
            & F.col("resource_name").isin(*names)
            & _any([matches_pattern(F.col("key"), each) for each in patterns.patterns])
            for patterns, names in topics.items()
        ]
    )


def _own_level(side: str) -> Column:
    """The source of a value set on the resource itself."""
    kind, name = F.col(f"{side}.resource_type"), F.col(f"{side}.resource_name")
    broker = F.when(name == "", "DYNAMIC_DEFAULT_BROKER_CONFIG").otherwise("DYNAMIC_BROKER_CONFIG")
    levels = [F.when(kind == word, F.lit(level)) for word, level in OWN.items()]
    return F.coalesce(F.when(kind == "broker", broker), *levels)


def _covers(scope: Scope) -> Column:
    name = F.col("resource_name")
    is_kind = F.col("resource_type") == SCOPES[scope.word].word
    if scope.word == "brokers":
        return is_kind & (name == "")
    if not scope.names.patterns:
        return is_kind
    if scope.word == "acl":
        name = F.get_json_object("key", "$[0]")
    named = _any([matches_pattern(name, each) for each in scope.names.patterns])
    return is_kind & named & ((name != "") | F.lit(scope.word != "broker"))


def _any(conditions: list[Column]) -> Column:
    whole = F.lit(False)
    for each in conditions:
        whole = whole | each
    return whole
