"""Finds the resources and clusters that new bronze rows affect, so that only their gold rows are computed again.

A new line of a server's journal affects its resource. It affects its whole cluster in three cases: the line is about a
broker, because all resources may inherit from it; the line is older than a snapshot of the brokers, because that
changes the snapshot's position in the order; or the cluster has a second record (client journals, a followed log),
because a line of one record can explain a change of any resource in the other. A snapshot affects its whole cluster.
So does a line if nothing else is set in the cluster, because the cluster may be new or gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.lake.schemas import ACTIVITY, ATTEMPTS, FILES, HISTORY, JOURNAL, QUARANTINE, SNAPSHOT, TOPICS, Table
from kconf.spark.delta_tables import Lake, local
from kconf.spark.transforms.history import RESOURCE

Name = tuple[str, str, str]
"""Cluster, resource type and resource name."""
FEW: Final = 20_000
"""Up to this number of new rows, the size of a table hardly changes."""
MEDIUM: Final = 200_000
"""Up to this number of new rows, what they changed is computed in memory, without Spark."""
_MOST: Final = 250_000
"""If more resources are affected, everything is computed again."""
_FILTERED: Final = 1_000
"""Up to this number of resources, a filter lists them. More need a join, which takes an extra job in each query."""
_LITERAL: Final = 10_000
"""Up to this number of resources, a query contains their names. More are sent to Spark as Arrow data."""
_NOTED: Final = (HISTORY, JOURNAL, ATTEMPTS, SNAPSHOT, QUARANTINE, FILES, ACTIVITY)


@dataclass(frozen=True)
class Part:
    """A subset of resources: those in `names`, and all of the `clusters`. `callers`: clusters with new attempts.

    With `is_most`, all resources of a cluster are included if one of them is named: selecting them would take longer.
    """

    lake: Lake
    names: Collection[Name]
    clusters: Collection[str]
    callers: Collection[str] = ()
    count: int = 0
    """The number of new rows."""
    since: int = 0
    """The round after which these rows were read."""
    topics: Collection[Name] = ()
    """The named topics that were created, deleted or got partitions, not only topics with changed keys."""
    is_most: bool = False

    @property
    def is_few(self) -> bool:
        return self.count <= FEW and not self.is_most

    @property
    def is_medium(self) -> bool:
        """Whether the new rows are few enough to compute in memory what they changed; true if `is_few`."""
        return self.count <= MEDIUM

    @property
    def touched(self) -> list[str]:
        """The clusters with an affected resource."""
        return sorted({*self.clusters, *(cluster for cluster, _, _ in self.names)})

    @cached_property
    def named(self) -> DataFrame:
        names = sorted(self.names)
        if len(names) > _LITERAL:
            columns = [list(each) for each in zip(*names, strict=True)]
            return self.lake.spark.createDataFrame(pa.table(columns, names=list(RESOURCE)))
        rows = [dict(zip(RESOURCE, each, strict=True)) for each in names]
        return local(self.lake.spark, rows, "cluster string, resource_type string, resource_name string")

    def of_types(self, kinds: Collection[str]) -> Part:
        """Only the resources of these types; clusters are kept."""
        return replace(self, names={each for each in self.names if each[1] in kinds}, callers=())

    @property
    def of_topics(self) -> Part:
        """Only the topics that were created, deleted or got partitions; clusters are kept."""
        return replace(self, names=self.topics, is_most=False)

    def within(self, rows: pa.Table) -> pa.Table:
        """Like `of`, for an Arrow table: the rows that belong to the part."""
        return rows.filter(self.has(rows))

    def rest(self, rows: pa.Table, *, of: str | None = None, name: str = "resource_name") -> pa.Table:
        """Like `others`, for an Arrow table. `of`: the type of all resources; `name`: the column with the name."""
        return rows.filter(pc.invert(self.has(rows, of, name)))

    def replaced(self, last: pa.Table, new: pa.Table) -> pa.Table:
        """All rows of an Arrow table, with `new` in place of the rows of the part."""
        return pa.concat_tables([self.rest(last), new])

    def has(self, rows: pa.Table, of: str | None = None, name: str = "resource_name") -> pa.ChunkedArray:
        """Whether each row of an Arrow table belongs to the part."""
        if self.is_most:
            return in_clusters(rows, self.touched)
        last = pa.array(sorted({each for _, _, each in self.names}), pa.string())
        has_name = pc.is_in(rows[name], value_set=last).combine_chunks()
        found = rows.filter(has_name)  # looking up all three parts of the name takes four times as long
        kind = pa.scalar(of) if of is not None else found["resource_type"]
        names = pc.binary_join_element_wise(found["cluster"], kind, found[name], "\n")
        is_named = pc.is_in(names, value_set=pa.array(["\n".join(each) for each in self.names], pa.string()))
        is_named = pc.replace_with_mask(has_name, has_name, is_named.combine_chunks())
        return pc.or_(is_named, in_clusters(rows, self.clusters))

    @cached_property
    def _filter(self) -> Column:
        """Whether a row belongs to a part with few names. The name comes last, so the joined text is unambiguous."""
        names = ["\n".join(each) for each in sorted(self.names)]
        is_named = F.concat_ws("\n", *RESOURCE).isin(*names) & F.col("cluster").isin(*self.touched)
        return F.coalesce(is_named | self.is_whole(), F.lit(False))

    def of(self, rows: DataFrame) -> DataFrame:
        if self.is_most:
            return rows.where(self.is_touched())
        if len(self.names) <= _FILTERED:
            return rows.where(self._filter)
        found = rows.join(F.broadcast(self.named), list(RESOURCE), "left_semi")
        return found.where(~self.is_whole()).unionByName(rows.where(self.is_whole())) if self.clusters else found

    def others(self, rows: DataFrame) -> DataFrame:
        if self.is_most:
            return rows.where(~self.is_touched())
        if len(self.names) <= _FILTERED:
            return rows.where(~self._filter)
        found = rows.join(F.broadcast(self.named), list(RESOURCE), "left_anti")
        return found.where(~self.is_whole()) if self.clusters else found

    def is_touched(self) -> Column:
        """Whether any resource of the row's cluster is affected."""
        return F.col("cluster").isin(*self.touched)

    def is_in(self) -> Column:
        """Whether anything in the row's cluster is affected, including who sent requests."""
        return F.col("cluster").isin(*self.touched, *self.callers)

    def is_whole(self) -> Column:
        """Whether all of the row's cluster is affected."""
        return F.col("cluster").isin(*self.clusters)

    def __bool__(self) -> bool:
        return bool(self.names or self.clusters or self.callers)


