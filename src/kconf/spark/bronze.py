"""Bronze: reads new files of archives and snapshots, and snapshots of live clusters, once each.

The ledger records which files were read (files.py). Only lines that are not in the journal yet are added: the journal's
commit notes record the last line per cluster (`marks`), and older lines are looked up.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kconf.lake.schemas import ATTEMPTS, JOURNAL, QUARANTINE
from kconf.spark import files
from kconf.spark.delta_tables import Lake
from kconf.spark.errors import SourceUnreachable, first_line
from kconf.spark.incremental.affected import FEW
from kconf.spark.metadata_log import METADATA_LOG, MetadataLog, text_file
from kconf.spark.snapshot_intake import take_snapshots
from kconf.spark.transforms import lines, snapshot_lines
from kconf.spark.transforms.history import ORDER, order

Marks = dict[str, list[int]]
"""The last known line of each cluster, in journal order."""
Counted = dict[str, dict[str, Any]]
"""What the lines of each cluster contain: see `_counts`."""

_LINE: Final = ("cluster", *ORDER)
_NAME: Final = (*_LINE, "origin", "resource_type", "resource_name", "key")
"""The columns that identify a line. They include the resource because two followers may report different gaps after
the same offset.
"""
_ATTEMPT: Final = ("cluster", "epoch", "number")
_SMALL: Final = 8 * 1024 * 1024
"""Up to this number of bytes, files are read into memory in one job."""
_IN_PYTHON: Final = "Traceback (most recent call last)"
"""In Spark's errors of a data source: its Python code failed."""
_BAD: Final = ("file", "line", "reason")


@dataclass
class Read:
    """Counts of what a round read. `files`: the new files, also those that were skipped or had nothing new.
    `log_seconds`: how long it took to parse metadata logs.
    """

    journal: int = 0
    attempts: int = 0
    quarantined: int = 0
    facts: int = 0
    files: int = 0
    log_seconds: float = 0.0
    skipped: dict[str, str] = field(default_factory=dict)  # path → why it was not read
    notes: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("journal", "attempts", "quarantined", "facts")}


def read_archive(lake: Lake, uri: str, number: int, result: Read) -> None:
    """Read the new files of an archive in round `number`."""
    found = files.unread(lake, "archive", uri)
    wanted = _wanted(found, result)
    if wanted:
        is_small = sum(each.size for each in wanted) <= _SMALL
        _take_lines(lake, files.text_of(lake, wanted), number, result, is_small=is_small)
    files.record(lake, "archive", found, result.skipped, number)


def read_metadata_log(lake: Lake, directory: str, number: int, result: Read) -> None:
    """Read the metadata log of a controller from its directory."""
    log = MetadataLog(directory)
    if files.is_known(lake, METADATA_LOG, log.listed):
        return
    began = time.monotonic()
    with log.lines() as text:
        result.log_seconds += time.monotonic() - began
        _take_lines(lake, text_file(lake, text, log.path), number, result)
    files.record(lake, METADATA_LOG, log.covered(), {}, number)
    result.notes.append(
        f"{log.path} ends at offset {log.end}; its last records may be uncommitted: the files of a single controller do"
        " not show which records are committed"
    )


def read_snapshots(lake: Lake, uri: str, number: int, result: Read) -> None:
    """Read the new files of a snapshot directory."""
    found = files.unread(lake, "snapshots", uri)
    wanted = _wanted(found, result)
    if wanted:
        read = snapshot_lines.read(files.text_of(lake, wanted)).persist(StorageLevel.DISK_ONLY)
        try:
            bad = snapshot_lines.quarantine(read).withColumn("round", F.lit(number))
            result.quarantined += _quarantine(lake, bad, number)
            taken = take_snapshots(lake, snapshot_lines.taken(read), number)
        finally:
            read.unpersist()
        result.facts += taken.facts
        result.skipped |= taken.skipped
    files.record(lake, "snapshots", found, result.skipped, number)


def _wanted(found: Sequence[files.Listed], result: Read) -> list[files.Listed]:
    result.files += len(found)
    result.skipped |= {each.path: each.fault for each in found if each.fault is not None}
    return [each for each in found if each.fault is None]


