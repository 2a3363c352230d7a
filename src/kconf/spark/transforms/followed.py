"""Followed clusters: combines the metadata log with the journals of kconf's own clients and servers.

The log has every change, but no authors. A journal has the author of each request, and the range of offsets (or else of
times) in which it was committed. Both are matched as in operations/history/log_authors.py: a line of the log and a
recorded request belong together if neither matches another one. The line then gets the author, and the request is not
counted as another change. A line without an author has the origin `outside`. A request that matches no line was no
change, if the log was read for the whole range; otherwise its offset or its time gives its position in the log.

A gateway (store/upstream) archives what it follows as a server does: its revisions are offsets, and its epoch is not
that of the log. Its own changes are requests with a known offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kconf.model.lines.fields import CALLER_NAMES
from kconf.model.log_matching import CLOCK_SKEW, LONGEST_CALL, NOT_IN_LOG

ORDER: Final = ("epoch", "revision", "line")
FOLLOWED: Final = ("log", "snapshot")
"""The origins of the lines that a follower writes."""
_NAME: Final = ("origin", *ORDER)
_AFTER_GAP: Final = 1_000_000
"""Added to the line numbers of a gap: they come after the lines that another follower has at the same offset."""
_BY_TIME: Final = 1_000_000_000
"""Added to the line numbers of requests that are ordered by their time."""


def record(journal: DataFrame, ranges: DataFrame, clusters: Sequence[str]) -> DataFrame:
    """The journal, with each change of the followed `clusters` once. Adds `not_before` to changes found after a gap."""
    nothing = F.lit(None).cast("timestamp").alias("not_before")
    others = journal.where(~F.col("cluster").isin(*clusters)).select("*", nothing)
    mine = in_one_order(journal.where(F.col("cluster").isin(*clusters)))
    logged, requests = committed(mine), _requests(mine)
    pairs = candidates(requests, logged)
    kept = unmatched(requests, pairs).join(*_is_covered(logged, ranges), "left_anti")
    lines = _with_authors(logged, requests, pairs).select("*", nothing)
    gaps = _gaps(mine.where("origin = 'snapshot'"), logged, ranges)
    placed = _placed(kept, mine.where(F.col("origin").isin(*FOLLOWED))).select("*", nothing)
    return others.unionByName(lines).unionByName(gaps).unionByName(placed)


def in_one_order(journal: DataFrame) -> DataFrame:
    """The lines; those of a gateway get the log's epoch at their offset, if a follower recorded it."""
    logged = journal.where(F.col("origin").isin(*FOLLOWED) & ~_is_of_gateway())
    epochs = logged.groupBy("cluster", "epoch").agg(F.min("revision").alias("begin"))
    known = epochs.groupBy("cluster").agg(F.collect_list(F.struct("epoch", "begin")).alias("epochs"))
    reached = F.filter("epochs", lambda each: each["begin"] <= F.col("revision"))
    then = F.greatest(F.array_max(F.transform(reached, lambda each: each["epoch"])), F.col("epoch"))
    whole = journal.join(F.broadcast(known), "cluster", "left")
    whole = whole.withColumn("epoch", F.when(_is_of_gateway(), then).otherwise(F.col("epoch")))
    is_log = F.col("origin") == "log"
    best = Window.partitionBy("cluster", *_NAME).orderBy(F.desc(F.col("principal") != ""), "file")
    placed = whole.withColumn("place", F.when(is_log, F.row_number().over(best)).otherwise(F.lit(1)))
    return placed.where("place = 1").select(*journal.columns)


def is_of_log() -> Column:
    """Whether the revision of a line is an offset of a metadata log."""
    is_own = (F.col("origin") == "kconf") & F.col("log_begin").isNotNull()  # of a gateway
    return F.col("origin").isin(*FOLLOWED) | is_own


def are_of_log(lines: pa.Table) -> pa.ChunkedArray:
    """Like `is_of_log`, for lines in memory."""
    is_own = pc.and_(pc.equal(lines["origin"], "kconf"), pc.is_valid(lines["log_begin"]))
    return pc.or_(pc.is_in(lines["origin"], value_set=pa.array(FOLLOWED)), is_own)


def _is_of_gateway() -> Column:
    """Whether a line comes from a gateway. Followers and metadata logs have files with a known name."""
    return F.col("origin").isin(*FOLLOWED) & ~F.element_at(F.split("file", "/"), -1).startswith("log")


def _requests(journal: DataFrame) -> DataFrame:
    """What clients and gateways recorded; the revision of a gateway's own change is its offset."""
    requests = journal.where(~F.col("origin").isin(*FOLLOWED))
    own = F.col("origin") == "kconf"
    bounds = {"log_begin": F.col("revision"), "log_end": F.col("revision") + 1}
    return requests.withColumns({name: F.when(own, value).otherwise(F.col(name)) for name, value in bounds.items()})


