"""Gold: the tables for queries, each derived from bronze and silver and written in one commit."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.lake.location import LakeError
from kconf.lake.schemas import (
    ACTIVITY,
    ATTEMPTS,
    DECLARED,
    DRIFT,
    EFFECTIVE_CONFIG,
    EFFECTIVE_QUOTA,
    GOLD,
    HISTORY,
    INTEGRITY,
    JOURNAL,
    SNAPSHOT,
    TOPICS,
    UNEVEN,
    VIOLATIONS,
    Table,
)
from kconf.spark import files, violations
from kconf.spark.delta_tables import Lake, local
from kconf.spark.inputs import USAGE, Inputs
from kconf.spark.silver import all_events, whole_journal
from kconf.spark.transforms import drift, effective, followed, integrity, quotas, snapshots
from kconf.spark.transforms.activity import activity
from kconf.spark.transforms.foreign import foreign
from kconf.spark.transforms.topics.table import topics
from kconf.spark.transforms.values import KEYS, keys

_LATER: Final = (DRIFT,)  # derived from other gold tables
_AT_ONCE: Final = 4  # planning is single-threaded, and most of the time of a small run


def write(lake: Lake, inputs: Inputs, say: Callable[[str], None]) -> None:
    """Rebuild all gold tables, several at a time."""
    made = Gold(lake, inputs)
    try:
        made.prepare()
        wanted = [table for table in GOLD if made.has_rows(table) or lake.exists(table)]
        first, later = ([each for each in wanted if (each in _LATER) is late] for late in (False, True))
        for wave in filter(None, (first, later)):
            say(", ".join(table.name for table in wave) + " …")
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(made.write, wave))
    finally:
        made.forget()


class Gold:
    """The rows of each table; shared intermediate results are computed once."""

    def __init__(self, lake: Lake, inputs: Inputs) -> None:
        self.lake, self.inputs = lake, inputs
        self._kept: list[DataFrame] = []

    def write(self, table: Table) -> None:
        """Rebuild a table; violations are updated instead."""
        if table is VIOLATIONS:
            violations.update(self.lake, self.inputs)
        else:
            self.lake.overwrite(table, self.rows(table))

    def rows(self, table: Table) -> DataFrame:
        makers = {
            TOPICS: self.topics,
            EFFECTIVE_CONFIG: self.effective,
            EFFECTIVE_QUOTA: self.quotas,
            DRIFT: self.drift,
            UNEVEN: lambda: effective.uneven(self.inherited),
            ACTIVITY: lambda: activity(self.journal, self.lake.read(ATTEMPTS), self.history),
            INTEGRITY: self.integrity,
        }
        return makers[table]()

    def prepare(self) -> None:
        """Make what several tables need, before several threads ask for it."""
        _ = self.journal, self.current, self.observed, self.snapshots, self.clusters, self.keys
        _ = self.inherited, self.usage
        self.clusters.count()
        self.inherited.count()

    def has_rows(self, table: Table) -> bool:
        """Whether there is anything to compare with: declared files or rules."""
        if table is DRIFT:
            return self.inputs.declarations is not None
        return table is not VIOLATIONS or bool(self.inputs.rules.rules)

    def forget(self) -> None:
        for each in self._kept:
            each.unpersist()

    def _keep(self, rows: DataFrame) -> DataFrame:
        kept = rows.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept.append(kept)
        return kept

    # -- shared by several tables ------------------------------------------------------------------------------------

    @cached_property
    def history(self) -> DataFrame:
        return self.lake.read(HISTORY)

    @cached_property
    def journal(self) -> DataFrame:
        """The changes, each once."""
        note = self.lake.note(HISTORY)
        record = whole_journal(self.lake, note)
        return self._keep(record) if note.get("followed") else record

    @cached_property
    def current(self) -> DataFrame:
        """The current state."""
        return self._keep(self.history.where("open"))

    @cached_property
    def observed(self) -> DataFrame:
        """What the last snapshot of each cluster showed."""
        return self._keep(snapshots.latest(self.lake.read(SNAPSHOT)))

    @cached_property
    def snapshots(self) -> DataFrame:
        """The last snapshot of each cluster: when it began and when it ended."""
        last = self.observed.where("kind = 'snapshot'")
        return last.select("cluster", F.timestamp_millis(F.col("value").cast("bigint")).alias("began"), "taken")

    @cached_property
    def clusters(self) -> DataFrame:
        return self._keep(self.current.select("cluster").union(self.observed.select("cluster")).distinct())

    @cached_property
    def keys(self) -> DataFrame:
        return local(self.lake.spark, keys(self.inputs.catalog), KEYS)

    @cached_property
    def inherited(self) -> DataFrame:
        levels = effective.levels(self.current, self.lake.read(SNAPSHOT))
        brokers = effective.brokers(self.current, self.observed)
        return self._keep(effective.inherited(self.clusters, levels, brokers, self.keys))

    @cached_property
    def usage(self) -> DataFrame:
        path = self.inputs.usage
        if path is None:
            return local(self.lake.spark, [], USAGE)
        spark = self.lake.spark
        rows = spark.read.parquet(str(path)) if path.suffix == ".parquet" else spark.read.csv(str(path), header=True)
        missing = {"user", "client_id", "key", "rate"} - set(rows.columns)
        if missing:
            raise LakeError(f"{path}: expected the columns cluster (optional), user, client_id, key, rate")
        if "cluster" not in rows.columns:
            rows = rows.crossJoin(self.clusters)
        names = F.coalesce("user", F.lit("")).alias("user"), F.coalesce("client_id", F.lit("")).alias("client_id")
        return rows.select("cluster", *names, "key", F.col("rate").cast("double").alias("rate"))

    # -- tables ------------------------------------------------------------------------------------------------------

    def topics(self) -> DataFrame:
        snapshots = self.snapshots.select("cluster", F.col("taken").alias("previous"))
        return topics(self.history, snapshots, self.inputs.owner_map)

    def effective(self) -> DataFrame:
        return effective.effective(self.current, self.inherited)

    def quotas(self) -> DataFrame:
        seen = quotas.seen(self.current, self.journal, self.lake.read(ATTEMPTS), self.usage)
        return quotas.effective(self.current, seen, self.usage)

    def drift(self) -> DataFrame:
        declared = self.inputs.declarations
        if declared is None:
            return local(self.lake.spark, [], DRIFT.ddl)
        rows = local(self.lake.spark, drift.declared_rows(declared, None), DECLARED.ddl)
        self.lake.overwrite(DECLARED, rows)
        there = drift.actual(self.lake.read(EFFECTIVE_CONFIG), self.current, self.lake.read(TOPICS))
        return drift.drift(rows, there, self.current, self.clusters, self.keys, drift.owned(declared))

    def integrity(self) -> DataFrame:
        journal = self.lake.read(JOURNAL)
        note = self.lake.note(HISTORY)
        numbered = list(note.get("began", {}))
        snapshots = self.snapshots.where(F.col("cluster").isin(numbered)) if numbered else self.snapshots.limit(0)
        parts = [
            integrity.holes(journal.where(~F.col("cluster").isin(note.get("followed", [])))),
            integrity.slipped(self.history.where("until_epoch > 0")),
            integrity.differences(self.history, self.observed, snapshots, self.keys),
        ]
        if note.get("recorded"):
            events = all_events(self.lake, note).where(F.col("cluster").isin(note["recorded"]) & (F.col("epoch") == 0))
            parts.append(foreign(events, self.lake.read(SNAPSHOT)))
        if note.get("followed"):
            lines = journal.where(F.col("cluster").isin(note["followed"]))
            ranges = files.ranges(self.lake)
            parts += [integrity.log_gaps(ranges, lines), integrity.contradicted(followed.contradicted(lines, ranges))]
        rows = parts[0]
        for each in parts[1:]:
            rows = rows.unionByName(each, allowMissingColumns=True)
        return rows
