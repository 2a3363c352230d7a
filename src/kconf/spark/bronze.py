"""Reading: new files of the archive and of snapshots, and looks at live clusters, once each.

A file is read by a stream that remembers it. Of what a batch brings, only lines that are not in the journal yet are
added: the journal's commits say how far it goes per cluster (`marks`), and what lies behind that is looked up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.errors import KconfError
from kconf.lake.location import LakeError, local_path
from kconf.lake.schemas import ATTEMPTS, JOURNAL, QUARANTINE, SNAPSHOT
from kconf.spark.delta_tables import Lake, first_line, local
from kconf.spark.transforms import lines, snapshot_lines, snapshots
from kconf.spark.transforms.history import ORDER, order

Marks = dict[str, list[int]]
"""Per cluster the last line that is known, in the order of the journal."""

_LINE: Final = ("cluster", *ORDER)
_ATTEMPT: Final = ("cluster", "epoch", "number")


@dataclass
class Read:
    """What a round brought."""

    journal: int = 0
    attempts: int = 0
    quarantined: int = 0
    facts: int = 0

    @property
    def counts(self) -> dict[str, int]:
        return asdict(self)


def read_archive(lake: Lake, uri: str, number: int, brought: Read) -> None:
    """Take the new files of an archive into round `number`."""

    def take(batch: DataFrame, stream: str, identity: int) -> None:
        _take_lines(lake, batch, number, stream, identity, brought)

    _stream(lake, "archive", uri, take)


def read_snapshots(lake: Lake, uri: str, number: int, brought: Read) -> None:
    """Take the new files of a directory of snapshots."""

    def take(batch: DataFrame, stream: str, identity: int) -> None:
        read = snapshot_lines.read(batch).persist(StorageLevel.DISK_ONLY)
        try:
            bad = snapshot_lines.quarantine(read).withColumn("round", F.lit(number))
            spoilt = bad.count()
            if spoilt:
                lake.append(QUARANTINE, bad, once=(stream, identity))
            brought.quarantined += spoilt
            brought.facts += _take_looks(lake, snapshot_lines.taken(read), number)
        finally:
            read.unpersist()

    _stream(lake, "snapshots", uri, take)


def look(lake: Lake, options: dict[str, str], number: int, brought: Read) -> None:
    """Look at a live cluster now."""
    from kconf.spark.source import KconfSource, reason

    lake.spark.dataSource.register(KconfSource)
    seen = lake.spark.read.format("kconf").options(**options).load()
    seen = seen.withColumn("file", F.lit(options.get("context") or options.get("bootstrap.servers")))
    seen = seen.persist(StorageLevel.DISK_ONLY)
    try:
        brought.facts += _take_looks(lake, seen, number)
    except PySparkException as error:
        raise LakeError(reason(error) or f"The cluster cannot be read: {first_line(error)}") from None
    finally:
        seen.unpersist()


# -- the archive -----------------------------------------------------------------------------------------------------


def _take_lines(lake: Lake, batch: DataFrame, number: int, stream: str, identity: int, brought: Read) -> None:
    read = lines.read(batch).withColumn("round", F.lit(number)).persist(StorageLevel.DISK_ONLY)
    try:
        marks = _marks(lake)
        told = {row["cluster"]: row for row in _counts(read).collect()}
        once = (stream, identity)
        if any(row["changes"] for row in told.values()):
            changes, count = _unknown(lake, lines.changes(read), marks, told)
            lake.append(JOURNAL, changes, once=once, note={"marks": _moved(marks, told)})
            brought.journal += count
        if any(row["attempts"] for row in told.values()):
            fresh = lines.attempts(read).dropDuplicates(list(_ATTEMPT))
            fresh = fresh.join(lake.read(ATTEMPTS).select(*_ATTEMPT), list(_ATTEMPT), "left_anti")
            brought.attempts += fresh.count()
            lake.append(ATTEMPTS, fresh, once=once)
        if any(row["bad"] for row in told.values()):
            lake.append(QUARANTINE, lines.quarantine(read), once=once)
            brought.quarantined += sum(row["bad"] for row in told.values())
    finally:
        read.unpersist()


def _counts(read: DataFrame) -> DataFrame:
    """Per cluster how many lines of each kind came, the first and the last change, and how often the commonest came."""
    good = F.col("fault").isNull()
    grouped = read.groupBy(*_LINE).agg(
        F.count_if(~good).alias("bad"),
        F.count_if(good & F.col("attempt")).alias("attempts"),
        F.count_if(good & ~F.col("attempt")).alias("changes"),
    )
    place = F.when(F.col("changes") > 0, order())
    return grouped.groupBy("cluster").agg(
        *(F.sum(name).alias(name) for name in ("bad", "attempts", "changes")),
        F.max("changes").alias("times"),
        F.min(place).alias("first"),
        F.max(place).alias("last"),
    )


def _marks(lake: Lake) -> Marks:
    """How far the journal goes; counted where its commits are too old to tell."""
    note = lake.note(JOURNAL)
    if note or not lake.exists(JOURNAL):
        return dict(note.get("marks", {}))
    rows = lake.read(JOURNAL).groupBy("cluster").agg(F.max(order()).alias("last")).collect()
    return {row["cluster"]: list(row["last"]) for row in rows}


def _moved(marks: Marks, told: dict[str, Any]) -> Marks:
    """The marks after a batch: they never go back."""
    reached = {cluster: list(row["last"]) for cluster, row in told.items() if row["last"] is not None}
    return {**marks, **{cluster: max(last, marks.get(cluster, last)) for cluster, last in reached.items()}}


def _unknown(lake: Lake, changes: DataFrame, marks: Marks, told: dict[str, Any]) -> tuple[DataFrame, int]:
    """The lines that the journal does not have, each once, and how many. Looked up only behind a cluster's mark."""
    keys = list(_LINE)
    total = sum(row["changes"] for row in told.values())
    twice = any(row["times"] > 1 for row in told.values())
    if twice:
        changes = changes.dropDuplicates(keys)
    behind = [c for c, row in told.items() if row["first"] is not None and list(row["first"]) <= marks.get(c, [-1])]
    if behind:
        suspect = changes.where(F.col("cluster").isin(behind)).select(*keys)
        known = lake.read(JOURNAL).where(F.col("cluster").isin(behind)).select(*keys).join(suspect, keys, "left_semi")
        changes = changes.join(known, keys, "left_anti")
    return changes, changes.count() if twice or behind else total


