"""A summary of one cluster from a lake's tables: changes, drift, violations, flapping keys, integrity problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from kconf.lake.coverage import coverages, is_declared
from kconf.lake.lookup import LakeTables, LookupFilter
from kconf.lake.schemas import ACTIVITY, DRIFT, INTEGRITY, TOPICS, VIOLATIONS
from kconf.lake.storage.location import LakeError

if TYPE_CHECKING:
    from kconf.lake.lookup import Row


@dataclass(frozen=True)
class LakeReport:
    """`drift` and `violations` are None if the last run had no declared files about the cluster, or no policy,
    `integrity` if the lake has nothing of the cluster in which gaps or unrecorded changes would show.

    An author is None if only snapshots show the changes.
    """

    run: int
    finished: datetime
    by_day: Sequence[tuple[date, int]]
    by_author: Sequence[tuple[str | None, int]]
    refusals: Sequence[tuple[str | None, int]]
    drift: Sequence[Row] | None
    violations: Sequence[Row] | None
    flapping: Sequence[Row]
    integrity: Sequence[Row] | None


def read_report(uri: str, cluster: str, days: int, today: date) -> LakeReport:
    """Summarize the last `days` days, including today. Raises LakeError, also if the cluster is not in the lake."""
    tables = LakeTables(uri)
    about = LookupFilter([cluster])
    if not tables.knows(about) and not tables.rows(TOPICS, about.conditions(), columns="1 AS one", limit=1):
        raise LakeError(f"the lake at {tables.uri} has no data on the cluster {cluster}")
    only = about.conditions()
    activity = tables.rows(ACTIVITY, only)
    begin = today - timedelta(days=days - 1)
    recent = [each for each in activity if each["day"] is not None and begin <= each["day"] <= today]
    changes = [each for each in recent if each["kind"] == "changes"]
    per_day = Counter[date]()
    for each in changes:
        per_day[each["day"]] += each["count"]
    resource = "resource_type, resource_name, key"
    return LakeReport(
        run=tables.run["run"],
        finished=tables.run["finished"],
        by_day=[(day, per_day[day]) for day in (begin + timedelta(days=number) for number in range(days))],
        by_author=_by_author(changes),
        refusals=_by_author([each for each in recent if each["kind"] == "refusals"]),
        drift=tables.rows(DRIFT, only, order=resource) if is_declared(tables, cluster) else None,
        violations=tables.rows(VIOLATIONS, [*only, "open"], order=f"severity, owner, {resource}")
        if tables.has_policy
        else None,
        flapping=sorted((each for each in activity if each["kind"] == "flapping"), key=lambda each: -each["count"]),
        integrity=tables.rows(INTEGRITY, only, order="time") if _is_checked(tables, cluster) else None,
    )


def _is_checked(tables: LakeTables, cluster: str) -> bool:
    return any(each.numbered or each.shows_unrecorded for each in coverages(tables, [cluster]))


def _by_author(rows: Sequence[Row]) -> list[tuple[str | None, int]]:
    found = Counter[str | None]()
    for each in rows:
        found[each["principal"]] += each["count"]
    return found.most_common()
