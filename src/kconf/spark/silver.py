"""Silver: maintains the history. New bronze rows are merged in one commit; the whole history can be rebuilt.

The commit notes of the history record how far it goes: the reading round, per cluster the last line (`marks`), the
latest time (`clocks`) and the time of the first line numbered by a server (`began`; later snapshots of such a cluster
add no events, because the journal is complete). If events arrive late, before a cluster's mark or clock, their
resources are rebuilt; `late` is the last round with such events. `built` changes with every rebuild, and `fold` with
every change of the algorithm, which causes a rebuild.

If a cluster has both changes recorded by clients and snapshots (the commit notes `recorded` and `looked` list such
clusters), snapshots also matter for keys that they show unchanged: see transforms/observations.py. If its metadata log
is `followed`, the log is matched with the changes that clients recorded: see transforms/followed.py. Resources of such
clusters are rebuilt whenever new rows may affect them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial, reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.lake.schemas import HISTORY, JOURNAL, SNAPSHOT
from kconf.lake.storage.location import LakeError
from kconf.spark import files
from kconf.spark.affected import FEW, Part, last_round
from kconf.spark.delta_tables import Lake, fit, local
from kconf.spark.session import planned_for
from kconf.spark.snapshot_intake import corrected_rounds
from kconf.spark.transforms import followed
from kconf.spark.transforms.history import (
    KEY,
    ORDER,
    RESOURCE,
    folded,
    intervals,
    journal_events,
    open_events,
    order,
    snapshot_events,
)
from kconf.spark.transforms.observations import observation_events

Summaries = dict[str, dict[str, Any]]
"""What the new bronze rows of each cluster contain: the `first` and `last` event, the `earliest` and `latest` time, the
last `round`, when a server's journal `began`, whether they include a `snapshot`, a change `recorded` by a client or a
change from a `followed` log, the first revision of each epoch (`begins`), and the `count` of lines and facts (0 for a
snapshot without differences). `lines` has the bounds of journal lines only. `looked` is the time of the first
snapshot."""

_FOLD: Final = 4
"""The version of the algorithm. A history that was built by another version is rebuilt."""
_SAME: Final = " AND ".join(f"t.{name} <=> s.{name}" for name in (*KEY, *ORDER))


def next_round(lake: Lake) -> int:
    """The number of the current round, which the history does not include yet."""
    return last_round(lake) + 1


def update(lake: Lake) -> bool:
    """Merge new bronze rows into the history; rebuild it if its schema changed. False: nothing new."""
    state = lake.note(HISTORY)
    if not state or state.get("fold") != _FOLD or lake.difference(HISTORY):
        return rebuild(lake)
    journal, snapshot = (lake.read_since(table, state["round"]) for table in (JOURNAL, SNAPSHOT))
    summaries = _summaries_of_few(lake, state["round"])
    if summaries is None:
        summaries = _summaries(_lines(journal, snapshot).coalesce(1))  # one partition: nothing to shuffle
    if not summaries:
        return False
    if _were_snapshots_used(lake, state, summaries) or _is_cut(state, summaries):
        return rebuild(lake)
    began, note = _merged(state["began"], summaries), _note(summaries, state)
    if set(note["followed"]) - set(state["followed"]):
        return rebuild(lake)  # the log may have changes that clients recorded
    both = [each for each in summaries if each in _two_records(note)]
    corrected = _corrected(lake, state, summaries, began)
    if not both and not corrected and not any(row["count"] for row in summaries.values()):
        return False
    again = _concerned(lake, journal, snapshot, summaries, both, corrected)
    if both:
        journal, snapshot = (each.where(~F.col("cluster").isin(both)) for each in (journal, snapshot))
    if not both and not any(_event_bounds(row, began.get(cluster)) for cluster, row in summaries.items()):
        lake.append_rows(HISTORY, [], note=note)
        return True  # there are only snapshots that add no events
    observed = any(_adds_events(row, began.get(cluster)) for cluster, row in summaries.items() if cluster not in both)
    events = _events(journal, snapshot, began) if observed else journal_events(journal)
    count = sum(row["count"] for row in summaries.values())
    late = _late(events, state, {cluster: row for cluster, row in summaries.items() if cluster not in both}, began)
    in_time, few = late is None and again is None, count <= FEW
    if in_time and few and not observed and _merge_few(lake, events, state["round"], note):
        return True
    with _kept(events) as new:
        if in_time:
            with planned_for(lake.spark, is_few=few):
                lake.replace(HISTORY, "open", _fold(lake, new, observed), note, few=few)
        else:
            anew = [each for each in (late, again) if each is not None]
            note["late"] = note["round"]
            _fold_late(lake, new, reduce(DataFrame.union, anew).distinct(), note, few=few)
    return True


def rebuild(lake: Lake) -> bool:
    """Rebuild the whole history from bronze, in one commit."""
    journal, snapshot = lake.read(JOURNAL), lake.read(SNAPSHOT)
    summaries = _summaries(_lines(journal, snapshot))
    if not summaries:
        return False
    note = _note(summaries, {"built": lake.version(HISTORY)})
    observed = any(row["snapshot"] or row["followed"] for row in summaries.values())
    events = all_events(lake, note)
    lake.overwrite(HISTORY, folded(events) if observed else intervals(events), note=note)
    return True


def _lines(journal: DataFrame, snapshot: DataFrame) -> DataFrame:
    """The order, time and kind of bronze rows."""
    snapshots = snapshot.select(
        "cluster",
        F.lit(0).cast("bigint").alias("epoch"),
        F.unix_micros("taken").alias("revision"),
        F.lit(0).alias("line"),
        F.col("taken").alias("time"),
        "round",
        F.lit(True).alias("snapshot"),
        (F.col("kind") == "snapshot").alias("bare"),
        F.lit(False).alias("followed"),
    )
    no = F.lit(False)
    is_followed = followed.is_of_log().alias("followed")
    lines = journal.select("cluster", *ORDER, "time", "round", no.alias("snapshot"), no.alias("bare"), is_followed)
    return lines.unionByName(snapshots)


def _summaries_of_few(lake: Lake, since: int) -> Summaries | None:
    """The summaries of a few journal lines after a round, without Spark; None: there are more rows."""
    names = ("cluster", *ORDER, "time", "round", "origin", "log_begin")
    facts, lines = lake.fresh(SNAPSHOT, ("round",), since), lake.fresh(JOURNAL, names, since)
    if lines is None or facts is None or facts.num_rows:
        return None
    micros, is_log = lines["time"].cast(pa.timestamp("us")).cast(pa.int64()), followed.are_of_log(lines)
    lines = lines.append_column("micros", micros).append_column("followed", is_log)
    both = [(name, how) for name in ("revision", "line", "micros") for how in ("min", "max")]
    rows = lines.group_by(["cluster", "epoch"])
    found = rows.aggregate([*both, ("round", "max"), ("followed", "any"), ("line", "count")])
    epochs: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(found.to_pylist(), key=lambda row: int(row["epoch"])):
        bounds = {
            f"{place}_{name}": row[f"{name}_{how}"]
            for name in ("revision", "line")
            for place, how in (("first", "min"), ("last", "max"))
        }
        summary = {
            "epoch": row["epoch"],
            "earliest": row["micros_min"] // 1000,
            "latest": row["micros_max"] // 1000,
            "round": row["round_max"],
            "followed": row["followed_any"],
            "recorded": row["epoch"] == 0,
            "snapshot": False,
            "count": row["line_count"],
        }
        epochs.setdefault(row["cluster"], []).append({**bounds, **summary})
    return {cluster: _together(rows) for cluster, rows in epochs.items()}


def _summaries(lines: DataFrame) -> Summaries:
    """Summarize lines by cluster, in one pass.

    Plain minima and maxima need no sort. They give only bounds for the line number: the minimum or maximum within the
    epoch. An event may be considered late because of that; the result is the same.
    """
    rows = lines.groupBy("cluster", "epoch", "snapshot")
    aggregated = rows.agg(
        *(F.min(name).alias(f"first_{name}") for name in ("revision", "line")),
        *(F.max(name).alias(f"last_{name}") for name in ("revision", "line")),
        F.unix_millis(F.min("time")).alias("earliest"),
        F.unix_millis(F.max("time")).alias("latest"),
        *(F.max(name).alias(name) for name in ("round", "followed")),
        F.max((F.col("epoch") == 0) & ~F.col("snapshot")).alias("recorded"),
        F.count_if(~F.col("bare")).alias("count"),
    )
    epochs: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(aggregated.collect(), key=lambda row: int(row["epoch"])):
        epochs.setdefault(row["cluster"], []).append(row.asDict())
    return {cluster: _together(rows) for cluster, rows in epochs.items()}


def _together(epochs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine the epochs of one cluster."""
    lines = [row for row in epochs if not row["snapshot"]]
    return {
        **_bounds(epochs),
        "lines": _bounds(lines) if lines else None,
        "looked": min((row["earliest"] for row in epochs if row["snapshot"]), default=None),
        "began": min((row["earliest"] for row in epochs if row["epoch"] > 0), default=None),
        **{name: max(row[name] for row in epochs) for name in ("round", "snapshot", "recorded", "followed")},
        "begins": [(row["epoch"], row["first_revision"]) for row in epochs if row["followed"]],
        "count": sum(row["count"] for row in epochs),
    }


