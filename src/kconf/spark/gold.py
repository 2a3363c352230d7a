"""Gold: the tables for queries, each derived from bronze and silver and written in one commit.

A table's commit note records what its rows were made from: the round of reading, the build of the history, and a
fingerprint of what else they depend on (`given`). If only the round differs, the rows of affected resources and
clusters are computed again (affected.py), and all others are kept. A table that nothing affects is not written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any, Final

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
from kconf.spark.affected import Part, Parts, reached_round
from kconf.spark.delta_tables import Lake, fit, local
from kconf.spark.inputs import USAGE, Inputs
from kconf.spark.silver import all_events, whole_journal
from kconf.spark.transforms import activity, drift, effective, followed, integrity, quotas, snapshots
from kconf.spark.transforms.foreign import foreign
from kconf.spark.transforms.topics.table import topics
from kconf.spark.transforms.values import KEYS, keys
from kconf.version import __version__

_LATER: Final = (DRIFT, EFFECTIVE_QUOTA)  # derived from other gold tables
_AT_ONCE: Final = 4  # planning is single-threaded, and most of the time of a small run
_INPUTS: Final = {TOPICS: ["owners"], EFFECTIVE_QUOTA: ["usage"], DRIFT: ["declared"]}
"""The inputs that the rows of a table depend on; for violations see violations.py."""


def write(lake: Lake, inputs: Inputs, say: Callable[[str], None]) -> None:
    """Bring all gold tables up to date, several at a time."""
    state, parts = lake.note(HISTORY), Parts(lake)
    reached = {"round": reached_round(lake), "built": state.get("built")}
    made: dict[int | None, Gold] = {}
    try:
        wanted = [table for table in GOLD if has_rows(table, inputs) or lake.exists(table)]
        work: dict[Table, Callable[[], None]] = {}
        for table in wanted:
            update = _Update(lake, table, {**reached, "given": given(table, inputs)})
            since = update.since()
            part = None if since is None else parts.since(since)
            if table is VIOLATIONS:
                work[table] = partial(violations.update, lake, inputs, parts)
            elif part is None or part:
                gold = made.setdefault(None if part is None else since, Gold(lake, inputs, part))
                work[table] = partial(update.write, gold)
        for gold in made.values():
            gold.prepare()
        for late in (False, True):
            wave = [table for table in work if (table in _LATER) is late]
            if wave:
                say(", ".join(table.name for table in wave) + " …")
                with ThreadPoolExecutor(_AT_ONCE) as pool:
                    list(pool.map(lambda table: work[table](), wave))
    finally:
        for gold in made.values():
            gold.forget()


def has_rows(table: Table, inputs: Inputs) -> bool:
    """Whether there is anything to compare with: declared files or rules."""
    if table is DRIFT:
        return inputs.declarations is not None
    return table is not VIOLATIONS or bool(inputs.rules.rules)


def given(table: Table, inputs: Inputs) -> str:
    """A fingerprint of what the rows depend on, apart from bronze and silver."""
    prints = inputs.fingerprints
    whole = [__version__, table.ddl, *(prints[name] for name in _INPUTS.get(table, ())), *keys(inputs.catalog)]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]


class _Update:
    """Brings one table up to date; `note` is that of its next commit."""

    def __init__(self, lake: Lake, table: Table, note: dict[str, Any]) -> None:
        self._lake, self._table, self._note = lake, table, note

    def since(self) -> int | None:
        """The round that the rows include; None: they were made from something else."""
        last = self._lake.note(self._table, of_rows=True)
        is_same = all(last.get(name, "") == self._note[name] for name in ("built", "given"))
        return int(last["round"]) if is_same else None

    def write(self, gold: Gold) -> None:
        note = {**self._note, "kept": gold.part is not None}
        if not gold.affects(self._table):
            self._lake.append_rows(self._table, [], note=note)
            return
        rows = gold.rows(self._table)
        if gold.part is not None:
            kept = gold.kept(self._table, self._lake.read(self._table))
            rows = fit(kept, self._table).unionByName(fit(rows, self._table))
        self._lake.overwrite(self._table, rows, note, few=gold.part is not None and gold.part.is_few)


class Gold:
    """The rows of each table, or of an affected part; shared intermediate results are computed once."""

    def __init__(self, lake: Lake, inputs: Inputs, part: Part | None = None) -> None:
        self.lake, self.inputs, self.part = lake, inputs, part
        self._kept: list[DataFrame] = []

    def rows(self, table: Table) -> DataFrame:
        makers = {
            TOPICS: self.topics,
            EFFECTIVE_CONFIG: self.effective,
            EFFECTIVE_QUOTA: self.quotas,
            DRIFT: self.drift,
            UNEVEN: self.uneven,
            ACTIVITY: self.activity,
            INTEGRITY: self.integrity,
        }
        return makers[table]()

    def affects(self, table: Table) -> bool:
        """Whether rows of the table may differ; if not, a commit without rows records the round."""
        if self.part is None or self.part.clusters or table in (ACTIVITY, EFFECTIVE_QUOTA):
            return True
        kinds = {kind for _, kind, _ in self.part.names}
        return table is not UNEVEN and ("topic" in kinds if table is TOPICS else bool(kinds))

    def kept(self, table: Table, rows: DataFrame) -> DataFrame:
        """The rows of the table that the part does not affect."""
        part = self.part
        assert part is not None
        if table in (EFFECTIVE_QUOTA, ACTIVITY):
            return rows.where(~part.is_in())
        if table is UNEVEN:
            return rows.where(~part.is_whole())
        if table is TOPICS:
            named = {"resource_type": F.lit("topic"), "resource_name": F.col("topic")}
            return part.others(rows.withColumns(named))
        if table is INTEGRITY:
            unnamed = F.col("resource_name").isNull()
            return part.others(rows.where(~unnamed)).unionByName(rows.where(unnamed & ~part.is_touched()))
        return part.others(rows)

    def prepare(self) -> None:
        """Make what several tables need, before several threads ask for it."""
        _ = self.journal, self.current, self.levels_now, self.observed, self.snapshots, self.clusters, self.keys
        _ = self.inherited, self.usage
        self.clusters.count()
        self.inherited.count()

    def forget(self) -> None:
        for each in self._kept:
            each.unpersist()

    def _keep(self, rows: DataFrame) -> DataFrame:
        kept = rows.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept.append(kept)
        return kept

    def _mine(self, rows: DataFrame) -> DataFrame:
        """The rows of affected resources."""
        return rows if self.part is None else self.part.of(rows)

    def _near(self, rows: DataFrame) -> DataFrame:
        """The rows of clusters of which anything is affected."""
        return rows if self.part is None else rows.where(self.part.is_in())

    # -- shared by several tables ------------------------------------------------------------------------------------

    @cached_property
    def history(self) -> DataFrame:
        return self._mine(self.lake.read(HISTORY))

    @cached_property
    def journal(self) -> DataFrame:
        """The changes, each once."""
        note = self.lake.note(HISTORY)
        record = self._near(whole_journal(self.lake, note))
        return self._keep(record) if note.get("followed") else record

    @cached_property
    def current(self) -> DataFrame:
        """The current state."""
        return self._keep(self.history.where("open"))

    @cached_property
    def levels_now(self) -> DataFrame:
        """The current state of brokers and quotas, from which other resources inherit."""
        if self.part is None:
            return self.current
        return self._keep(self._near(self.lake.read(HISTORY)).where("open AND resource_type IN ('broker', 'quota')"))

    @cached_property
    def snapshot(self) -> DataFrame:
        return self._near(self.lake.read(SNAPSHOT))

    @cached_property
    def observed(self) -> DataFrame:
        """What the last snapshot of each cluster showed."""
        return self._keep(snapshots.latest(self.snapshot))

    @cached_property
    def snapshots(self) -> DataFrame:
        """The last snapshot of each cluster: when it began and when it ended."""
        last = self.observed.where("kind = 'snapshot'")
        return last.select("cluster", F.timestamp_millis(F.col("value").cast("bigint")).alias("began"), "taken")

    @cached_property
    def clusters(self) -> DataFrame:
        now = self._near(self.lake.read(HISTORY).where("open"))
        return self._keep(now.select("cluster").union(self.observed.select("cluster")).distinct())

    @cached_property
    def keys(self) -> DataFrame:
        return local(self.lake.spark, keys(self.inputs.catalog), KEYS)

    @cached_property
    def inherited(self) -> DataFrame:
        levels = effective.levels(self.levels_now, self.snapshot)
        brokers = effective.brokers(self.levels_now, self.observed)
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
        return self._mine(effective.effective(self.current, self.inherited))

    def uneven(self) -> DataFrame:
        whole = self.inherited if self.part is None else self.inherited.where(self.part.is_whole())
        return effective.uneven(whole)

    def activity(self) -> DataFrame:
        note, attempts = self.lake.note(HISTORY), self.lake.read(ATTEMPTS)
        if self.part is None:
            return activity.activity(self.journal, attempts, self.history)
        by_log = F.col("cluster").isin(*note.get("followed", ()))
        last = self.lake.read(ACTIVITY).where(self.part.is_in())
        fresh = F.col("round") > int(self.lake.note(ACTIVITY)["round"])
        lines = self.journal.where(by_log).unionByName(self.journal.where(~by_log & fresh))
        changes = last.where((F.col("kind") == "changes") & ~by_log)
        refused = last.where(~F.col("kind").isin("changes", "flapping"))
        flapping = self.part.others(last.where("kind = 'flapping'"))
        new = activity.activity(lines, self._near(attempts).where(fresh), self.history)
        return activity.added(new, changes.unionByName(refused)).unionByName(flapping)

    def quotas(self) -> DataFrame:
        """Whoever changed something, or tried to, is in the table of activity."""
        current, callers = self.levels_now, self._near(self.lake.read(ACTIVITY))
        usage = self._near(self.usage)
        return quotas.effective(current, quotas.seen(current, callers, usage), usage)

    def drift(self) -> DataFrame:
        declared = self.inputs.declarations
        if declared is None:
            return local(self.lake.spark, [], DRIFT.ddl)
        rows = local(self.lake.spark, drift.declared_rows(declared, None), DECLARED.ddl)
        if self.part is None:
            self.lake.overwrite(DECLARED, rows)
        configs = self._mine(self.lake.read(EFFECTIVE_CONFIG))
        named = {"resource_type": F.lit("topic"), "resource_name": F.col("topic")}
        shapes = self._mine(self.lake.read(TOPICS).withColumns(named))
        there = drift.actual(configs, self.current, shapes)
        wanted = self._mine(drift.wanted(rows, self.clusters, self.keys))
        return drift.drift(wanted, there, self.current, drift.owned(declared))

    def integrity(self) -> DataFrame:
        journal, note = self.lake.read(JOURNAL), self.lake.note(HISTORY)
        if self.part is not None:
            journal = journal.where(self.part.is_touched())
        numbered = list(note.get("began", {}))
        looked = self.snapshots.where(F.col("cluster").isin(numbered)) if numbered else self.snapshots.limit(0)
        observed = self._mine(self.observed.where("resource_name IS NOT NULL"))
        parts = [
            integrity.holes(journal.where(~F.col("cluster").isin(note.get("followed", [])))),
            integrity.slipped(self.history.where("until_epoch > 0")),
            integrity.differences(self.history, observed, looked, self.keys),
        ]
        recorded = self._whole(note.get("recorded", ()))
        if recorded:
            events = all_events(self.lake, note).where(F.col("cluster").isin(recorded) & (F.col("epoch") == 0))
            parts.append(foreign(events, self.snapshot))
        log = self._whole(note.get("followed", ()))
        if log:
            lines = journal.where(F.col("cluster").isin(log))
            ranges = files.ranges(self.lake).where(F.col("cluster").isin(log))
            parts += [integrity.log_gaps(ranges, lines), integrity.contradicted(followed.contradicted(lines, ranges))]
        rows = parts[0]
        for each in parts[1:]:
            rows = rows.unionByName(each, allowMissingColumns=True)
        return rows

    def _whole(self, clusters: Sequence[str]) -> list[str]:
        """Those clusters of which all is affected."""
        return [each for each in clusters if self.part is None or each in self.part.clusters]