def committed(journal: DataFrame) -> DataFrame:
    """The lines of the log, without lines that a later leader truncated, with which a controller's files may end."""
    logged = journal.where("origin = 'log'")
    begins = logged.groupBy("cluster", F.col("epoch").alias("later")).agg(F.min("revision").alias("begin"))
    cut = [
        F.col("l.cluster") == F.col("b.cluster"),
        F.col("b.later") > F.col("l.epoch"),
        F.col("b.begin") <= F.col("l.revision"),
    ]
    return logged.alias("l").join(F.broadcast(begins).alias("b"), cut, "left_anti")


def candidates(requests: DataFrame, logged: DataFrame) -> DataFrame:
    """Pairs of a request and a log line that may be its change: `cluster`, `request`, `place`."""
    was = F.when((F.col("kind") != "topic") & ~F.col("sensitive"), F.col("before")).alias("was")
    asked = requests.select("cluster", F.struct(*_NAME).alias("request"), *_subject(), was, *_bounds()).alias("r")
    lines = logged.select("cluster", F.struct(*ORDER).alias("place"), *_subject(), was, "time").alias("l")
    same = [F.col(f"r.{name}").eqNullSafe(F.col(f"l.{name}")) for name in ("cluster", *_SUBJECT)]
    offset = F.col("l.place.revision")
    begin, end = F.col("r.log_begin"), F.col("r.log_end")
    by_offset = begin.isNull() | ((offset >= begin) & (end.isNull() | (offset < end)))
    exact = begin.isNotNull() & end.isNotNull()
    by_time = F.col("l.time").between(F.col("r.earliest"), F.col("r.latest"))
    same_before = F.col("r.was").eqNullSafe(F.col("l.was"))  # a client may have read an older value
    fits = by_offset & (exact | (by_time & same_before))
    return asked.join(lines, [*same, fits]).select("r.cluster", "r.request", "l.place")


_SUBJECT: Final = ("kind", "resource_type", "resource_name", "key", "now")


def _subject() -> list[Column]:
    """What must be equal: for a topic the operation (clients may not know its replicas), for a secret its key."""
    now = F.when(F.col("kind") == "topic", F.col("op"))
    now = now.when(F.col("sensitive"), F.col("after").isNotNull().cast("string")).otherwise(F.col("after"))
    return [*map(F.col, _SUBJECT[:4]), now.alias("now")]


def _bounds() -> list[Column]:
    """The range of times and offsets in which a request was committed; clocks may differ."""
    answered = F.coalesce(F.unix_millis("answered"), F.unix_millis("time") + LONGEST_CALL)
    return [
        F.timestamp_millis(F.unix_millis("time") - CLOCK_SKEW).alias("earliest"),
        F.timestamp_millis(answered + CLOCK_SKEW).alias("latest"),
        F.col("log_begin"),
        F.col("log_end"),
    ]


def unmatched(requests: DataFrame, pairs: DataFrame) -> DataFrame:
    """The requests that match no line of the log."""
    known = pairs.select("cluster", F.col("request.*")).distinct()
    return requests.join(known, ["cluster", *_NAME], "left_anti")


def contradicted(journal: DataFrame, ranges: DataFrame) -> DataFrame:
    """Requests that were recorded as committed while the log was followed, but are not in the log."""
    lines = in_one_order(journal)
    requests, logged = _requests(lines), committed(lines)
    return unmatched(requests, candidates(requests, logged)).join(*_is_covered(logged, ranges), "left_semi")


def _with_authors(logged: DataFrame, requests: DataFrame, pairs: DataFrame) -> DataFrame:
    by_request, by_place = Window.partitionBy("cluster", "request"), Window.partitionBy("cluster", "place")
    counted = pairs.withColumns({"lines": F.count("*").over(by_request), "requests": F.count("*").over(by_place)})
    sure = counted.where("lines = 1 AND requests = 1").select("cluster", "request.*", F.col("place").alias("place"))
    who = F.struct("origin", *CALLER_NAMES).alias("author")
    authors = requests.join(sure, ["cluster", *_NAME]).select("cluster", "place", who).alias("a")
    place = F.struct(*(F.col(f"l.{name}").alias(name) for name in ORDER))
    found = logged.alias("l").join(
        authors, [F.col("l.cluster") == F.col("a.cluster"), place == F.col("a.place")], "left"
    )
    known = F.col("author").isNotNull()
    own = F.when(F.col("l.principal") != "", "client").otherwise("outside")  # a follower may have known the author
    replaced = {name: F.when(known, F.col(f"author.{name}")).otherwise(F.col(f"l.{name}")) for name in CALLER_NAMES}
    replaced["origin"] = F.when(known, F.col("author.origin")).otherwise(own)
    return found.select(*(replaced.get(name, F.col(f"l.{name}")).alias(name) for name in logged.columns))


