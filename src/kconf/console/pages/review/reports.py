"""Reports about the cluster from the lake of the context, as of the last pipeline run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from kconf.configdef.units import shown_value
from kconf.console.cluster.history import is_shown
from kconf.console.history.activity import resource_text
from kconf.console.links import page_path
from kconf.console.page import Page, PageRequest, PageRoute
from kconf.console.pages.parameters import number_parameter
from kconf.errors import KconfError
from kconf.model.resource import Resource, ResourceType
from kconf.util.iso_time import iso_time

if TYPE_CHECKING:
    from kconf.lake.lookup import Row
    from kconf.lake.report import LakeReport

DAYS: Final = 30
MOST_DAYS: Final = 366
MOST_ROWS: Final = 100
_TYPES: Final = {each.word: each for each in ResourceType}
NO_LAKE: Final = "This context has no lake: reports are unknown. Add a `lake:` to it; `kconf pipeline run` fills it."
NO_DRIFT: Final = "Unknown: the last run had no declared files about this cluster."
NO_RULES: Final = "Unknown: the last run had no policy."
UNCHECKED: Final = "Unknown: the lake has only snapshots, which show neither gaps nor unrecorded changes."
ONLY_SEEN: Final = "This covers only resources that you can see."
ONLY_OPEN: Final = (
    "The numbers of changes and refusals cover the whole cluster. They are not shown if the console requires a login."
)


@dataclass(frozen=True)
class Bar:
    """A number, and the length of its bar: at most 100."""

    name: str
    count: int
    length: int


@dataclass(frozen=True)
class ReportCell:
    text: str
    path: str | None = None


@dataclass(frozen=True)
class ReportTable:
    """`count` is the number of all rows, of which the first are shown; None if unknown, and `empty` is the reason."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[ReportCell]]
    count: int | None
    empty: str


@dataclass(frozen=True)
class ReportsPage:
    """`finished` is when the last pipeline run ended; None if there is none, or the lake cannot be read."""

    run: int | None
    finished: str | None
    days: int
    changes: int | None
    by_day: Sequence[Bar]
    by_author: Sequence[Bar]
    refusals: Sequence[Bar]
    tables: Sequence[ReportTable]
    error: str | None
    notes: Sequence[str]


def reports(request: PageRequest) -> Page:
    cluster = request.cluster
    days = number_parameter(request, "days", DAYS, most=MOST_DAYS)
    uri, snapshot = cluster.target.context.lake, cluster.snapshot
    if uri is None:
        return _shown(_empty(days, notes=[NO_LAKE]))
    if not snapshot.is_read or not snapshot.state.cluster:
        return _shown(_empty(days, notes=["The cluster ID is unknown: the cluster has not been read yet."]))
    try:
        from kconf.lake.report import read_report

        today = datetime.now(UTC).date()
        found = snapshot.derived(
            ("report", days, today), lambda each: read_report(uri, each.state.cluster, days, today)
        )
    except (KconfError, OSError, ImportError) as error:
        return _shown(_empty(days, error=f"The lake cannot be read: {error}"))
    return _shown(_page(request, days, found))


def _shown(page: ReportsPage) -> Page:
    return Page("reports.html", page, "Reports", "reports")


def _empty(days: int, *, notes: Sequence[str] = (), error: str | None = None) -> ReportsPage:
    return ReportsPage(None, None, days, None, (), (), (), (), error, notes)


def _page(request: PageRequest, days: int, report: LakeReport) -> ReportsPage:
    """The page. Files have no ACLs, so a logged-in person sees only resources that the cluster shows them."""
    is_open = request.cluster.target.credential is None
    return ReportsPage(
        run=report.run,
        finished=iso_time(report.finished),
        days=days,
        changes=sum(count for _, count in report.by_day) if is_open else None,
        by_day=_bars([(day.isoformat(), count) for day, count in report.by_day]) if is_open else (),
        by_author=_bars([(_author(name), count) for name, count in report.by_author]) if is_open else (),
        refusals=_bars([(_author(name), count) for name, count in report.refusals]) if is_open else (),
        tables=_tables(request, report),
        error=None,
        notes=() if is_open else [ONLY_OPEN],
    )


