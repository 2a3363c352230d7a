"""Parses values and matches patterns on columns, by the type of the key, as configdef/java/parsing.py does.

Globs run in the JVM. Regular expressions run in RE2, which pyarrow contains, as on the server: Java's engine
backtracks, so a name chosen by a client could stop a run. Both take about the same time per row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from kconf.configdef.catalog import Catalog
from kconf.configdef.java.classes import KNOWN_CLASSES
from kconf.configdef.key import ConfigKey
from kconf.engine.policy.selectors import NamePattern
from kconf.model.entry import ValueType
from kconf.model.resource import ResourceType

KEYS: Final = (
    "resource_type string, key string, type string, distinct boolean, sensitive boolean, default string, "
    "rungs array<struct<name:string,factor:bigint,place:int>>"
)
"""The catalog as a table: the properties of a key, and its broker-level synonyms in order."""

_WHOLE: Final = ("INT", "SHORT", "LONG")
_TYPES: Final = (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP, ResourceType.CLIENT_METRICS)


def keys(catalog: Catalog) -> Iterable[dict[str, Any]]:
    """The rows of the catalog, of the keys that a describe shows."""
    for kind in _TYPES:
        for key in catalog.of(kind).values():
            if not key.internal and not key.dynamic_only:
                yield _row(kind, key)


def _row(kind: ResourceType, key: ConfigKey) -> dict[str, Any]:
    names = [(key.name, 1)] if kind is ResourceType.BROKER else [(each.name, each.factor) for each in key.fallbacks]
    return {
        "resource_type": kind.word,
        "key": key.name,
        "type": key.type.name,
        "distinct": key.validator is not None and key.validator.distinct,
        "sensitive": key.sensitive,
        "default": key.default,
        "rungs": [{"name": name, "factor": factor, "place": place} for place, (name, factor) in enumerate(names)],
    }


def trimmed(text: Column) -> Column:
    """Java's `String.trim`."""
    return F.regexp_replace(text, r"^[\x00-\x20]+|[\x00-\x20]+$", "")


def items(text: Column) -> Column:
    """The items of a LIST; none in an empty text."""
    # Without a lambda function, for which Spark would generate no code.
    split = F.split(F.regexp_replace(trimmed(text), r"\s*,\s*", ","), ",", -1)
    return F.when(trimmed(text) == "", F.array().cast("array<string>")).otherwise(split)


def whole(text: Column) -> Column:
    """An integer, or null. Most are in Spark's own format and need no regular expression."""
    number, digits = text.cast("bigint"), trimmed(text)
    plain = F.when(number.cast("string") == text, number)
    return F.coalesce(plain, F.when(digits.rlike(r"^[+-]?[0-9]{1,19}$"), digits.cast("bigint")))


def normalised(text: Column, kind: Column, distinct: Column) -> Column:
    """A stored value in the format of describe; invalid values are unchanged."""
    plain = trimmed(text)
    many = items(text)
    joined = F.array_join(F.when(distinct, F.array_distinct(many)).otherwise(many), ",")
    return (
        F.when(kind == ValueType.LIST.name, joined)
        .when(kind.isin(*_WHOLE), F.coalesce(whole(text).cast("string"), text))
        .when(
            kind == ValueType.BOOLEAN.name, F.when(F.lower(plain).isin("true", "false"), F.lower(plain)).otherwise(text)
        )
        .when(kind == ValueType.CLASS.name, F.when(plain.isin(*KNOWN_CLASSES), plain).otherwise(text))
        .when(kind == ValueType.DOUBLE.name, F.coalesce(plain.cast("double").cast("string"), text))
        .otherwise(plain)
    )


def matches_pattern(name: Column, pattern: NamePattern) -> Column:
    """Whether a pattern matches a name."""
    if pattern.is_regex:
        return matches_regex(name, pattern.regex)
    start, ending = pattern.text.removesuffix("*"), pattern.text.endswith("*")
    if not set("*?[") & set(start):  # most globs; a regular expression takes longer
        return name.startswith(start) if ending else name == start
    return name.rlike(pattern.regex.removesuffix(r"\Z") + r"\z")  # Java's \Z also matches before a final line break


def matches_regex(text: Column, regex: str) -> Column:
    """Whether a regular expression matches anywhere in a string; null if the string is null."""

    def matched(texts: pa.Array) -> pa.Array:
        return pc.match_substring_regex(texts, regex)

    typed: Any = arrow_udf  # its stubs do not accept a plain function
    column: Column = typed(matched, "boolean")(text)
    return column