def _gaps(gaps: DataFrame, logged: DataFrame, ranges: DataFrame) -> DataFrame:
    """Changes found by comparing two snapshots: they were made after the last line before the gap."""
    marked = ranges.where("gap").groupBy("cluster", "end_offset").agg(F.min("first_offset").alias("begin")).alias("g")
    before = [F.col("l.cluster") == F.col("g.cluster"), F.col("l.revision") < F.col("g.begin")]
    grouped = marked.join(logged.alias("l"), before).groupBy("g.cluster", "g.end_offset")
    known = grouped.agg(F.max("l.time").alias("not_before"))
    named = gaps.withColumn("end_offset", F.col("revision") + 1)
    found = named.join(F.broadcast(known), ["cluster", "end_offset"], "left").drop("end_offset")
    return found.withColumn("line", F.col("line") + _AFTER_GAP).select(*gaps.columns, "not_before")


def _placed(requests: DataFrame, followed: DataFrame) -> DataFrame:
    """Requests with a position after the last line before their offset or time; before the start of the log, by time.

    If the offset is known, it also limits the time, because the client's clock may be wrong.
    """
    columns = requests.columns
    place = F.struct(*ORDER[:2], "time").alias("place")
    asked = F.struct(*columns).alias("asked")
    exact = F.col("log_begin").isNotNull()
    by_offset = requests.where(exact).select("cluster", F.col("log_begin").alias("at"), F.lit(0).alias("kind"), asked)
    by_time = requests.where(~exact).select("cluster", F.unix_micros("time").alias("at"), F.lit(1).alias("kind"), asked)
    lines = followed.select("cluster", F.col("revision").alias("at"), F.lit(1).alias("kind"), place)
    times = followed.select("cluster", F.unix_micros("time").alias("at"), F.lit(0).alias("kind"), place)
    found = _between(by_offset, lines).unionByName(_between(by_time, times).withColumn("next", F.lit(None)))
    time = F.least(F.greatest("asked.time", "last.time"), F.col("next").cast("timestamp"))
    number = F.row_number().over(Window.partitionBy("cluster", "last").orderBy("asked.revision", "asked.line"))
    found = found.withColumns({"number": number, "time": time})
    is_after = F.col("last").isNotNull()
    order = {
        "epoch": F.when(is_after, F.col("last.epoch")).otherwise(F.lit(0)),
        "revision": F.when(is_after, F.col("last.revision")).otherwise(F.unix_micros("time")),
        "line": F.when(is_after, F.col("number") + _BY_TIME).otherwise(F.col("asked.line")),
        "time": F.col("time"),
    }
    return found.select(*(order.get(name, F.col(f"asked.{name}")).alias(name) for name in columns))


def _between(requests: DataFrame, lines: DataFrame) -> DataFrame:
    """Requests with the `last` line before each, and the time of the `next` line."""
    ordered = Window.partitionBy("cluster").orderBy("at", "kind")
    rows = requests.unionByName(lines, allowMissingColumns=True).withColumns(
        {
            "last": F.max("place").over(ordered.rowsBetween(Window.unboundedPreceding, 0)),
            "next": F.min("place").over(ordered.rowsBetween(1, Window.unboundedFollowing))["time"],
        }
    )
    return rows.where("asked IS NOT NULL").select("cluster", "asked", "last", "next")


def runs(ranges: DataFrame) -> DataFrame:
    """The parts of the log that files cover without a gap: `cluster`, `begin`, `end`."""
    ordered = Window.partitionBy("cluster").orderBy("first_offset", "end_offset")
    before = F.max("end_offset").over(ordered.rowsBetween(Window.unboundedPreceding, -1))
    is_new = before.isNull() | (F.col("first_offset") > before)
    numbered = ranges.where("NOT gap").withColumn("is_new", is_new.cast("int"))
    numbered = numbered.withColumn("part", F.sum("is_new").over(ordered))
    grouped = numbered.groupBy("cluster", "part")
    return grouped.agg(F.min("first_offset").alias("begin"), F.max("end_offset").alias("end")).drop("part")


def _is_covered(logged: DataFrame, ranges: DataFrame) -> tuple[DataFrame, list[Column]]:
    """The ranges to join with, and the condition that the log is known for the whole range of a request."""
    parts = runs(ranges).alias("p")
    inside = [F.col("p.cluster") == F.col("l.cluster"), F.col("l.revision") >= F.col("p.begin")]
    inside.append(F.col("l.revision") < F.col("p.end"))
    grouped = logged.alias("l").join(F.broadcast(parts), inside).groupBy("p.cluster", "p.begin", "p.end")
    timed = grouped.agg(F.min("l.time").alias("first"), F.max("l.time").alias("last"))
    covered = F.broadcast(timed.select(F.col("cluster").alias("its_cluster"), "begin", "end", "first", "last"))
    earliest, latest, log_begin, log_end = _bounds()
    exact = log_begin.isNotNull() & log_end.isNotNull()
    by_offset = (log_begin >= F.col("begin")) & (log_end <= F.col("end"))
    by_time = (earliest >= F.col("first")) & (latest <= F.col("last"))
    is_there = ~F.col("resource_type").isin(*NOT_IN_LOG)
    return covered, [F.col("cluster") == F.col("its_cluster"), is_there, F.when(exact, by_offset).otherwise(by_time)]
