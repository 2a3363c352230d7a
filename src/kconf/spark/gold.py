"""Gold: the tables for queries, each derived from bronze and silver and written in one commit.

A table's commit note records what its rows were made from: the round of reading, the build of the history, and a
fingerprint of what else they depend on (`given`). If only the round differs, the rows of affected resources and
clusters are computed again (incremental/affected.py), and all others are kept. A table that nothing affects is not
written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial, reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

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
from kconf.lake.storage.location import LakeError
from kconf.spark import files, violations
from kconf.spark.delta_tables import Lake, fit, local
from kconf.spark.incremental.affected import Part, Parts, in_clusters, reached_round
from kconf.spark.incremental.changed_keys import ChangedKeys
from kconf.spark.incremental.recent import REMEMBERED, Inherited, Recent, recent, remember_closed
from kconf.spark.inputs import USAGE, Inputs
from kconf.spark.session import planned_for
from kconf.spark.silver import all_events, whole_journal
from kconf.spark.transforms import activity, drift, effective, followed, integrity, quotas, snapshots
from kconf.spark.transforms.foreign import foreign
from kconf.spark.transforms.topics.table import topics
from kconf.spark.transforms.values import KEYS, keys
from kconf.version import __version__

_LATER: Final = (DRIFT, EFFECTIVE_QUOTA)  # derived from other gold tables
_BY_LINES: Final = (ACTIVITY, INTEGRITY, TOPICS)  # their rows about a resource do not depend on inherited values
_AT_ONCE: Final = 4  # planning is single-threaded, and most of the time of a small run
_INHERITED, _COUNTS = "inherited", "counts"
_INPUTS: Final = {TOPICS: ["owners"], EFFECTIVE_QUOTA: ["usage"], DRIFT: ["declared"]}
"""The inputs that the rows of a table depend on; for violations see violations.py."""


def write(lake: Lake, inputs: Inputs, say: Callable[[str], None]) -> None:
    """Bring all gold tables up to date, several at a time."""
    state, parts = lake.note(HISTORY), Parts(lake)
    number = reached_round(lake)
    reached = {"round": number, "built": state.get("built")}
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
        if None in made:
            lake.memory.clear()  # the lake may have been replaced by another one
        is_light = all(gold.is_light for gold in made.values())
        is_light = is_light and (VIOLATIONS not in work or violations.is_light(lake, inputs, parts))
        with planned_for(lake.spark, is_few=is_light, is_small=is_light):
            for gold in made.values():
                gold.prepare({table for table in work if table is not VIOLATIONS})
            for late in (False, True):
                wave = [table for table in work if (table in _LATER) is late]
                if wave:
                    say(f"writing {', '.join(table.name for table in wave)} …")
                    with ThreadPoolExecutor(_AT_ONCE) as pool:
                        list(pool.map(lambda table: work[table](), wave))
        remember_closed(lake, number)
    finally:
        for gold in made.values():
            gold.forget()


def has_rows(table: Table, inputs: Inputs) -> bool:
    """Whether there is anything to compare with: declared files or rules."""
    if table is DRIFT:
        return inputs.declarations is not None
    return table is not VIOLATIONS or bool(inputs.rules.rules)


def given(table: Table, inputs: Inputs) -> str:
    """A fingerprint of everything that the rows depend on except bronze and silver."""
    prints = inputs.fingerprints
    whole = [__version__, table.ddl, *(prints[name] for name in _INPUTS.get(table, ())), *keys(inputs.catalog)]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]


class _Update:
    """Brings one table up to date; `note` is that of its next commit."""

    def __init__(self, lake: Lake, table: Table, note: dict[str, Any]) -> None:
        self._lake, self._table, self._note = lake, table, note

    def since(self) -> int | None:
        """The last round that the rows include; None: they were computed from other inputs."""
        last = self._lake.note(self._table, of_rows=True)
        is_same = all(last.get(name, "") == self._note[name] for name in ("built", "given"))
        return int(last["round"]) if is_same else None

    def write(self, gold: Gold) -> None:
        lake, table, part = self._lake, self._table, gold.part
        note = {**self._note, "kept": part is not None}
        if not gold.affects(table):
            lake.append_rows(table, [], note=note)
        elif part is None:
            lake.overwrite(table, gold.rows(table), note)
        elif gold.is_in_memory(table) and (last := lake.rows(table)) is not None:
            lake.update(table, last, gold.rows(table), partial(gold.merged, table), note)
        elif gold.is_in_memory(table) and table is not ACTIVITY and (pieces := lake.pieces(table)) is not None:
            lake.replace_files(table, pieces, partial(gold.rest, table), gold.rows(table), note)
        else:
            lake.overwrite(table, gold.whole(table), note, few=part.is_few)


class Gold:
    """The rows of each table, or of an affected part; shared intermediate results are computed once.

    If few rows are new, the rows of small tables are passed to Spark from memory.
    """

    def __init__(self, lake: Lake, inputs: Inputs, part: Part | None = None) -> None:
        self.lake, self.inputs, self.part = lake, inputs, part
        self._kept: list[DataFrame] = []

    def rows(self, table: Table) -> DataFrame:
        """The rows of the table, or those of the part; for activity, the rows to add to the kept ones."""
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

    @property
    def is_light(self) -> bool:
        """Whether Spark gets only a few rows of the history, from memory."""
        return self.part is not None and self.part.is_few and (self._here is not None or self._recent is not None)

    def is_in_memory(self, table: Table) -> bool:
        """Whether only a few rows of a table change, so that it can be updated in memory."""
        part = self.part
        if part is None:
            return False
        if table is EFFECTIVE_CONFIG and self._changed_keys is not None:
            return True
        return part.is_few or (table in _BY_LINES and self._recent is not None)

    def affects(self, table: Table) -> bool:
        """Whether rows of the table may differ; if not, a commit without rows records the round."""
        part = self.part
        if part is None or part.clusters or table is ACTIVITY:
            return True
        kinds = {kind for _, kind, _ in part.names}
        if table is EFFECTIVE_QUOTA:
            return "quota" in kinds or self.has_new_callers
        if table is TOPICS:
            return bool(part.topics)
        return table is not UNEVEN and bool(kinds)

    def whole(self, table: Table) -> DataFrame:
        """All rows after an update of the part."""
        part, rows, last = self.part, fit(self.rows(table), table), self.lake.read(table)
        assert part is not None
        if table is ACTIVITY:
            counted_again = (F.col("kind") == "changes") & F.col("cluster").isin(self._followed)
            flapping = part.others(last.where("kind = 'flapping'"))
            kept = last.where((F.col("kind") != "flapping") & ~counted_again)
            return activity.added(rows, kept.unionByName(flapping))
        if table is EFFECTIVE_QUOTA:
            kept = last.where(~part.is_in())
        elif table is UNEVEN:
            kept = last.where(~part.is_whole())
        elif table is TOPICS:
            named = {"resource_type": F.lit("topic"), "resource_name": F.col("topic")}
            kept = part.of_topics.others(last.withColumns(named))
        elif table is INTEGRITY:
            unnamed = F.col("resource_name").isNull()
            kept = part.others(last.where(~unnamed)).unionByName(last.where(unnamed & ~part.is_touched()))
        else:
            kept = part.others(last)
        return fit(kept, table).unionByName(rows)

    def merged(self, table: Table, last: pa.Table, rows: pa.Table) -> pa.Table:
        """Like `whole`, in memory."""
        part = self.part
        assert part is not None
        if table is ACTIVITY:
            is_flapping = pc.equal(last["kind"], "flapping")
            counted_again = pc.and_(pc.equal(last["kind"], "changes"), in_clusters(last, self._followed))
            kept = last.filter(pc.invert(pc.or_(is_flapping, counted_again)))
            flapping = last.filter(is_flapping)
            if self._recent is not None:
                return activity.added_in_memory(pa.concat_tables([kept, *activity.more_flapping(flapping, rows)]))
            return activity.added_in_memory(pa.concat_tables([kept, part.rest(flapping), rows]))
        return pa.concat_tables([self.rest(table, last), rows])

    def rest(self, table: Table, last: pa.Table) -> pa.Table:
        """The rows in memory that an update of the part keeps."""
        part = self.part
        assert part is not None
        if table is EFFECTIVE_QUOTA:
            return last.filter(pc.invert(in_clusters(last, {*part.touched, *part.callers})))
        if table is UNEVEN:
            return last.filter(pc.invert(in_clusters(last, part.clusters)))
        if table is EFFECTIVE_CONFIG and self._changed_keys is not None:
            return self._changed_keys.rest(last)
        if table is TOPICS:
            return part.of_topics.rest(last, of="topic", name="topic")
        if table is INTEGRITY:
            gone = pc.and_(pc.is_null(last["resource_name"]), in_clusters(last, part.touched))
            rest = last.filter(pc.invert(gone))
            if self._recent is None:
                return part.rest(rest)
            is_slipped = pc.equal(rest["kind"], "slipped")
            return pa.concat_tables([rest.filter(is_slipped), part.rest(rest.filter(pc.invert(is_slipped)))])
        return part.rest(last)

    def prepare(self, tables: Collection[Table]) -> None:
        """Compute what several of these tables need, before several threads request it."""
        _ = (
            self.has_new_callers,
            self.journal,
            self._recent,
            self.current,
            self.observed,
            self.snapshots,
            self.keys,
            self.usage,
        )
        needed = {EFFECTIVE_CONFIG, UNEVEN} & {table for table in tables if self.affects(table)}
        if needed and self.inherited.is_cached:
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
        """The rows of clusters in which anything is affected."""
        return rows if self.part is None else rows.where(self.part.is_in())

    # -- shared by several tables ------------------------------------------------------------------------------------

    @cached_property
    def _here(self) -> pa.Table | None:
        """The history in memory, if few rows are new; None: the history is not small."""
        return self.lake.rows(HISTORY) if self.part is not None and self.part.is_few else None

    @cached_property
    def _recent(self) -> Recent | None:
        """What new lines changed in a history that is not small, in memory; None: unknown."""
        return recent(self.lake, self.part) if self.part is not None and self._here is None else None

    @cached_property
    def _changed_keys(self) -> ChangedKeys | None:
        """The keys whose effective values new lines change; None: all keys of the part, or Spark updates the table."""
        if self.part is None or self._recent is None or not self.lake.is_medium(EFFECTIVE_CONFIG):
            return None
        return ChangedKeys.of(self.part, self._recent)

    @cached_property
    def _followed(self) -> list[str]:
        """The clusters of the part whose lines are all counted again."""
        followed = self.lake.note(HISTORY).get("followed", ())
        near = followed if self.part is None else {*self.part.touched, *self.part.callers}
        return sorted(set(followed) & set(near))

    @cached_property
    def has_new_callers(self) -> bool:
        """Whether new lines or attempts have callers that table `activity` lacks; True also if that is unknown."""
        part, names = self.part, ("cluster", "principal", "client_id")
        if part is None or part.callers or self.lake.note(ACTIVITY).get("round") != part.since:
            return True
        new, known = self.lake.fresh(JOURNAL, names, part.since), self.lake.rows(ACTIVITY, names)
        if new is None or known is None:
            return True
        found, callers = ({tuple(row.values()) for row in rows.to_pylist()} for rows in (new, known))
        return bool(found - callers)

    @cached_property
    def history(self) -> DataFrame:
        return self._history(self.part)

    @property
    def _history_of_topics(self) -> DataFrame:
        """The history of topics themselves, not of their keys."""
        part = self.part.of_topics if self.part is not None else None
        if part is None or self._here is not None or self._recent is None:
            return self._history(part)
        names = sorted({name for _, _, name in part.names})
        rows = self.lake.matching(HISTORY, pc.field("kind") == "topic", pc.field("resource_name").isin(names))
        return self._history(part) if rows is None else self.lake.in_spark(HISTORY, part.within(rows))

    def _history(self, part: Part | None) -> DataFrame:
        if self._here is not None and part is not None:
            return self.lake.in_spark(HISTORY, part.within(self._here))
        return self.lake.read(HISTORY) if part is None else part.of(self.lake.read(HISTORY))

    @cached_property
    def journal(self) -> DataFrame:
        """The changes, each once."""
        note = self.lake.note(HISTORY)
        record = self._near(whole_journal(self.lake, note))
        return self._keep(record) if self._followed else record

    @cached_property
    def current(self) -> DataFrame:
        """The current state."""
        if self._recent is not None and self.is_light:
            return self.lake.in_spark(HISTORY, self._recent.open)
        now = self.history.where("open")
        return now if self._here is not None else self._keep(now)

    @cached_property
    def levels_now(self) -> DataFrame:
        """The current state of brokers and quotas, from which other resources inherit."""
        if self.part is None:
            return self.current
        rows = self._near(self.lake.read(HISTORY)).where("open AND resource_type IN ('broker', 'quota')")
        return rows if self._here is not None else self._keep(rows)

    @cached_property
    def _is_observed(self) -> bool:
        """Whether there may be snapshots of clusters of the part."""
        if self.part is None or not self.lake.exists(SNAPSHOT):
            return self.part is None
        looked = self.lake.rows(SNAPSHOT, ("cluster",))
        near = {*self.part.touched, *self.part.callers}
        return looked is None or bool(near & set(pc.unique(looked["cluster"]).to_pylist()))

    @cached_property
    def snapshot(self) -> DataFrame:
        if not self._is_observed:
            return local(self.lake.spark, [], SNAPSHOT.ddl)
        return self._near(self.lake.read(SNAPSHOT))

    @cached_property
    def observed(self) -> DataFrame:
        """What the last snapshot of each cluster showed."""
        last = snapshots.latest(self.snapshot)
        return self._keep(last) if self._is_observed else last

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
        """The inherited values. Few new rows seldom change them, so they are kept for the next run of the session."""
        part = self.part
        near = set() if part is None else {*part.touched, *part.callers}
        if part is None or not part.is_medium or not self.lake.in_memory or len(near) > REMEMBERED:
            return self._keep(self._inherited())
        then, now = (self._made_from(number) for number in (part.since, reached_round(self.lake)))
        known: Inherited | None = self.lake.memory.get(_INHERITED)
        is_same = known is not None and (known.made_from == now or (known.made_from == then and not part.clusters))
        if known is None or not is_same or near - known.clusters:
            known = Inherited(now, frozenset(near), self._inherited().toArrow())
        self.lake.memory[_INHERITED] = replace(known, made_from=now)
        return self.lake.spark.createDataFrame(known.rows.filter(in_clusters(known.rows, near)))

    def _inherited(self) -> DataFrame:
        levels = effective.levels(self.levels_now, self.snapshot)
        brokers = effective.brokers(self.levels_now, self.observed)
        return effective.inherited(self.clusters, levels, brokers, self.keys)

    def _made_from(self, number: int) -> tuple[object, ...]:
        return number, self.lake.note(HISTORY).get("built"), given(EFFECTIVE_CONFIG, self.inputs)

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
        return topics(self._history_of_topics, snapshots, self.inputs.owner_map)

    def effective(self) -> DataFrame:
        changed = self._changed_keys
        if changed is None:
            return self._mine(effective.effective(self.current, self.inherited))
        wanted = changed.wanted(keys(self.inputs.catalog))
        if not wanted.num_rows:
            return local(self.lake.spark, [], EFFECTIVE_CONFIG.ddl)
        return effective.of_keys(self.lake.spark.createDataFrame(wanted), self.inherited)

    def uneven(self) -> DataFrame:
        whole = self.inherited if self.part is None else self.inherited.where(self.part.is_whole())
        return effective.uneven(whole)

    def activity(self) -> DataFrame:
        if self.part is None:
            return activity.activity(self.journal, self.lake.read(ATTEMPTS), self.history)
        since = int(self.lake.note(ACTIVITY)["round"])
        lines, attempts = (self._near(self.lake.read_since(table, since)) for table in (JOURNAL, ATTEMPTS))
        if self._followed:
            by_log = F.col("cluster").isin(self._followed)
            lines = self.journal.where(by_log).unionByName(lines.where(~by_log), allowMissingColumns=True)
        begun = self.history if self._recent is None else self.lake.in_spark(HISTORY, self._recent.begun)
        return activity.activity(lines, attempts, begun)

    def quotas(self) -> DataFrame:
        """The clients come from table `activity`: everyone who changed something, or tried to."""
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
        followed_clusters = list(note.get("followed", ()))
        history = self.history if self._recent is None else self.lake.in_spark(HISTORY, self._recent.closed)
        parts = [integrity.slipped(history.where("until_epoch > 0"))]
        if not self._is_counted(followed_clusters):
            parts.append(integrity.holes(journal.where(~F.col("cluster").isin(followed_clusters))))
        numbered = list(note.get("began", {}))
        if numbered and self._is_observed:
            looked = self.snapshots.where(F.col("cluster").isin(numbered))
            observed = self._mine(self.observed.where("resource_name IS NOT NULL"))
            parts.append(integrity.differences(self.history, observed, looked, self.keys))
        recorded = self._whole(note.get("recorded", ()))
        if recorded:
            events = all_events(self.lake, note).where(F.col("cluster").isin(recorded) & (F.col("epoch") == 0))
            parts.append(foreign(events, self.snapshot))
        log = self._whole(followed_clusters)
        if log:
            lines = journal.where(F.col("cluster").isin(log))
            ranges = files.ranges(self.lake).where(F.col("cluster").isin(log))
            parts += [integrity.log_gaps(ranges, lines), integrity.contradicted(followed.contradicted(lines, ranges))]
        return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), parts)

    def _is_counted(self, followed_clusters: Collection[str]) -> bool:
        """Whether no line is missing in the clusters of the part, by the session's counts; False also if unknown."""
        part = self.part
        if part is None or not part.is_medium or not self.lake.in_memory:
            return False
        known: integrity.JournalCounts | None = self.lake.memory.get(_COUNTS)
        fresh = self.lake.fresh(JOURNAL, integrity.COUNTED, part.since)
        now = reached_round(self.lake)
        if known is not None and known.round == part.since and fresh is not None:
            known = known.plus(fresh, now)
        elif known is None or known.round != now:
            known = integrity.JournalCounts(now).plus_rows(integrity.counted(self.lake.read(JOURNAL)).collect())
        self.lake.memory[_COUNTS] = known
        return known.are_complete(set(part.touched) - set(followed_clusters))

    def _whole(self, clusters: Sequence[str]) -> list[str]:
        """The given clusters that are affected as a whole."""
        return [each for each in clusters if self.part is None or each in self.part.clusters]
