"""Silver: maintains the history. New bronze rows are merged in one commit; the whole history can be rebuilt.

The commit notes of the history record how far it goes: the reading round, per cluster the last line (`marks`), the
latest time (`clocks`) and the time of the first line numbered by a server (`began`; later snapshots of such a cluster
add no events, because the journal is complete). If events arrive late, before a cluster's mark or clock, their
resources are rebuilt; `late` is the last round with such events. A line with a time in the future, by a wrong clock,
moves neither mark nor clock, because all later lines would be late: it is noted with its resource (`ahead`). `built`
changes with every rebuild, and `fold` with every change of the algorithm, which causes a rebuild.

If a cluster has both changes recorded by clients and snapshots (the commit notes `recorded` and `looked` list such
clusters), snapshots also matter for keys that they show unchanged: see transforms/observations.py. If its metadata log
is `followed`, the log is matched with the changes that clients recorded: see transforms/followed.py. Resources of such
clusters are rebuilt whenever new rows may affect them. The whole cluster is rebuilt if new lines change the positions
of others (`begins` has the first and last offset of each epoch and origin), if files cover other offsets, and when it
gets its second record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial, reduce
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.lake.schemas import FILES, HISTORY, JOURNAL, SNAPSHOT
from kconf.lake.storage.location import LakeError
from kconf.spark import files
from kconf.spark.delta_tables import Lake, fit, local
from kconf.spark.incremental import covered
from kconf.spark.incremental.affected import FEW, MEDIUM, Part, last_round
from kconf.spark.incremental.new_rows import (
    Ahead,
    Summaries,
    ahead_of,
    lines_of,
    soon_after_now,
    summaries_of_few,
    summarized,
)
from kconf.spark.session import planned_for
from kconf.spark.snapshot_intake import corrected_rounds
from kconf.spark.transforms import followed
from kconf.spark.transforms.history import (
    KEY,
    ORDER,
    RESOURCE,
    TWO_VALUES,
    folded,
    intervals,
    journal_events,
    open_events,
    order,
    snapshot_events,
)
from kconf.spark.transforms.observations import observation_events
from kconf.spark.transforms.topics.shapes import topic_id_of

_MOST_AHEAD: Final = 1000
"""If more resources of a cluster have lines in the future, its clock is wrong: then these lines count like others."""
_PLACE: Final = "struct<epoch:bigint,revision:bigint,line:int>"
_FOLD: Final = 5
"""The version of the algorithm. A history that was built by another version is rebuilt."""
_LOOKED_AT: Final = "ranges"
_TWO_VALUES: Final = re.compile(rf"\[USER_RAISED_EXCEPTION\] ([^\n]* {TWO_VALUES} [^\n]*? at once)")
_NOT_WRITTEN: Final = ", so the history was not written. Run `kconf pipeline rebuild` to rebuild it from bronze."
_MOST_OPEN: Final = 500_000
"""Up to this number of open rows of changed resources pass through the memory of this process."""
_SAME: Final = " AND ".join(f"t.{name} <=> s.{name}" for name in (*KEY, *ORDER))


def next_round(lake: Lake) -> int:
    """The number of the current round, which the history does not include yet."""
    return last_round(lake) + 1


def update(lake: Lake) -> bool:
    """Merge new bronze rows into the history; rebuild it if its schema changed. False: nothing new."""
    with _one_value():
        return _update(lake)


def _update(lake: Lake) -> bool:
    state = lake.note(HISTORY)
    if not state or state.get("fold") != _FOLD or lake.difference(HISTORY):
        return _rebuild(lake)
    journal, snapshot = (lake.read_since(table, state["round"]) for table in (JOURNAL, SNAPSHOT))
    soon = soon_after_now()
    summaries = summaries_of_few(lake, state["round"], soon)
    if summaries is None:
        summaries = summarized(lines_of(journal, snapshot, soon).coalesce(1))  # one partition: nothing to shuffle
    ranges = _new_ranges(lake, state, summaries)
    if not summaries and not ranges:
        return False
    if _were_snapshots_used(lake, state, summaries):
        return _rebuild(lake)
    began, note = _merged(state["began"], summaries), _note(summaries, state, ahead_of(journal, summaries, soon), soon)
    note["round"] = max(note["round"], ranges.round)
    if set(note["followed"]) - set(state["followed"]):
        return _rebuild(lake)  # the log may have changes that clients recorded
    both = [each for each in summaries if each in _two_records(note)]
    whole = {*_corrected(lake, state, summaries, began), *_moved(state, summaries)}
    whole |= _two_records(note) - _two_records(state)  # what was known before counts differently
    whole |= ranges.clusters & set(note["followed"])
    if not both and not whole and not ranges and not any(row["count"] for row in summaries.values()):
        return False
    again = _concerned(lake, journal, snapshot, summaries, both, sorted(whole))
    if both:
        journal, snapshot = (each.where(~F.col("cluster").isin(both)) for each in (journal, snapshot))
    if again is None and not any(_event_bounds(row, began.get(cluster)) for cluster, row in summaries.items()):
        lake.append_rows(HISTORY, [], note=note)
        return True  # there are only files that add no events
    observed = any(_adds_events(row, began.get(cluster)) for cluster, row in summaries.items() if cluster not in both)
    events = _events(journal, snapshot, began) if observed else journal_events(journal)
    count = sum(row["count"] for row in summaries.values())
    late = _late(events, state, {cluster: row for cluster, row in summaries.items() if cluster not in both}, began)
    is_nameless = observed or _has_recorded_topics(lake, state["round"], summaries)
    identified = _identified(lake, events) if is_nameless else None
    anew = [each for each in (late, again, identified) if each is not None]
    few = count <= FEW
    if anew:
        note["late"] = note["round"]
        with _kept(events) as new:
            _fold_late(lake, new, reduce(DataFrame.union, anew).distinct(), note, few=few)
    elif observed or count > MEDIUM or not _merged_in_memory(lake, events, state["round"], note, few=few):
        with _kept(events) as new, planned_for(lake.spark, is_few=few):
            lake.replace(HISTORY, "open", _fold(lake, new, observed), note, few=few)
    return True


def rebuild(lake: Lake) -> bool:
    """Rebuild the whole history from bronze, in one commit."""
    with _one_value():
        return _rebuild(lake)


def _rebuild(lake: Lake) -> bool:
    journal, snapshot = lake.read(JOURNAL), lake.read(SNAPSHOT)
    soon = soon_after_now()
    summaries = summarized(lines_of(journal, snapshot, soon))
    if not summaries:
        return False
    note = _note(summaries, {"built": lake.version(HISTORY)}, ahead_of(journal, summaries, soon), soon)
    note["round"] = max(note["round"], covered.last_round(files.covering(lake)))
    observed = any(row["snapshot"] or row["followed"] for row in summaries.values())
    events = all_events(lake, note)
    lake.overwrite(HISTORY, folded(events) if observed else intervals(events), note=note)
    return True


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


def _moved(state: dict[str, Any], summaries: Summaries) -> set[str]:
    """The followed clusters in which new lines change others: a later leader truncated them, a gateway's lines get
    another epoch, or a gap begins later.
    """
    return {cluster for cluster in state["followed"] if cluster in summaries and _is_moved(state, cluster, summaries)}


def _is_moved(state: dict[str, Any], cluster: str, summaries: Summaries) -> bool:
    known, new = state["begins"].get(cluster, []), summaries[cluster]["begins"]
    begins = {(epoch, origin): begin for epoch, origin, begin, _ in known}
    last = max((end for *_, end in known), default=-1)
    gap = max((end for _, origin, _, end in known if origin == "snapshot"), default=-1)
    return any(
        begin <= gap or (begin <= last and begin < begins.get((epoch, origin), last + 1))
        for epoch, origin, begin, _ in new
    )


class _Ranges(NamedTuple):
    """The clusters in which files cover other offsets, and the last round with such files."""

    clusters: frozenset[str] = frozenset()
    round: int = 0

    def __bool__(self) -> bool:
        return bool(self.clusters)


def has_new_ranges(lake: Lake) -> bool:
    """Whether files without lines, of runs since the last update, change what is known about a followed cluster."""
    state = lake.note(HISTORY)
    return bool(state) and bool(_new_ranges(lake, state, {}))


def _new_ranges(lake: Lake, state: dict[str, Any], summaries: Summaries) -> _Ranges:
    """If the files only extend the last part of a log, requests that were sent later may be refuted by them."""
    few = lake.fresh(FILES, ("end_offset",), state["round"])
    if few is not None and few["end_offset"].null_count == few.num_rows:
        return _Ranges()
    place = lake.version(FILES), state["round"]
    if not summaries and lake.memory.get(_LOOKED_AT) == place:
        return _Ranges()
    found = covered.news(files.covering(lake), state["round"])
    longer = {each: end for each, end in found.longer.items() if not summaries.get(each, {}).get("followed")}
    clusters = found.rearranged | _with_requests(lake, longer)
    if not summaries and not clusters:
        lake.memory[_LOOKED_AT] = place
    return _Ranges(clusters, found.round) if clusters else _Ranges()


def _with_requests(lake: Lake, ends: Mapping[str, int]) -> set[str]:
    """The clusters with requests after an offset."""
    if not ends:
        return set()
    known = local(
        lake.spark, [{"cluster": each, "end": end} for each, end in ends.items()], "cluster string, end bigint"
    )
    own = F.when(F.col("origin") == "kconf", F.col("revision") + 1)
    is_later = ~F.col("origin").isin(*followed.FOLLOWED) & (F.coalesce(own, "log_end") > F.col("end"))
    requests = lake.read(JOURNAL).join(F.broadcast(known), "cluster").where(is_later)
    return {row["cluster"] for row in requests.select("cluster").distinct().collect()}


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
    whole: list[str],
) -> DataFrame | None:
    """The resources whose history is computed again; None if there are none.

    These are all resources of the `whole` clusters and, in other clusters with both recorded changes and snapshots,
    those that new rows may affect.

    A snapshot, or new lines of a followed log, may confirm or refute a recorded change of any resource.
    """
    if whole:
        known = [lake.read(table).where(F.col("cluster").isin(whole)) for table in (HISTORY, JOURNAL, SNAPSHOT)]
        names = [each.where("resource_type IS NOT NULL").select(*RESOURCE).distinct() for each in known]
        others = _concerned(lake, journal, snapshot, summaries, [each for each in both if each not in whole], [])
        return reduce(DataFrame.union, [*names, *([others] if others is not None else [])]).distinct()
    if not both:
        return None
    observed = [each for each in both if summaries[each]["snapshot"] or summaries[each]["followed"]]
    shown = snapshot.where(F.col("cluster").isin(both) & (F.col("kind") != "snapshot")).select(*RESOURCE)
    changed = journal.where(F.col("cluster").isin(both)).select(*RESOURCE)
    by_callers = F.col("cluster").isin(observed) & ~F.col("origin").isin(*followed.FOLLOWED)
    recorded = lake.read(JOURNAL).where(by_callers).select(*RESOURCE)
    return shown.union(changed).union(recorded).distinct()


def _merged_in_memory(lake: Lake, new: DataFrame, since: int, note: dict[str, Any], *, few: bool) -> bool:
    """Merge the events of new lines: Spark processes only the rows of their resources. False: not possible."""
    lines, pieces = lake.fresh(JOURNAL, RESOURCE, since), lake.pieces(HISTORY, open=True)
    if lines is None or pieces is None:
        return False
    part = Part(lake, set(zip(*(lines[name].to_pylist() for name in RESOURCE), strict=True)), ())
    now = list(pieces)
    there = pa.concat_tables([part.within(each.rows) for each in now]) if now else lake.none_of(HISTORY)
    if there.num_rows > _MOST_OPEN:
        return False
    with planned_for(lake.spark, is_few=few, is_small=few):
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


@contextmanager
def _one_value() -> Iterator[None]:
    """Refuses, in plain words, to write a history in which a key has two values: see `intervals`."""
    try:
        yield
    except PySparkException as error:
        found = _TWO_VALUES.search(str(error))
        if found is None:
            raise
        raise LakeError(f"{found[1]}{_NOT_WRITTEN}") from None


def check_open(rows: DataFrame) -> None:
    """Refuse to write a history in which a key has two values at the same time."""
    twice = rows.groupBy(*KEY).count().where("count > 1").limit(1).collect()
    for row in twice:
        raise LakeError(
            f"{row['resource_type']}:{row['resource_name']} of cluster {row['cluster']} would have {row['count']}"
            f" values of {row['key'] or 'the topic itself'} at once{_NOT_WRITTEN}"
        )


def _touched(there: DataFrame, new: DataFrame, touched: DataFrame, observed: bool) -> DataFrame:
    """Open rows are the events that started them: with the new events they produce the rows of these resources."""
    fresh = open_events(there).join(touched, list(RESOURCE), "left_semi").unionByName(new)
    return folded(fresh) if observed else intervals(fresh)


def _late(new: DataFrame, state: dict[str, Any], summaries: Summaries, began: dict[str, int]) -> DataFrame | None:
    """Resources with events before the mark or clock of their cluster, or before their own event in the future; None if
    there are none."""
    marks, clocks, ahead = state["marks"], state["clocks"], state["ahead"]
    bounds = {cluster: _event_bounds(row, began.get(cluster)) for cluster, row in summaries.items()}
    behind = {
        cluster
        for cluster, row in bounds.items()
        if row is not None
        and cluster in marks
        and (row["first"] <= marks[cluster] or row["earliest"] < clocks[cluster])
    }
    limits = [
        {"cluster": cluster, "clock": clocks[cluster], "mark": dict(zip(ORDER, marks[cluster], strict=True))}
        for cluster in sorted({*behind, *(each for each, row in bounds.items() if row is not None and each in ahead)})
    ]
    if not limits:
        return None
    known = F.broadcast(local(new.sparkSession, limits, f"cluster string, clock bigint, mark {_PLACE}"))
    is_late = (order() <= F.col("mark")) | (F.unix_millis("since") < F.col("clock"))
    rows = new.join(known, "cluster")
    if ahead:
        later = [
            {
                **dict(zip(RESOURCE, (cluster, *name), strict=True)),
                "then": then,
                "last": dict(zip(ORDER, last, strict=True)),
            }
            for cluster, resources in ahead.items()
            for *name, then, last in resources
        ]
        schema = f"cluster string, resource_type string, resource_name string, then bigint, last {_PLACE}"
        rows = rows.join(F.broadcast(local(new.sparkSession, later, schema)), list(RESOURCE), "left")
        own = (order() <= F.col("last")) | (F.unix_millis("since") < F.col("then"))
        is_late = is_late | F.coalesce(own, F.lit(False))
    found = rows.where(is_late).select(*RESOURCE).distinct()
    return None if not behind and found.isEmpty() else found


def _has_recorded_topics(lake: Lake, since: int, summaries: Summaries) -> bool:
    """Whether clients recorded changes of topics, whose IDs they may not know; True also if that is unknown."""
    if not any(row["recorded"] for row in summaries.values()):
        return False
    lines = lake.fresh(JOURNAL, ("kind", "epoch"), since)
    return lines is None or bool(pc.any(pc.and_(pc.equal(lines["kind"], "topic"), pc.equal(lines["epoch"], 0))).as_py())


def _identified(lake: Lake, new: DataFrame) -> DataFrame | None:
    """The topics whose unknown ID becomes known: it is also that of their closed intervals. None: there are none."""
    topic = F.col("kind") == "topic"
    known = new.where(topic & topic_id_of("value").isNotNull()).select(*RESOURCE)
    nameless = lake.read(HISTORY).where(F.col("open") & topic & F.col("topic_id").isNull()).select(*RESOURCE)
    found = nameless.join(known, list(RESOURCE), "left_semi").distinct()
    return None if found.isEmpty() else found


def _note(summaries: Summaries, state: dict[str, Any], new: Ahead, soon: int) -> dict[str, Any]:
    """The commit note after these rows."""
    marks, clocks = dict(state.get("marks", {})), dict(state.get("clocks", {}))
    ahead: Ahead = {}
    for cluster in {*state.get("ahead", {}), *new}:
        resources = [*state.get("ahead", {}).get(cluster, ()), *new.get(cluster, ())]
        kept = [each for each in resources if each[2] > soon] if len(resources) <= _MOST_AHEAD else []
        if kept:
            ahead[cluster] = kept
        for *_, then, last in (each for each in resources if each not in kept):  # not in the future anymore
            marks[cluster] = max(last, marks.get(cluster, last))
            clocks[cluster] = max(then, clocks.get(cluster, then))
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
    reached = {"round": last, "marks": marks, "clocks": clocks, "began": began, "ahead": ahead}
    begins = {**state.get("begins", {})}
    for cluster, row in summaries.items():
        if row["begins"]:
            begins[cluster] = _joined([*begins.get(cluster, []), *row["begins"]])
    built = {"late": state.get("late", 0), "built": state.get("built"), "fold": _FOLD}
    return {**reached, **known, "begins": begins, **built}


def _joined(begins: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The first and last offset of each epoch and origin, once."""
    found: dict[tuple[int, str], tuple[int, int]] = {}
    for epoch, origin, begin, end in begins:
        first, last = found.get((epoch, origin), (begin, end))
        found[epoch, origin] = min(begin, first), max(end, last)
    return [[*place, *ends] for place, ends in sorted(found.items())]


def state_rows(note: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The commit note of the history as rows of the table `state`."""
    clocks, began = note.get("clocks", {}), note.get("began", {})
    for cluster, mark in sorted(note.get("marks", {}).items()):
        yield {
            "cluster": cluster,
            **dict(zip(ORDER, mark, strict=True)),
            "time": _iso(clocks.get(cluster) or None),  # 0: all lines are in the future
            "began": _iso(began.get(cluster)),
            **{name: cluster in note.get(name, ()) for name in ("recorded", "looked", "followed")},
            "round": note["round"],
        }


def _iso(millis: int | None) -> str | None:
    return None if millis is None else datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds")
