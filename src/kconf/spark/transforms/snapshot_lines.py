"""Parses and checks lines of snapshot files: a file is accepted completely or not at all."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.lake.schemas import SNAPSHOT_LINE, ddl
from kconf.model.lines.journal import FORMAT
from kconf.spark.transforms.lines import is_time

_HEAD: Final = (
    "`format` int, `lines` bigint, `missing` array<struct<what:string,error:string,message:string>>, `_corrupt` string"
)
_OF_THE_HEAD: Final = ("cluster", "started", "taken")


def read(lines: DataFrame) -> DataFrame:
    """Lines (`value`, `file`) with their fields, and per file the `reason` for rejecting it."""
    line = F.from_json("value", f"{ddl(SNAPSHOT_LINE)}, {_HEAD}", {"columnNameOfCorruptRecord": "_corrupt"})
    read = lines.where(F.trim("value") != "").select(F.col("value").alias("text"), "file", line.alias("line"))
    read = read.select("text", "file", "line.*")
    ends = F.max(F.when(F.col("kind") == "end", F.col("lines")))
    files = read.groupBy("file").agg(
        *(F.max(F.when(F.col("kind") == "snapshot", F.col(name))).alias(name) for name in _OF_THE_HEAD),
        F.max("format").alias("format"),
        F.count("*").alias("count"),
        ends.alias("whole"),
        F.max(F.col("_corrupt").isNotNull()).alias("corrupt"),
    )
    reason = (
        F.when(F.col("corrupt"), "a line is not a complete JSON object with the fields of a snapshot")
        .when(F.col("format") > FORMAT, "written by a newer version of kconf, in an unknown format")
        .when(F.col("cluster").isNull() | F.col("taken").isNull(), "it does not start with a header line")
        .when(~is_time(F.col("taken")) | ~is_time(F.col("started")), "its time is not between 1970 and 9998")
        .when(F.coalesce("whole", F.lit(-1)) != F.col("count") - 1, "the snapshot is incomplete: its end is missing")
    )
    evaluated = files.select("file", *_OF_THE_HEAD, reason.alias("reason"))
    return read.drop(*_OF_THE_HEAD).join(F.broadcast(evaluated), "file")


def taken(read: DataFrame) -> DataFrame:
    """The lines of complete files, in the format of the source for live clusters."""
    good = read.where(F.col("reason").isNull())
    names = [each.name for each in SNAPSHOT_LINE]
    unseen = good.where("kind = 'snapshot'").withColumn("each", F.explode("missing"))
    unseen = unseen.withColumn("kind", F.lit("missing")).withColumn("name", F.col("each.what"))
    return good.select(*names, "file").unionByName(unseen.select(*names, "file"))


def quarantine(read: DataFrame) -> DataFrame:
    """One row per rejected file."""
    bad = read.where(F.col("reason").isNotNull()).groupBy("file", "reason")
    return bad.agg(F.lit("[a whole snapshot]").alias("line")).withColumn("time", F.current_timestamp())
