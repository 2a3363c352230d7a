"""Keeping the history: what is new in bronze is folded in by one commit, and everything can be built anew.

The history's commits say how far it goes: the round of reading, per cluster the last line (`marks`), the latest time
(`clocks`) and the time of the first line that a server numbered (`began`; later looks at such a cluster are no events,
the journal tells). Events that come late, behind a cluster's mark or its clock, have their resources built anew.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.spark.lake import Lake, fit, local
from kconf.spark.schemas import HISTORY, JOURNAL, SNAPSHOT
from kconf.spark.transforms.history import (
    KEY,
    ORDER,
    RESOURCE,
    intervals,
    journal_events,
    open_events,
    order,
    seen_changes,
    snapshot_events,
)

Told = dict[str, dict[str, Any]]
"""What new rows of bronze tell, per cluster: its `first` and `last` event, the `earliest` and `latest` time, the last
`round`, and when a server's journal `began`."""

_SAME: Final = " AND ".join(f"t.{name} <=> s.{name}" for name in (*KEY, *ORDER))


def next_round(lake: Lake) -> int:
    """The number for what is read now: the history does not have it yet."""
    return int(lake.note(HISTORY).get("round", 0)) + 1


def update(lake: Lake) -> bool:
    """Fold what bronze has and the history has not. False: there was nothing."""
    state = lake.note(HISTORY)
    if not state:
        return rebuild(lake)
    journal = lake.read(JOURNAL).where(F.col("round") > state["round"])
    snapshot = lake.read(SNAPSHOT).where(F.col("round") > state["round"])
    told = _told(journal, snapshot)
    if not told:
        return False
    if _would_have_been_told(lake, state, told):
        return rebuild(lake)
    began = _merged(state["began"], told)
    new = _events(journal, snapshot, began).persist(StorageLevel.DISK_ONLY)
    try:
        late = _late(new, state, told)
        note = _note(told, state, began)
        if late is None:
            lake.replace(HISTORY, "open", _fold(lake, new), note)
        else:
            everything = _events(lake.read(JOURNAL), lake.read(SNAPSHOT), began)
            lake.merge(HISTORY, _fold_late(lake, new, late, everything), on=_SAME, note=note)
    finally:
        new.unpersist()
    return True


def rebuild(lake: Lake) -> bool:
    """Build the whole history from bronze, in one commit."""
    journal, snapshot = lake.read(JOURNAL), lake.read(SNAPSHOT)
    told = _told(journal, snapshot)
    if not told:
        return False
    began = _merged({}, told)
    events = _events(journal, snapshot, began)
    if not snapshot.isEmpty():
        events = seen_changes(events)
    lake.overwrite(HISTORY, intervals(events), note=_note(told, {}, began))
    return True


def _told(journal: DataFrame, snapshot: DataFrame) -> Told:
    """What rows of bronze tell, in one pass."""
    looks = snapshot.where("kind <> 'snapshot'").select(
        "cluster",
        F.struct(*(part.alias(name) for name, part in zip(ORDER, _looked(), strict=True))).alias("place"),
        F.col("taken").alias("time"),
        F.lit(None).cast("timestamp").alias("numbered"),
        F.col("round"),
    )
    lines = journal.select(
        "cluster", order().alias("place"), "time", F.when(F.col("epoch") > 0, F.col("time")).alias("numbered"), "round"
    )
    rows = lines.unionByName(looks).groupBy("cluster")
    aggregated = rows.agg(
        F.min("place").alias("first"),
        F.max("place").alias("last"),
        F.unix_millis(F.min("time")).alias("earliest"),
        F.unix_millis(F.max("time")).alias("latest"),
        F.unix_millis(F.min("numbered")).alias("began"),
        F.max("round").alias("round"),
    )
    return {
        row["cluster"]: {**row.asDict(), "first": list(row["first"]), "last": list(row["last"])}
        for row in aggregated.collect()
    }


def _looked() -> tuple[Column, Column, Column]:
    """The place of a look in the order: no server numbers it."""
    return F.lit(0).cast("bigint"), F.unix_micros("taken"), F.lit(0)


