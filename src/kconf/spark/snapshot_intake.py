"""Adds snapshots to bronze: only differences from the previous snapshot are stored.

A snapshot may arrive late, between known ones: the differences of the following snapshot are then recomputed, because
its predecessor changed. A known snapshot adds nothing; if its file was corrected, its rows are replaced. The commit
note has the last round in which a snapshot of each cluster was `corrected`, because no row shows what the corrected
snapshot no longer contains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.lake.schemas import SNAPSHOT
from kconf.spark.delta_tables import Lake, fit, local
from kconf.spark.files import path_of
from kconf.spark.transforms import snapshots

Row = dict[str, Any]
_STEP: Final = (
    "cluster string, part int, step int, taken bigint, previous bigint, given boolean, started string,"
    " unseen array<string>, file string"
)


@dataclass
class Taken:
    """The result of adding snapshots: the number of facts, and the skipped files with reasons."""

    facts: int = 0
    skipped: dict[str, str] = field(default_factory=dict)


def take_snapshots(lake: Lake, seen: DataFrame, number: int) -> Taken:
    """Add the differences that new snapshots contain. `seen`: lines of snapshot files, with their `file`."""
    given = _given(seen)
    known = _known(lake, sorted({each["cluster"] for each in given}))
    taken = Taken()
    steps = _steps(given, known, taken)
    if not steps:
        return taken
    plan = local(lake.spark, steps, _STEP)
    news = _news(lake, seen, plan).unionByName(_snapshot_rows(plan), allowMissingColumns=True)
    news = fit(news.withColumn("round", F.lit(number)), SNAPSHOT).persist(StorageLevel.DISK_ONLY)
    try:
        again = [(each["cluster"], each["taken"]) for each in steps if _is_known(each, known) and each["step"]]
        mine = [(each["cluster"], each["taken"]) for each in steps if each["given"]]
        taken.facts = news.where(_at(mine)).count()
        corrected = {cluster: number for cluster, at in mine if (cluster, at) in known}
        note = {"round": number, "corrected": {**corrected_rounds(lake), **corrected}}
        if again:
            lake.replace(SNAPSHOT, _at(again), news, note)
        else:
            lake.append(SNAPSHOT, news, note=note)
    finally:
        news.unpersist()
    return taken


def corrected_rounds(lake: Lake) -> dict[str, int]:
    """The last round of each cluster in which a known snapshot was replaced."""
    found: dict[str, int] = lake.note(SNAPSHOT).get("corrected", {})
    return found


def _given(seen: DataFrame) -> list[Row]:
    """The given snapshots, one row per file."""
    heads = seen.where("kind = 'snapshot'").select("cluster", "taken", "started", "file").distinct()
    missing = seen.where("kind = 'missing' AND cluster IS NOT NULL").groupBy("cluster", "taken", "file")
    unseen = missing.agg(F.collect_set("name").alias("unseen"))
    rows = heads.join(unseen, ["cluster", "taken", "file"], "left").collect()
    return sorted((row.asDict() for row in rows), key=lambda row: (row["cluster"], row["taken"], row["file"] or ""))


def _known(lake: Lake, clusters: Sequence[str]) -> dict[tuple[str, int], Row]:
    """The snapshots of these clusters in the lake."""
    if not clusters or not lake.exists(SNAPSHOT):
        return {}
    rows = lake.read(SNAPSHOT).where(F.col("cluster").isin(*clusters) & (F.col("kind") == "snapshot"))
    found = rows.select(
        *("cluster", F.unix_millis("taken").alias("taken"), F.col("value").alias("started")),
        *(F.col("missing").alias("unseen"), "file"),
    )
    return {
        (row["cluster"], row["taken"]): {**row.asDict(), "file": path_of(row["file"] or "")} for row in found.collect()
    }


def _steps(given: Iterable[Row], known: dict[tuple[str, int], Row], taken: Taken) -> list[Row]:
    """The snapshots to compare, in parts: each part starts with the snapshot before the first new one (step 0), and
    ends with the known snapshot after the last new one, if any."""
    chosen: dict[tuple[str, int], Row] = {}
    for row in given:
        at = row["cluster"], row["taken"]
        other = chosen.get(at) or known.get(at)
        if other is not None and other["file"] != row["file"]:
            taken.skipped[row["file"]] = f"it is the same snapshot as {other['file']}"
        else:
            chosen[at] = {**row, "given": True, "unseen": row["unseen"] or []}
    steps: list[Row] = []
    part = 0
    for cluster in sorted({cluster for cluster, _ in chosen}):
        every = {at: row for at, row in {**known, **chosen}.items() if at[0] == cluster}
        before: Row | None = None
        step = 0
        for _, row in sorted(every.items()):
            mine = row.get("given", False)
            if mine and step == 0:
                part += 1
                if before is not None:
                    steps.append({**before, "part": part, "step": 0, "given": False})
            if mine or step:
                step += 1
                previous = before["taken"] if before is not None else None
                steps.append({**row, "part": part, "step": step, "previous": previous, "given": mine})
            if not mine:
                step = 0
            before = row
    return steps


def _is_known(step: Row, known: dict[tuple[str, int], Row]) -> bool:
    return (step["cluster"], step["taken"]) in known


def _news(lake: Lake, seen: DataFrame, plan: DataFrame) -> DataFrame:
    """The differences of each snapshot from the previous one, with the file of the snapshot."""
    steps = F.broadcast(plan)
    shown = snapshots.facts(
        seen.join(steps.where("given").select("cluster", "taken", "file"), ["cluster", "taken", "file"], "left_semi")
    )
    shown = shown.where("kind <> 'snapshot'").withColumn("at", F.unix_millis("taken")).drop("taken")
    numbered = steps.select("cluster", "part", "step", F.col("taken").alias("at"), "given", "unseen")
    shown = shown.join(numbered.where("given"), ["cluster", "at"]).drop("given", "unseen")
    asked = numbered.where("NOT given")
    then = snapshots.states(lake.read(SNAPSHOT).where("kind <> 'snapshot'"), asked)
    news = snapshots.news(shown.drop("at").unionByName(then), numbered)
    read_from = steps.where("step > 0").select("cluster", F.timestamp_millis("taken").alias("taken"), "file")
    return news.join(read_from, ["cluster", "taken"])


def _snapshot_rows(plan: DataFrame) -> DataFrame:
    """One row for each snapshot itself."""
    return plan.where("step > 0").select(
        *("cluster", F.timestamp_millis("taken").alias("taken"), F.timestamp_millis("previous").alias("previous")),
        *(F.lit("snapshot").alias("kind"), F.lit("").alias("key"), F.col("started").alias("value")),
        *(F.lit(False).alias("sensitive"), F.lit(False).alias("gone"), F.col("unseen").alias("missing"), "file"),
    )


def _at(snapshots: Iterable[tuple[str, int]]) -> str:
    """The condition for the rows of snapshots."""
    each = (
        f"(cluster = '{_escaped(cluster)}' AND taken = TIMESTAMP '{_text(taken)}')"
        for cluster, taken in sorted(snapshots)
    )
    return " OR ".join(each) or "false"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _text(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f") + "Z"
