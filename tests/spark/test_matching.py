"""Patterns match the same names in the pipeline and in the server's policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kconf.engine.policy.regex import anchored, compile_regex
from kconf.engine.policy.selectors import NamePattern
from kconf.spark.delta_tables import local
from kconf.spark.transforms.values import matches_pattern, matches_regex

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ["", "pay", "xpay2", "PAY", "pay.a.b", "v1", "été", "a\nb", "pay\n", "😀", "a" * 255 + "!"]
PATTERNS = [
    "pay",
    "pay*",
    "v?",
    "/pay/",
    "/^pay$/",
    "/(?i)^pay/",
    r"/\w+$/",
    "/^.$/",
    "/a.b/",
    "/[[:digit:]]/",
    "/(a+)+$/",
]
WHOLE = ["pay|v1", r"(\w+\.?)*", "(a|aa)+", "é.*", "", ".*a.*b.*"]


def test_a_pattern_matches_the_same_names_in_a_column_and_in_a_policy(spark: SparkSession) -> None:
    rows = local(spark, [{"name": each} for each in [*NAMES, None]], "name string")
    name = F.col("name")
    columns = [matches_pattern(name, NamePattern(each)).alias(each) for each in PATTERNS]
    columns += [matches_regex(name, anchored(each)).alias(f"whole {each}") for each in WHOLE]

    found = {row["name"]: row for row in rows.select("name", *columns).collect()}

    for each in NAMES:
        for text in PATTERNS:
            assert found[each][text] is bool(NamePattern(text).compiled().search(each)), (each, text)
        for text in WHOLE:
            assert found[each][f"whole {text}"] is compile_regex(text, whole=True).search(each), (each, text)
    assert set(found[None].asDict().values()) == {None}