def read_cluster(lake: Lake, options: dict[str, str], number: int, result: Read) -> None:
    """Take a snapshot of a live cluster. Raises SourceUnreachable if the cluster cannot be read; other errors are the
    lake's."""
    from kconf.spark.source.data_source import KconfSource, reason

    lake.spark.dataSource.register(KconfSource)
    seen = lake.spark.read.format("kconf").options(**options).load()
    seen = seen.withColumn("file", F.lit(options.get("context") or options.get("bootstrap.servers")))
    seen = seen.persist(StorageLevel.DISK_ONLY)
    try:
        result.facts += take_snapshots(lake, seen, number).facts
    except PySparkException as error:
        cluster, why = options.get("context") or options.get("bootstrap.servers"), reason(error)
        if why is None and _IN_PYTHON not in str(error):
            raise
        raise SourceUnreachable(why or f"The cluster {cluster} cannot be read: {first_line(error)}") from None
    finally:
        seen.unpersist()


# -- the archive -----------------------------------------------------------------------------------------------------


def _take_lines(lake: Lake, batch: DataFrame, number: int, result: Read, *, is_small: bool = False) -> None:
    rows = lines.read(batch).withColumn("round", F.lit(number))
    if is_small and lake.in_memory:
        few = rows.toArrow()
        counted = _counts_in_memory(few)
        if not _take_plain(lake, few, number, counted, result):
            _take_all(lake, lake.spark.createDataFrame(few), number, counted, result)
        return
    read = rows.persist(StorageLevel.DISK_ONLY)
    try:
        _take_all(lake, read, number, {row["cluster"]: row.asDict() for row in _counts(read).collect()}, result)
    finally:
        read.unpersist()


def _take_plain(lake: Lake, read: pa.Table, number: int, counted: Counted, result: Read) -> bool:
    """Add lines from memory. Returns False, and adds nothing, unless all are new changes without duplicates."""
    marks, total = _marks(lake), sum(row["changes"] for row in counted.values())
    unusual = any(row[name] for row in counted.values() for name in ("bad", "attempts", "named"))
    if unusual or not 0 < total <= FEW or _behind(marks, counted) or any(row["times"] > 1 for row in counted.values()):
        return False
    lake.append_arrow(JOURNAL, read, note={"marks": _moved(marks, counted), "round": number})
    result.journal += total
    return True


def _take_all(lake: Lake, read: DataFrame, number: int, counted: Counted, result: Read) -> None:
    marks = _marks(lake)
    if any(row["changes"] for row in counted.values()):
        note = {"marks": _moved(marks, counted), "round": number}
        changes, count = _unknown(lake, lines.changes(read), marks, counted)
        if count:
            lake.append(JOURNAL, changes, note=note, few=count <= FEW)
        result.journal += count
        if count < sum(row["changes"] for row in counted.values()):
            result.quarantined += _quarantine(lake, _contradicting(lake, lines.changes(read)), number)
        if any(row["named"] for row in counted.values()):
            result.journal += _name_authors(lake, lines.changes(read), note)
    if any(row["attempts"] for row in counted.values()):
        fresh = lines.attempts(read).dropDuplicates(list(_ATTEMPT))
        fresh = fresh.join(lake.read(ATTEMPTS).select(*_ATTEMPT), list(_ATTEMPT), "left_anti")
        count = fresh.count()
        if count:
            lake.append(ATTEMPTS, fresh, note={"round": number}, few=count <= FEW)
        result.attempts += count
    if any(row["bad"] for row in counted.values()):
        result.quarantined += _quarantine(lake, lines.quarantine(read), number)


def _quarantine(lake: Lake, bad: DataFrame, number: int) -> int:
    """Store rejected lines, except those found in the same file before; returns their number."""
    known = lake.read(QUARANTINE).select(*_BAD)
    fresh = bad.join(known, [bad[name].eqNullSafe(known[name]) for name in _BAD], "left_anti")
    fresh = fresh.persist(StorageLevel.DISK_ONLY)
    try:
        count = fresh.count()
        if count:
            lake.append(QUARANTINE, fresh, note={"round": number}, few=count <= FEW)
        return count
    finally:
        fresh.unpersist()


def _counts(read: DataFrame) -> DataFrame:
    """For each cluster: the number of lines of each kind, the first and last change, and the highest count of one line.

    `named` counts the lines of followers that have an author.
    """
    good = F.col("fault").isNull()
    grouped = read.groupBy(*_LINE).agg(
        F.count_if(~good).alias("bad"),
        F.count_if(good & F.col("attempt")).alias("attempts"),
        F.count_if(good & ~F.col("attempt")).alias("changes"),
        F.count_if(good & (F.col("origin") == "log") & _has_author()).alias("named"),
    )
    place = F.when(F.col("changes") > 0, order())
    return grouped.groupBy("cluster").agg(
        *(F.sum(name).alias(name) for name in ("bad", "attempts", "changes", "named")),
        F.max("changes").alias("times"),
        F.min(place).alias("first"),
        F.max(place).alias("last"),
    )


