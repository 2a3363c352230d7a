"""Parses and checks lines of the archive: changes, attempts, and rejected lines.

A line is accepted completely or not at all. The reason for rejecting it is its `fault`. A line with a secret that is
not hashed is rejected and `hidden`, because the lake must not contain secrets. So is a line that cannot be parsed,
because it may contain one. Other rejected lines are stored without values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kconf.configdef.broker import BROKER
from kconf.model.lines.fields import ATTEMPT_LINE, CHANGE_LINE
from kconf.model.lines.journal import FORMAT

_KINDS: Final = ("config", "topic")
LATEST: Final = 253_370_764_800_000
"""The start of the year 9999, in milliseconds: times must be earlier, so that computations cannot overflow."""
_TIMES: Final = ("time", "answered")
_MOST: Final = {
    **dict.fromkeys(("epoch", "revision", "sequence", "log_begin", "log_end"), 1 << 60),
    **dict.fromkeys(("line", "lines"), 1 << 30),
    "number": (1 << 63) - 1,  # a gateway starts to count its attempts at a random number below 2^62
}
"""Exclusive upper limits of numbers, for the same reason."""
_SECRETS: Final = tuple(sorted(name for name, key in BROKER.items() if key.sensitive))
"""Keys that are secrets everywhere, also with a listener prefix."""
_MAY_HAVE_ONE: Final = "|".join([*map(re.escape, _SECRETS), r'"sensitive"\s*:\s*true'])
_VALUE: Final = r'"(before|after)"(\s*:\s*)"(?!hmac:)[^"\\]*+(?:\\.[^"\\]*+)*+"?'  # or a truncated one


def _fields() -> str:
    """The fields of both kinds of lines."""
    types = {each.name: each.type for each in (*CHANGE_LINE, *ATTEMPT_LINE)} | {"_corrupt": "string"}
    return ", ".join(f"`{name}` {kind}" for name, kind in types.items())


def read(lines: DataFrame) -> DataFrame:
    """Lines (`value`, `file`) with their fields; `fault` is null for valid lines."""
    line = F.from_json("value", _fields(), {"columnNameOfCorruptRecord": "_corrupt"})
    fields = lines.where(F.trim("value") != "").select("value", "file", line.alias("line"))
    read = fields.select("value", "file", "line.*").withColumn("attempt", F.col("number").isNotNull())
    fault = F.when(F.col("_corrupt").isNotNull(), "not a complete JSON object with the fields of a line")
    fault = fault.when(
        F.coalesce("format", F.lit(0)) > FORMAT, "written by a newer version of kconf, in an unknown format"
    )
    for attempt, defined in ((True, ATTEMPT_LINE), (False, CHANGE_LINE)):
        for name in (each.name for each in defined if each.is_required):
            missing = (F.col("attempt") == attempt) & F.col(name).isNull()
            fault = fault.when(missing, f"the field {name} is missing")
    for name in _TIMES:
        fault = fault.when(~is_time(F.col(name)), f"its {name} is not between 1970 and 9998")
    for name, most in _MOST.items():
        fault = fault.when(~F.col(name).between(0, most - 1), f"its {name} is out of range")
    fault = fault.when(~F.col("attempt") & ~F.col("kind").isin(*_KINDS), "its kind is unknown")
    fault = fault.when(_unsealed(), "it contains a secret that is not hashed")
    suspect = F.col("_corrupt").isNotNull() & F.col("value").rlike(_MAY_HAVE_ONE)
    read = read.withColumn("fault", fault).withColumn("hidden", F.coalesce(_unsealed(), F.lit(False)) | suspect)
    hands = F.coalesce(F.concat("os_user", F.lit("@"), "host"), "host")  # a client's own journal has their authors
    read = read.withColumn("host", hands)
    read = read.withColumns({name: F.when(is_time(F.col(name)), F.timestamp_millis(name)) for name in _TIMES})
    return read.drop("_corrupt", "format", "os_user", "outcome")


def is_time(millis: Column) -> Column:
    """Whether a number of milliseconds is a time that all tables can have; null if it is null."""
    return millis.between(0, LATEST - 1)


_SEALED = r"^(iterations=[0-9]+ )?(hmac:[0-9a-f]{64}|log:[0-9]+)$"
"""A keyed hash, or the offset in a metadata log at which a secret was set."""


def _unsealed() -> Column:
    """A value that should be a keyed hash but is not."""
    key = F.col("key")
    behind_listener = key.startswith("listener.name.") & F.coalesce(
        *(F.nullif(key.endswith(each), F.lit(False)) for each in _SECRETS), F.lit(False)
    )
    secret = F.col("sensitive") | key.isin(*_SECRETS) | behind_listener
    shown = [F.col(name).isNotNull() & ~F.col(name).rlike(_SEALED) for name in ("before", "after")]
    return secret & (shown[0] | shown[1])


def changes(read: DataFrame) -> DataFrame:
    return read.where(F.col("fault").isNull() & ~F.col("attempt"))


def attempts(read: DataFrame) -> DataFrame:
    return read.where(F.col("fault").isNull() & F.col("attempt"))


OTHER_VALUE: Final = "a line with the same number was read before and has another value, which is kept"


def contradicting(changes: DataFrame, known: DataFrame, name: Sequence[str]) -> DataFrame:
    """New lines with another value than the line of the same `name` that is `known`, or that comes first; `fault` says
    so. Secrets are not compared, nor topics of a log: several programs describe them, each in its own way.
    """
    own = changes.select(*changes.columns, F.lit(1).alias("rank"))
    rows = own.unionByName(known.select(*name, "after", F.lit(0).alias("rank")), allowMissingColumns=True)
    has_author = F.coalesce((F.col("principal") != "") | F.col("reason").isNotNull(), F.lit(False))
    same_name = Window.partitionBy(*name).orderBy("rank", F.desc(has_author), "file")
    rows = rows.withColumn("first", F.first(F.struct("after")).over(same_name)["after"])
    is_comparable = ~F.col("sensitive") & ((F.col("kind") == "config") | (F.col("origin") == "kconf"))
    wrong = rows.where((F.col("rank") == 1) & is_comparable & ~F.col("after").eqNullSafe(F.col("first")))
    return wrong.withColumn("fault", F.lit(OTHER_VALUE)).select(*changes.columns)


def quarantine(read: DataFrame) -> DataFrame:
    """Rejected lines, without values: values of unknown keys may be secrets."""
    line = F.regexp_replace(F.make_valid_utf8("value"), _VALUE, '"$1"$2"[hidden]"')
    return read.where(F.col("fault").isNotNull()).select(
        F.when(F.col("hidden"), "[hidden]").otherwise(line).alias("line"),
        F.col("fault").alias("reason"),
        F.current_timestamp().alias("time"),
        "file",
        "round",
    )
