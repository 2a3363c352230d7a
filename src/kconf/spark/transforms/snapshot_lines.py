"""Lines of snapshot files, read and judged: a file is taken whole or not at all."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.lake.schemas import SNAPSHOT_LINE, ddl
from kconf.model.lines.journal import FORMAT

_HEAD: Final = (
    "`format` int, `lines` bigint, `missing` array<struct<what:string,error:string,message:string>>, `_corrupt` string"
)
_OF_THE_HEAD: Final = ("cluster", "started", "taken")


def read(lines: DataFrame) -> DataFrame:
    """Lines (`value`, `file`) with their fields, and per file the `reason` why it cannot be taken."""
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
        F.when(F.col("corrupt"), "a line of it is no whole JSON object of the fields that a snapshot has")
        .when(F.col("format") > FORMAT, "a newer kconf wrote it, in a format unknown here")
        .when(F.col("cluster").isNull() | F.col("taken").isNull(), "it does not begin with a line about the snapshot")
        .when(F.coalesce("whole", F.lit(-1)) != F.col("count") - 1, "the snapshot is not whole: its end is missing")
    )
    judged = files.select("file", *_OF_THE_HEAD, reason.alias("reason"))
    return read.drop(*_OF_THE_HEAD).join(F.broadcast(judged), "file")


def taken(read: DataFrame) -> DataFrame:
    """The lines of whole files as the source of live clusters gives them."""
    good = read.where(F.col("reason").isNull())
    names = [each.name for each in SNAPSHOT_LINE]
    unseen = good.where("kind = 'snapshot'").withColumn("each", F.explode("missing"))
    unseen = unseen.withColumn("kind", F.lit("missing")).withColumn("name", F.col("each.what"))
    return good.select(*names, "file").unionByName(unseen.select(*names, "file"))


def quarantine(read: DataFrame) -> DataFrame:
    """One row per file that cannot be taken.."""
    bad = read.where(F.col("reason").isNotNull()).groupBy("file", "reason")
    return bad.agg(F.lit("[a whole snapshot]").alias("line")).withColumn("time", F.current_timestamp())
