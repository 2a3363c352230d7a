"""What data a lake has about its clusters: from when, until when, and from which kinds of input.

An answer without rows is only meaningful for clusters and times of which the lake has data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kconf.lake.lookup import LakeTables, LookupFilter
from kconf.lake.schemas import DECLARED, HISTORY, STATE


@dataclass(frozen=True)
class Coverage:
    """What data the lake has about one cluster. `until` is the time of its last line or snapshot; None if unknown.

    `numbered`: there is a server's journal or a followed log, in which gaps can be detected. `journaled`: there is any
    record of changes.
    """

    cluster: str
    until: datetime | None = None
    numbered: bool = False
    journaled: bool = False
    snapshots: bool = False
    followed: bool = False

    @property
    def shows_unrecorded(self) -> bool:
        """Whether a change that is missing from the journal can be detected."""
        return self.followed or (self.journaled and self.snapshots)


def coverages(tables: LakeTables, clusters: Sequence[str] = ()) -> list[Coverage]:
    """The coverage of some clusters, or of all clusters in the lake."""
    rows = {row["cluster"]: row for row in tables.rows(STATE, LookupFilter(clusters).conditions())}
    found = []
    for cluster in clusters or tables.clusters():
        row = rows.get(cluster)
        if row is None:
            found.append(Coverage(cluster))
            continue
        numbered = row["began"] is not None or bool(row["followed"])
        looked, followed = bool(row["looked"]), bool(row["followed"])
        found.append(Coverage(cluster, row["time"], numbered, numbered or bool(row["recorded"]), looked, followed))
    return found


def begins_after(tables: LakeTables, clusters: Iterable[str], at: datetime) -> list[str]:
    """The given clusters of which the lake has no data at or before a time."""
    wanted = list(clusters)
    conditions = LookupFilter(wanted).conditions()
    rows = tables.rows(HISTORY, conditions, columns='cluster, min(since) AS "first"', group="cluster")
    first = {row["cluster"]: row["first"] for row in rows}
    return [each for each in wanted if first.get(each) is None or first[each] > at]


def declared_clusters(tables: LakeTables) -> list[str | None]:
    """The clusters for which the files of the last run declare something; None stands for every cluster."""
    return [row["cluster"] for row in tables.rows(DECLARED, columns="DISTINCT cluster")]


def is_declared(tables: LakeTables, cluster: str) -> bool:
    """Whether the files of the last run declare something for a cluster."""
    return tables.is_declared and any(each in (None, cluster) for each in declared_clusters(tables))
