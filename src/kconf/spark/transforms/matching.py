"""Patterns of rules, declared files and owners, on a column.

A glob runs in the JVM. A regular expression runs in RE2, which pyarrow has, as it does on the server: Java's own engine
backtracks, so that a name which some client chose could stop a run. Both take about the same time per row.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf

from kconf.engine.policy_rules import Pattern


def matches_pattern(name: Column, pattern: Pattern) -> Column:
    """Whether a pattern is found in a name."""
    if pattern.is_regex:
        return matches_regex(name, pattern.regex)
    return name.rlike(pattern.regex.removesuffix(r"\Z") + r"\z")  # Java's \Z also stands before a last line break


def matches_regex(text: Column, regex: str) -> Column:
    """Whether a regular expression is found anywhere in a text; null where the text is."""

    def matched(texts: pa.Array) -> pa.Array:
        return pc.match_substring_regex(texts, regex)

    found: Column = arrow_udf(matched, "boolean")(text)  # type: ignore[call-overload]  # the stubs want no type hints
    return found