def _merged(began: dict[str, int], told: Told) -> dict[str, int]:
    """When a server's journal began, per cluster that has one."""
    found = {cluster: row["began"] for cluster, row in told.items() if row["began"] is not None}
    return {**found, **{cluster: min(time, found.get(cluster, time)) for cluster, time in began.items()}}


def _would_have_been_told(lake: Lake, state: dict[str, Any], told: Told) -> bool:
    """Whether a journal came to light of a cluster whose looks were taken for events."""
    new = [c for c, row in told.items() if row["began"] is not None and row["began"] < state["began"].get(c, 1 << 62)]
    if not new:
        return False
    rows = lake.read(SNAPSHOT).where(F.col("cluster").isin(new) & (F.col("round") <= state["round"]))
    return not rows.isEmpty()


def _events(journal: DataFrame, snapshot: DataFrame, began: dict[str, int]) -> DataFrame:
    """All that bronze tells, as events. What a look showed after a server's journal began is none."""
    starts = [{"cluster": cluster, "began": time} for cluster, time in began.items()]
    numbered = local(snapshot.sparkSession, starts, "cluster string, began bigint")
    looks = snapshot.join(F.broadcast(numbered), "cluster", "left")
    looks = looks.where(F.col("began").isNull() | (F.unix_millis("taken") < F.col("began")))
    return journal_events(journal).unionByName(snapshot_events(looks))


def _fold(lake: Lake, new: DataFrame) -> DataFrame:
    """What takes the place of all open rows: those that nothing touches as they are, and what becomes of the others."""
    there = lake.read(HISTORY).where("open")
    touched = F.broadcast(new.select(*RESOURCE).distinct())
    untouched = there.join(touched, list(RESOURCE), "left_anti")
    return fit(untouched, HISTORY).unionByName(fit(_touched(there, new, touched), HISTORY))


def _fold_late(lake: Lake, new: DataFrame, late: DataFrame, everything: DataFrame) -> DataFrame:
    """The rows of all resources that have new events; the `late` ones are built anew from all events."""
    resource = list(RESOURCE)
    in_time = new.join(late, resource, "left_anti")
    touched = F.broadcast(in_time.select(*resource).distinct())
    again = everything.join(F.broadcast(late), resource, "left_semi")
    rows = _touched(lake.read(HISTORY).where("open"), in_time, touched)
    return rows.unionByName(intervals(seen_changes(again)))


def _touched(there: DataFrame, new: DataFrame, touched: DataFrame) -> DataFrame:
    """Open rows are the events that began them: with the new events they make the rows of these resources."""
    fresh = open_events(there).join(touched, list(RESOURCE), "left_semi").unionByName(new)
    return intervals(seen_changes(fresh))


def _late(new: DataFrame, state: dict[str, Any], told: Told) -> DataFrame | None:
    """The resources with events behind the mark or the clock of their cluster; None: there is none."""
    marks, clocks = state["marks"], state["clocks"]
    behind = [
        {"cluster": cluster, "clock": clocks[cluster], "mark": dict(zip(ORDER, marks[cluster], strict=True))}
        for cluster, row in told.items()
        if cluster in marks and (row["first"] <= marks[cluster] or row["earliest"] < clocks[cluster])
    ]
    if not behind:
        return None
    schema = "cluster string, clock bigint, mark struct<epoch:bigint,revision:bigint,line:int>"
    known = F.broadcast(local(new.sparkSession, behind, schema))
    is_late = (order() <= F.col("mark")) | (F.unix_millis("since") < F.col("clock"))
    return new.join(known, "cluster").where(is_late).select(*RESOURCE).distinct()


def _note(told: Told, state: dict[str, Any], began: dict[str, int]) -> dict[str, Any]:
    """How far the history goes with these."""
    marks, clocks = dict(state.get("marks", {})), dict(state.get("clocks", {}))
    for cluster, row in told.items():
        marks[cluster] = max(row["last"], marks.get(cluster, row["last"]))
        clocks[cluster] = max(row["latest"], clocks.get(cluster, row["latest"]))
    last = max([state.get("round", 0), *(row["round"] for row in told.values())])
    return {"round": last, "marks": marks, "clocks": clocks, "began": began}