def _bounds(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The first and last position in the order, and the earliest and latest time."""
    return {
        "first": min([row["epoch"], row["first_revision"], row["first_line"]] for row in rows),
        "last": max([row["epoch"], row["last_revision"], row["last_line"]] for row in rows),
        "earliest": min(row["earliest"] for row in rows),
        "latest": max(row["latest"] for row in rows),
    }


def _adds_events(row: dict[str, Any], began: int | None) -> bool:
    """Whether snapshots among the rows of a cluster add events: see `_adding_events`."""
    return row["looked"] is not None and (began is None or row["looked"] < began)


def _event_bounds(row: dict[str, Any], began: int | None) -> dict[str, Any] | None:
    """The bounds of the rows of a cluster that add events; None: there are none."""
    if row["looked"] is None or _adds_events(row, began):
        return row
    lines: dict[str, Any] | None = row["lines"]
    return lines


def _merged(began: dict[str, int], summaries: Summaries) -> dict[str, int]:
    """When the server's journal of each cluster began, for clusters that have one."""
    found = {cluster: row["began"] for cluster, row in summaries.items() if row["began"] is not None}
    return {**found, **{cluster: min(time, found.get(cluster, time)) for cluster, time in began.items()}}


def _were_snapshots_used(lake: Lake, state: dict[str, Any], summaries: Summaries) -> bool:
    """Whether a server's journal was found for a cluster whose snapshots were already used as events."""
    new = [
        c for c, row in summaries.items() if row["began"] is not None and row["began"] < state["began"].get(c, 1 << 62)
    ]
    if not new:
        return False
    rows = lake.read(SNAPSHOT).where(F.col("cluster").isin(new) & (F.col("round") <= state["round"]))
    return not rows.isEmpty()


def _two_records(note: dict[str, Any]) -> set[str]:
    """The clusters with two records of changes, which are combined."""
    return set(note["followed"]) | (set(note["recorded"]) & set(note["looked"]))


def _is_cut(state: dict[str, Any], summaries: Summaries) -> bool:
    """Whether a followed log shows that a later leader truncated lines that were read before."""
    known = {cluster: mark for cluster, mark in state["marks"].items() if cluster in summaries}
    return any(
        epoch > mark[0] and begin <= mark[1]
        for cluster, mark in known.items()
        for epoch, begin in summaries[cluster]["begins"]
    )


def _events(journal: DataFrame, snapshot: DataFrame, began: dict[str, int]) -> DataFrame:
    """New bronze rows as events. Snapshots taken after a server's journal began add no events."""
    return journal_events(journal).unionByName(snapshot_events(_adding_events(snapshot, began)))


def all_events(lake: Lake, note: dict[str, Any]) -> DataFrame:
    """All bronze rows as events."""
    journal, snapshot = whole_journal(lake, note), lake.read(SNAPSHOT)
    if not note["looked"]:
        return journal_events(journal)
    both = sorted(set(note["recorded"]) & set(note["looked"]))
    if not both:
        return _events(journal, snapshot, note["began"])
    is_both, adding = F.col("cluster").isin(*both), _adding_events(snapshot, note["began"])
    observed = observation_events(adding.where(is_both), journal.where(is_both))
    return journal_events(journal).unionByName(snapshot_events(adding.where(~is_both))).unionByName(observed)


def whole_journal(lake: Lake, note: dict[str, Any]) -> DataFrame:
    """The journal, with each change of a followed cluster once."""
    journal = lake.read(JOURNAL)
    return followed.record(journal, files.ranges(lake), note["followed"]) if note.get("followed") else journal


def _adding_events(snapshot: DataFrame, began: dict[str, int]) -> DataFrame:
    starts = [{"cluster": cluster, "began": time} for cluster, time in began.items()]
    numbered = local(snapshot.sparkSession, starts, "cluster string, began bigint")
    snapshots = snapshot.join(F.broadcast(numbered), "cluster", "left")
    return snapshots.where(F.col("began").isNull() | (F.unix_millis("taken") < F.col("began"))).drop("began")


def _corrected(lake: Lake, state: dict[str, Any], summaries: Summaries, began: dict[str, int]) -> list[str]:
    """The clusters in which a snapshot that added events was replaced."""
    rounds = corrected_rounds(lake)
    new = (cluster for cluster in summaries if rounds.get(cluster, 0) > state["round"])
    return [cluster for cluster in new if _adds_events(summaries[cluster], began.get(cluster))]


def _concerned(
    lake: Lake,
    journal: DataFrame,
    snapshot: DataFrame,
    summaries: Summaries,
    both: list[str],
    corrected: list[str],
) -> DataFrame | None:
    """The resources whose history is computed again; None if there are none.

    These are all resources of clusters with `corrected` snapshots and, in clusters with both recorded changes and
    snapshots, those that new rows may affect.

    A snapshot, or new lines of a followed log, may confirm or refute a recorded change of any resource.
    """
    if corrected:
        all_of_it = lake.read(HISTORY).where(F.col("cluster").isin(corrected)).select(*RESOURCE).distinct()
        others = _concerned(lake, journal, snapshot, summaries, both, [])
        return all_of_it if others is None else all_of_it.union(others).distinct()
    if not both:
        return None
    observed = [each for each in both if summaries[each]["snapshot"] or summaries[each]["followed"]]
    shown = snapshot.where(F.col("cluster").isin(both) & (F.col("kind") != "snapshot")).select(*RESOURCE)
    changed = journal.where(F.col("cluster").isin(both)).select(*RESOURCE)
    by_callers = F.col("cluster").isin(observed) & ~F.col("origin").isin(*followed.FOLLOWED)
    recorded = lake.read(JOURNAL).where(by_callers).select(*RESOURCE)
    return shown.union(changed).union(recorded).distinct()


def _merge_few(lake: Lake, new: DataFrame, since: int, note: dict[str, Any]) -> bool:
    """Merge the events of a few new lines: Spark processes only the rows of their resources. False: not possible."""
    lines, pieces = lake.fresh(JOURNAL, RESOURCE, since), lake.pieces(HISTORY, open=True)
    if lines is None or pieces is None:
        return False
    part = Part(lake, set(zip(*(lines[name].to_pylist() for name in RESOURCE), strict=True)), ())
    now = list(pieces)
    there = pa.concat_tables([part.within(each.rows) for each in now]) if now else lake.none_of(HISTORY)
    with planned_for(lake.spark, is_few=True, is_small=True):
        rows = intervals(open_events(lake.in_spark(HISTORY, there)).unionByName(new))
        whole = lake.rows(HISTORY)
        if whole is None:
            lake.replace_files(HISTORY, now, part.rest, rows, note)
        else:
            lake.update(HISTORY, whole, rows, partial(_with_open, part), note)
    return True


def _with_open(part: Part, last: pa.Table, new: pa.Table) -> pa.Table:
    """All rows of the history, with `new` in place of the open rows of the part."""
    return pa.concat_tables([last.filter(pc.invert(last["open"])), part.replaced(last.filter(last["open"]), new)])


def _fold(lake: Lake, new: DataFrame, observed: bool) -> DataFrame:
    """The replacement for all open rows: unaffected rows unchanged, and the new rows of affected resources."""
    there = lake.read(HISTORY).where("open")
    touched = F.broadcast(new.select(*RESOURCE).distinct())
    untouched = there.join(touched, list(RESOURCE), "left_anti")
    return fit(untouched, HISTORY).unionByName(fit(_touched(there, new, touched, observed), HISTORY))


def _fold_late(lake: Lake, new: DataFrame, late: DataFrame, note: dict[str, Any], *, few: bool) -> None:
    """Write the rows of all resources with new events; `late` resources are rebuilt from all their events.

    In a rebuild, an interval may start or end elsewhere, or disappear: obsolete rows are deleted in the same commit.
    """
    resource, identity = list(RESOURCE), [*KEY, *ORDER]
    with _kept(late) as late, _kept(all_events(lake, note).join(late, resource, "left_semi")) as again:
        there, rows, rest = lake.read(HISTORY), folded(again), None
        in_time = new.join(late, resource, "left_anti")
        if not in_time.isEmpty():
            touched = F.broadcast(in_time.select(*resource).distinct())
            rows = rows.unionByName(_touched(there.where("open"), in_time, touched, observed=True))
            rest = there.where("open").join(touched, resource, "left_semi")
        with _kept(fit(rows, HISTORY)) as rows:
            open_keys = rows.where("open").select(*KEY)
            if rest is not None:
                open_keys = open_keys.unionByName(rest.join(rows.select(*identity), identity, "left_anti").select(*KEY))
            check_open(open_keys)
            gone = there.join(late, resource, "left_semi").join(rows.select(*identity), identity, "left_anti")
            lake.merge(HISTORY, rows, gone, on=_SAME, note=note, few=few)


@contextmanager
def _kept(rows: DataFrame) -> Iterator[DataFrame]:
    """Rows that are computed once and used several times."""
    kept = rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield kept
    finally:
        kept.unpersist()


def check_open(rows: DataFrame) -> None:
    """Refuse to write a history in which a key has two values at the same time."""
    twice = rows.groupBy(*KEY).count().where("count > 1").limit(1).collect()
    for row in twice:
        raise LakeError(
            f"{row['resource_type']}:{row['resource_name']} of cluster {row['cluster']} would have {row['count']}"
            f" values of {row['key'] or 'the topic itself'} at once, so the history was not written. Run `kconf"
            " pipeline rebuild` to rebuild it from bronze."
        )


def _touched(there: DataFrame, new: DataFrame, touched: DataFrame, observed: bool) -> DataFrame:
    """Open rows are the events that started them: with the new events they produce the rows of these resources."""
    fresh = open_events(there).join(touched, list(RESOURCE), "left_semi").unionByName(new)
    return folded(fresh) if observed else intervals(fresh)


def _late(new: DataFrame, state: dict[str, Any], summaries: Summaries, began: dict[str, int]) -> DataFrame | None:
    """Resources with events before the mark or clock of their cluster; None if there are none."""
    marks, clocks = state["marks"], state["clocks"]
    bounds = {cluster: _event_bounds(row, began.get(cluster)) for cluster, row in summaries.items()}
    behind = [
        {"cluster": cluster, "clock": clocks[cluster], "mark": dict(zip(ORDER, marks[cluster], strict=True))}
        for cluster, row in bounds.items()
        if row is not None
        and cluster in marks
        and (row["first"] <= marks[cluster] or row["earliest"] < clocks[cluster])
    ]
    if not behind:
        return None
    schema = "cluster string, clock bigint, mark struct<epoch:bigint,revision:bigint,line:int>"
    known = F.broadcast(local(new.sparkSession, behind, schema))
    is_late = (order() <= F.col("mark")) | (F.unix_millis("since") < F.col("clock"))
    return new.join(known, "cluster").where(is_late).select(*RESOURCE).distinct()


def _note(summaries: Summaries, state: dict[str, Any]) -> dict[str, Any]:
    """The commit note after these rows."""
    marks, clocks = dict(state.get("marks", {})), dict(state.get("clocks", {}))
    began = _merged(state.get("began", {}), summaries)
    for cluster, row in summaries.items():
        bounds = _event_bounds(row, began.get(cluster))
        if bounds is not None:
            marks[cluster] = max(bounds["last"], marks.get(cluster, bounds["last"]))
            clocks[cluster] = max(bounds["latest"], clocks.get(cluster, bounds["latest"]))
    last = max([state.get("round", 0), *(row["round"] for row in summaries.values())])
    known = {
        name: sorted({*state.get(name, ()), *(cluster for cluster, row in summaries.items() if row[word])})
        for name, word in (("recorded", "recorded"), ("looked", "snapshot"), ("followed", "followed"))
    }
    reached = {"round": last, "marks": marks, "clocks": clocks, "began": began}
    return {**reached, **known, "late": state.get("late", 0), "built": state.get("built"), "fold": _FOLD}


def state_rows(note: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The commit note of the history as rows of the table `state`."""
    clocks, began = note.get("clocks", {}), note.get("began", {})
    for cluster, mark in sorted(note.get("marks", {}).items()):
        yield {
            "cluster": cluster,
            **dict(zip(ORDER, mark, strict=True)),
            "time": _iso(clocks.get(cluster)),
            "began": _iso(began.get(cluster)),
            **{name: cluster in note.get(name, ()) for name in ("recorded", "looked", "followed")},
            "round": note["round"],
        }


def _iso(millis: int | None) -> str | None:
    return None if millis is None else datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds")