def _counts_in_memory(read: pa.Table) -> Counted:
    """Like `_counts`, for lines in memory."""
    found: dict[tuple[Any, ...], Counter[str]] = {}
    names = (*_LINE, "fault", "attempt", "origin", "principal", "reason")
    for *place, fault, attempt, origin, principal, reason in zip(
        *(read[each].to_pylist() for each in names), strict=True
    ):
        kind = "bad" if fault is not None else "attempts" if attempt else "changes"
        is_named = fault is None and origin == "log" and (bool(principal) or reason is not None)
        found.setdefault(tuple(place), Counter()).update({kind: 1, "named": int(is_named)})
    clusters: dict[str, list[tuple[list[Any], Counter[str]]]] = {}
    for (cluster, *place), count in found.items():
        clusters.setdefault(cluster, []).append((place, count))
    return {cluster: _of_cluster(counts) for cluster, counts in clusters.items()}


def _of_cluster(counts: Sequence[tuple[list[Any], Counter[str]]]) -> dict[str, Any]:
    places = [place for place, count in counts if count["changes"]]
    return {
        **{name: sum(count[name] for _, count in counts) for name in ("bad", "attempts", "changes", "named")},
        "times": max(count["changes"] for _, count in counts),
        "first": min(places, default=None),
        "last": max(places, default=None),
    }


def _marks(lake: Lake) -> Marks:
    """The last journal line per cluster; computed if the commit notes are too old to contain it."""
    note = lake.note(JOURNAL)
    if note or not lake.exists(JOURNAL):
        return dict(note.get("marks", {}))
    rows = lake.read(JOURNAL).groupBy("cluster").agg(F.max(order()).alias("last")).collect()
    return {row["cluster"]: list(row["last"]) for row in rows}


def _moved(marks: Marks, counted: Counted) -> Marks:
    """The marks after a batch. They never decrease."""
    reached = {cluster: list(row["last"]) for cluster, row in counted.items() if row["last"] is not None}
    return {**marks, **{cluster: max(last, marks.get(cluster, last)) for cluster, last in reached.items()}}


def _unknown(lake: Lake, changes: DataFrame, marks: Marks, counted: Counted) -> tuple[DataFrame, int]:
    """The lines that are not in the journal yet, without duplicates, and their number. Only lines before the mark are
    looked up in the journal.
    """
    keys = list(_NAME)
    total = sum(row["changes"] for row in counted.values())
    twice = any(row["times"] > 1 for row in counted.values())
    if twice:
        best = Window.partitionBy(*keys).orderBy(F.desc(_has_author()), "file")
        changes = changes.withColumn("place", F.row_number().over(best)).where("place = 1").drop("place")
    behind = _behind(marks, counted)
    if behind:
        suspect = changes.where(F.col("cluster").isin(behind)).select(*keys)
        known = lake.read(JOURNAL).where(F.col("cluster").isin(behind)).select(*keys).join(suspect, keys, "left_semi")
        changes = changes.join(known, keys, "left_anti")
    return changes, changes.count() if twice or behind else total


def _contradicting(lake: Lake, changes: DataFrame) -> DataFrame:
    """Lines that were dropped although their value differs from the stored one, for the quarantine."""
    stored = lake.read(JOURNAL).select(*_NAME, "after").join(changes.select(*_NAME), list(_NAME), "left_semi")
    return lines.quarantine(lines.contradicting(changes, stored, _NAME))


def _behind(marks: Marks, counted: Counted) -> list[str]:
    """The clusters with lines before their mark."""
    first = {cluster: row["first"] for cluster, row in counted.items() if row["first"] is not None}
    return [cluster for cluster, place in first.items() if list(place) <= marks.get(cluster, [-1])]


def _has_author() -> Column:
    return F.coalesce((F.col("principal") != "") | F.col("reason").isNotNull(), F.lit(False))


def _name_authors(lake: Lake, changes: DataFrame, note: dict[str, Any]) -> int:
    """Add the author to stored lines without one, if another follower knows it; returns their number."""
    better = changes.where((F.col("origin") == "log") & _has_author()).dropDuplicates(list(_NAME))
    poor = lake.read(JOURNAL).where((F.col("origin") == "log") & ~_has_author()).select(*_NAME)
    better = better.join(poor, list(_NAME), "left_semi").persist(StorageLevel.DISK_ONLY)
    try:
        count = better.count()
        if count:
            same = " AND ".join(f"t.{name} <=> s.{name}" for name in _NAME)
            lake.merge(JOURNAL, better, better.limit(0), on=same, note=note)
        return count
    finally:
        better.unpersist()