def in_clusters(rows: pa.Table, clusters: Collection[str]) -> pa.ChunkedArray:
    """Whether the rows of an Arrow table belong to these clusters."""
    return pc.is_in(rows["cluster"], value_set=pa.array(sorted(clusters), pa.string()))


def last_round(lake: Lake) -> int:
    """The last round whose rows are in bronze, according to the commit notes."""
    return max(int(lake.note(table).get("round", 0)) for table in _NOTED)


def reached_round(lake: Lake) -> int:
    """Like `last_round`, including attempts that an older version added without a note."""
    if not lake.exists(ATTEMPTS) or "round" in lake.note(ATTEMPTS):
        return last_round(lake)
    (row,) = lake.read(ATTEMPTS).agg(F.max("round").alias("last")).collect()
    return max(last_round(lake), int(row["last"] or 0))


class Parts:
    """What is affected since a round, computed once per round."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._found: dict[int, Part | None] = {}

    def since(self, number: int) -> Part | None:
        """What is affected since a round; None: too much, so everything is computed again."""
        if number not in self._found:
            self._found[number] = affected(self._lake, number)
        return self._found[number]


def affected(lake: Lake, since: int) -> Part | None:
    """What bronze rows after a round affect; None: too much, so everything is computed again."""
    state = lake.note(HISTORY)
    changed = _changed(lake, since)
    observed, callers = (_counted(lake, table, since) for table in (SNAPSHOT, ATTEMPTS))
    if changed.num_rows > _MOST:
        return None
    names = set(zip(*(changed[name].to_pylist() for name in RESOURCE), strict=True))
    two_records = {*state.get("followed", ()), *state.get("recorded", ())}
    clusters = {cluster for cluster, kind, _ in names if kind == "broker" or cluster in two_records} | set(observed)
    by_cluster = changed.group_by("cluster").aggregate([("first", "min"), ("count", "sum")]).to_pylist()
    first = {row["cluster"]: row["first_min"] for row in by_cluster if row["cluster"] not in clusters}
    clusters |= _before_snapshots(lake, first, state)
    clusters |= _followed_on(lake, since)
    names = {each for each in names if each[0] not in clusters}
    clusters |= _new_or_gone(Part(lake, names, ()))
    named = {each for each in names if each[0] not in clusters}
    count = sum(row["count_sum"] for row in by_cluster) + sum(observed.values()) + sum(callers.values())
    shaped = changed.filter(changed["is_shaped"])
    topics = named & set(zip(*(shaped[name].to_pylist() for name in RESOURCE), strict=True))
    is_most = len(named) > _LITERAL and 2 * len(named) > lake.read(TOPICS).count()
    return Part(lake, named, sorted(clusters), sorted(callers), count, since, topics, is_most)


def _changed(lake: Lake, since: int) -> pa.Table:
    """The resources of new lines, at most _MOST + 1, with the `count` of lines, the `first` time, and whether a topic
    was created, deleted or got partitions (`is_shaped`)."""
    few = lake.fresh(JOURNAL, (*RESOURCE, "time", "kind"), since)
    if few is not None:
        micros = few["time"].cast(pa.timestamp("us")).cast(pa.int64())
        few = few.append_column("micros", micros).append_column("is_shaped", pc.equal(few["kind"], "topic"))
        found = few.group_by(list(RESOURCE)).aggregate([("micros", "min"), ("kind", "count"), ("is_shaped", "any")])
        names = {"micros_min": "first", "kind_count": "count", "is_shaped_any": "is_shaped"}
        return found.rename_columns([names.get(each, each) for each in found.column_names])
    is_shaped = F.bool_or(F.col("kind") == "topic").alias("is_shaped")
    first = F.unix_micros(F.min("time")).alias("first")
    lines = lake.read_since(JOURNAL, since).groupBy(*RESOURCE)
    return lines.agg(first, F.count("*").alias("count"), is_shaped).limit(_MOST + 1).toArrow()


def _counted(lake: Lake, table: Table, since: int) -> dict[str, int]:
    """The number of rows of each cluster after a round."""
    if not lake.exists(table) or lake.note(table).get("round", since + 1) <= since:
        return {}
    few = lake.fresh(table, ["cluster"], since)
    if few is not None:
        return dict(Counter(few["cluster"].to_pylist()))
    new = lake.read_since(table, since)
    return {row["cluster"]: row["count"] for row in new.groupBy("cluster").count().collect()}


def _clusters(rows: DataFrame) -> list[Any]:
    return rows.select("cluster").distinct().collect()


def _before_snapshots(lake: Lake, first: Mapping[str, int], state: Mapping[str, Any]) -> set[str]:
    """The clusters whose first new line is older than a snapshot of its brokers."""
    looked = sorted(set(first) & set(state.get("looked", ())))
    if not looked:
        return set()
    brokers = lake.read(SNAPSHOT).where(F.col("cluster").isin(*looked) & (F.col("resource_type") == "broker"))
    last = brokers.groupBy("cluster").agg(F.unix_micros(F.max("taken")).alias("observed")).collect()
    return {row["cluster"] for row in last if first[row["cluster"]] <= row["observed"]}


def _followed_on(lake: Lake, since: int) -> set[str]:
    """The clusters with new files of a followed log. Files without lines count too, because they cover offsets."""
    few = lake.fresh(FILES, ["cluster"], since)
    if few is None:
        found = [row["cluster"] for row in _clusters(lake.read_since(FILES, since))]
    else:
        found = pc.unique(few["cluster"]).to_pylist()
    return {each for each in found if each is not None}


def _new_or_gone(part: Part) -> set[str]:
    """The clusters in which nothing is set except on the named resources."""
    if not part.names:
        return set()
    pieces = part.lake.pieces(HISTORY, RESOURCE, open=True)
    if pieces is not None:
        others = (part.rest(each.rows)["cluster"] for each in pieces)
        return set(part.touched).difference(*(pc.unique(each).to_pylist() for each in others))
    there = part.lake.read(HISTORY).where("open").where(part.is_touched())
    return set(part.touched) - {row["cluster"] for row in _clusters(part.others(there))}