# -- snapshots -------------------------------------------------------------------------------------------------------


def _take_looks(lake: Lake, seen: DataFrame, number: int) -> int:
    """Add what is new in looks, the looks at one cluster one after the other. A look that is known adds nothing."""
    times: dict[str, list[int]] = {}
    for row in seen.where("kind = 'snapshot'").select("cluster", "taken").distinct().orderBy("taken").collect():
        times.setdefault(row["cluster"], []).append(row["taken"])
    added = 0
    for turn in range(max(map(len, times.values()), default=0)):
        wanted = [{"cluster": each, "taken": taken[turn]} for each, taken in times.items() if turn < len(taken)]
        which = local(lake.spark, wanted, "cluster string, taken bigint")
        added += _take_look(lake, seen.join(F.broadcast(which), ["cluster", "taken"]), number)
    return added


def _take_look(lake: Lake, seen: DataFrame, number: int) -> int:
    known = lake.read(SNAPSHOT)
    before = known.where("kind = 'snapshot'").groupBy("cluster").agg(F.max("taken").alias("previous"))
    files = seen.groupBy("cluster").agg(F.min("file").alias("file"))
    news = snapshots.news(snapshots.facts(seen), snapshots.latest(known), snapshots.missing(seen), before)
    news = news.join(F.broadcast(files), "cluster").withColumn("round", F.lit(number)).persist(StorageLevel.DISK_ONLY)
    try:
        added = news.count()
        if added:
            lake.append(SNAPSHOT, news)
        return added
    finally:
        news.unpersist()


# -- streams ---------------------------------------------------------------------------------------------------------


def _stream(lake: Lake, name: str, uri: str, take: Callable[[DataFrame, str, int], None]) -> None:
    """Hand the new files of a directory to `take`, as (lines, the stream's identity, the batch's number)."""
    place = local_path(uri)
    if place is not None and not place.is_dir():
        raise LakeError(f"There is no directory {place} to read {name} from.")
    home = str(place) if place is not None else uri
    failed: list[BaseException] = []

    def each(batch: DataFrame, identity: int) -> None:
        try:
            query = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
            take(batch, f"{name}-{query}", identity)
        except BaseException as error:
            failed.append(error)
            raise

    source = (
        lake.spark.readStream.format("text").option("recursiveFileLookup", True).option("pathGlobFilter", "*.jsonl")
    )
    # Not the directory itself: Spark passes over those below it that begin with _, as one of 64 cluster ids does.
    files = source.load(f"{home.rstrip('/')}/*").select("value", F.col("_metadata.file_path").alias("file"))
    stream = f"{name}-{hashlib.sha256(home.encode()).hexdigest()[:16]}"
    query = files.writeStream.foreachBatch(each).option("checkpointLocation", lake.checkpoint(stream))
    try:
        query.trigger(availableNow=True).start().awaitTermination()
    except PySparkException:
        if failed and isinstance(failed[0], KconfError):
            raise failed[0] from None
        raise