def _author(principal: str | None) -> str:
    return principal or "unknown: first seen in a snapshot"


def _bars(counts: Sequence[tuple[str, int]]) -> list[Bar]:
    most = max((count for _, count in counts), default=0)
    shown = counts[:MOST_DAYS]
    return [Bar(name, count, -(-100 * count // most) if most else 0) for name, count in shown]


def _tables(request: PageRequest, report: LakeReport) -> list[ReportTable]:
    make = _TableMaker(request)
    return [
        make.table(
            "Open violations",
            report.violations,
            {
                "Resource": make.resource,
                "Owner": lambda row: ReportCell(row["owner"] or "unknown"),
                "Severity": lambda row: ReportCell(row["severity"] or ""),
                "Rule": lambda row: ReportCell(row["rule"] or ""),
                "Key": _text("key"),
                "Value": _value("value"),
                "Since": _time("since"),
                "By": _text("principal"),
            },
            ("No open violations.", NO_RULES),
        ),
        make.table(
            "Drift",
            report.drift,
            {
                "Resource": make.resource,
                "Key": _text("key"),
                "Kind": _text("kind"),
                "Declared": _value("declared"),
                "Actual": _value("actual"),
                "Since": _time("since"),
                "By": _text("principal"),
                "Declared in": _text("place"),
            },
            ("No drift.", NO_DRIFT),
        ),
        make.table(
            "Flapping keys",
            report.flapping,
            {
                "Resource": make.resource,
                "Key": _text("key"),
                "Changed back": lambda row: ReportCell(f"{row['count']:,} times"),
                "Last": _time("last"),
                "By": _text("principal"),
            },
            ("No key was changed and later changed back.", ""),
        ),
        make.table(
            "Journal integrity",
            report.integrity,
            {
                "Kind": _text("kind"),
                "Resource": make.resource,
                "Key": _text("key"),
                "Expected": _value("expected"),
                "Found": _value("found"),
                "Noticed": _time("time"),
            },
            ("No findings.", UNCHECKED),
        ),
    ]


_Cell = Callable[["Row"], ReportCell]


def _text(name: str) -> _Cell:
    return lambda row: ReportCell(row[name] or "")


def _value(name: str) -> _Cell:
    return lambda row: ReportCell(shown_value(row["key"] or "", row[name]) if row[name] is not None else "")


def _time(name: str) -> _Cell:
    return lambda row: ReportCell(f"{row[name]:%Y-%m-%d %H:%M}" if row[name] is not None else "")


class _TableMaker:
    def __init__(self, request: PageRequest) -> None:
        self._context, cluster = str(request.context), request.cluster
        self._state = cluster.snapshot.state
        self._is_open = cluster.target.credential is None

    def table(
        self, title: str, rows: Sequence[Row] | None, columns: dict[str, _Cell], empty: tuple[str, str]
    ) -> ReportTable:
        if rows is None:
            return ReportTable(title, list(columns), (), None, empty[1])
        seen = [each for each in rows if self._may_see(each)]
        cells = [[cell(each) for cell in columns.values()] for each in seen[:MOST_ROWS]]
        none = empty[0] if self._is_open else f"{empty[0]} {ONLY_SEEN}"
        return ReportTable(title, list(columns), cells, len(seen), none)

    def resource(self, row: Row) -> ReportCell:
        found = _resource(row)
        if found is None:
            return ReportCell("")
        text = str(found) if found.type is ResourceType.ACL else resource_text(found)
        return ReportCell(text, page_path(self._context, found))

    def _may_see(self, row: Row) -> bool:
        if self._is_open:
            return True
        found = _resource(row)
        return found is not None and is_shown(found, self._state)


def _resource(row: dict[str, Any]) -> Resource | None:
    kind = _TYPES.get(row["resource_type"] or "")
    return None if kind is None or row["resource_name"] is None else Resource(kind, row["resource_name"])


PAGES = (PageRoute("/{context}/reports", reports),)
