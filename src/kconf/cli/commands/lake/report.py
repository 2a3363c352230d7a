"""`kconf lake report`: the tables as one HTML page with plots."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from kconf.cli.commands.lake.integrity import checked
from kconf.cli.commands.lake.page import ReportSection, page
from kconf.cli.commands.lake.plots import COLORS, beside_names, over_days
from kconf.cli.commands.lake.scope import clusters, names, open_lake
from kconf.cli.output.result import CommandResult, ResultColumn
from kconf.errors import ConfigurationError
from kconf.lake.labels import resource_text
from kconf.util.time_text import format_time

if TYPE_CHECKING:
    from kconf.lake.coverage import Coverage
    from kconf.lake.lookup import LakeTables, Row
    from kconf.lake.schemas import Table

_MOST: Final = 12  # bars in a plot next to names
_ROWS: Final = 25  # rows of a table
_OTHERS: Final = "all others"
_NOBODY: Final = "(unknown)"
_UNCHECKED: Final = "Unknown: there are only snapshots, which show neither gaps nor unrecorded changes."
_ONE: Final = {"": 0}
_SEVERITIES: Final = {"error": 3, "warn": 1}


def report(options: argparse.Namespace, answer: CommandResult) -> None:
    if not 0 < options.days <= 3660:
        raise ConfigurationError(f"--days must be 1 to 3660, not {options.days}")
    tables = open_lake(options)
    text = render(tables, clusters(tables, options.cluster), options.days, datetime.now(UTC).date())
    if options.file == "-":
        sys.stdout.write(text)
        return
    from kconf.util.atomic_files import replace_file

    try:
        replace_file(options.file, text.encode())
    except OSError as error:
        raise ConfigurationError(f"{options.file} cannot be written: {error.strerror}") from None
    answer.columns = [ResultColumn("file"), ResultColumn("bytes")]
    answer.add(file=options.file, bytes=len(text.encode()))


def render(tables: LakeTables, chosen: Sequence[str], days: int, today: date) -> str:
    """The page about the chosen clusters, or all of them."""
    from kconf.lake.coverage import coverages, is_declared
    from kconf.lake.lookup import LookupFilter
    from kconf.lake.schemas import ACTIVITY, DRIFT, INTEGRITY, TOPICS, VIOLATIONS

    seen = coverages(tables, chosen)
    compared = [each for each in seen if is_declared(tables, each.cluster)]
    only = LookupFilter(chosen).conditions()

    def rows(table: Table, *conditions: str) -> list[Row]:
        return tables.rows(table, [*only, *conditions])

    span = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    activity = rows(ACTIVITY)
    changes = [row for row in activity if row["kind"] == "changes" and row["day"] is not None and row["day"] >= span[0]]
    drift, broken, doubts = rows(DRIFT), rows(VIOLATIONS, "open"), rows(INTEGRITY)
    checks = checked(seen, is_clean=not doubts)
    known = {row["cluster"] for row in tables.rows(TOPICS, [*only, '"exists"'], columns="DISTINCT cluster")}
    topics = tables.rows(TOPICS, [*only, '"exists"'], columns="count(*) AS count")
    tiles = {
        "clusters": len(known or seen),
        "topics": topics[0]["count"] if topics else 0,
        f"changes in {days} days": sum(row["count"] for row in changes),
        "values that drifted": len(drift) if compared else None,
        "open policy violations": len(broken) if tables.has_policy else None,
        "journal integrity findings": len(doubts) if doubts or checks else None,
    }
    sections = [
        *_changes(changes, span),
        _drift(drift, compared, seen),
        _findings(broken, tables.has_policy),
        _flapping([row for row in activity if row["kind"] == "flapping"]),
        _refusals([row for row in activity if row["kind"] == "refusals"]),
        _doubts(doubts, checks),
    ]
    finished = format_time(tables.run["finished"])
    return page("Kafka configuration report", f"As of {finished} UTC, run {tables.run['run']}.", tiles, sections)


def _changes(rows: Sequence[Row], span: Sequence[date]) -> list[ReportSection]:
    by_whom = Counter[str]()
    for row in rows:
        by_whom[row["principal"] or _NOBODY] += row["count"]
    most = [name for name, _ in by_whom.most_common(COLORS - 1)]
    names = most if len(by_whom) < COLORS else [*most, _OTHERS]
    places = {day: place for place, day in enumerate(span)}
    series = {name: [0] * len(span) for name in names}
    for row in rows:
        who = row["principal"] or _NOBODY
        if row["day"] in places:
            series[who if who in series else _OTHERS][places[row["day"]]] += row["count"]
    when = f"{span[0]:%d %B %Y} to {span[-1]:%d %B %Y}, days in UTC."
    if not rows:
        return [ReportSection("Changes over time", f"No changes. {when}")]
    return [
        ReportSection("Changes over time", when, over_days(span, series, "changes"), _numbered(names)),
        ReportSection("Changes by author", "In the same period.", beside_names(_bars(by_whom), _ONE, "changes")),
    ]


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _drift(rows: Sequence[Row], compared: Sequence[Coverage], seen: Sequence[Coverage]) -> ReportSection:
    if not compared:
        return ReportSection("Drift by key", "No declared state: the last run had no files to compare with.")
    rest = [each for each in seen if each not in compared]
    more = f" Not compared, because nothing is declared: {names(rest)}." if rest else ""
    if not rows:
        return ReportSection("Drift by key", f"No drift: {names(compared)} match the declared state.{more}")
    headings = ("Cluster", "Resource", "Key", "Declared", "Actual", "Since", "By")
    listed = [
        (
            *(row["cluster"], resource_text(row), row["key"] or ""),
            *(row["declared"] or "", row["actual"] or "", format_time(row["since"]), row["principal"] or ""),
        )
        for row in sorted(rows, key=lambda row: (row["key"] or "", row["cluster"], row["resource_name"]))
    ]
    plot = beside_names(_bars(Counter(row["key"] or "(topic)" for row in rows)), _ONE, "values that drifted")
    return ReportSection(
        "Drift by key",
        _cut(f"Values that differ from the declared state.{more}", rows),
        plot,
        {},
        headings,
        listed[:_ROWS],
    )


def _findings(rows: Sequence[Row], has_policy: bool) -> ReportSection:
    if not has_policy:
        return ReportSection("Policy findings by owner", "No policy: the last run had no rules to check.")
    if not rows:
        return ReportSection("Policy findings by owner", "No open violations.")
    by_owner: dict[str, Counter[str]] = {}
    for row in rows:
        by_owner.setdefault(row["owner"] or "(no owner)", Counter())[row["severity"]] += 1
    ordered = sorted(by_owner.items(), key=lambda each: (-each[1].total(), each[0]))[:_MOST]
    figures: dict[str, Counter[str]] = dict(ordered)
    headings = ("Owner", "Cluster", "Resource", "Rule", "Key", "Rule message", "Since")
    listed = [
        (
            *(row["owner"] or "", row["cluster"], resource_text(row), row["rule"], row["key"] or ""),
            *(row["message"] or row["condition"] or "", format_time(row["since"])),
        )
        for row in sorted(rows, key=lambda row: (row["severity"], row["owner"] or "", row["resource_name"]))
    ]
    plot = beside_names(figures, _SEVERITIES, "open policy violations")
    about = _cut("Rules that are violated now.", rows)
    return ReportSection("Policy findings by owner", about, plot, _SEVERITIES, headings, listed[:_ROWS])


def _flapping(rows: Sequence[Row]) -> ReportSection:
    if not rows:
        return ReportSection("Flapping keys", "No key was changed and later changed back.")
    ordered = sorted(rows, key=lambda row: -row["count"])[:_ROWS]
    headings = ("Cluster", "Resource", "Key", "Reverted", "Last", "By")
    listed = [
        (
            *(row["cluster"], resource_text(row), row["key"] or "", f"{row['count']:,} times"),
            *(format_time(row["last"]), row["principal"] or ""),
        )
        for row in ordered
    ]
    about = _cut("Values that were changed and later changed back.", rows)
    return ReportSection("Flapping keys", about, "", {}, headings, listed)


def _refusals(rows: Sequence[Row]) -> ReportSection:
    if not rows:
        return ReportSection("Refused requests", "No refused requests recorded.")
    by_whom = Counter[str]()
    for row in rows:
        by_whom[row["principal"] or _NOBODY] += row["count"]
    return ReportSection("Refused requests", "By principal.", beside_names(_bars(by_whom), _ONE, "refusals"))


def _doubts(rows: Sequence[Row], checks: Sequence[str]) -> ReportSection:
    if not rows:
        return ReportSection(
            "Journal integrity", "".join(f"{each[0].upper()}{each[1:]}. " for each in checks) or _UNCHECKED
        )
    columns = [name for name in rows[0] if name not in ("cluster", "resource_type", "resource_name", "time")]
    headings = ("Cluster", "Resource", *(name.replace("_", " ").capitalize() for name in columns), "Noticed")
    listed = [
        (
            *(row["cluster"], resource_text(row) if row["resource_type"] else ""),
            *("" if row[name] is None else str(row[name]) for name in columns),
            format_time(row["time"]),
        )
        for row in rows[:_ROWS]
    ]
    about = _cut("Gaps in the journal, and changes made outside kconf.", rows)
    return ReportSection("Journal integrity", about, "", {}, headings, listed)


def _bars(counts: Counter[str]) -> dict[str, dict[str, int]]:
    """One bar for each of the largest values, and one for all others."""
    common = counts.most_common(_MOST)
    rest = counts.total() - sum(count for _, count in common)
    found = {name: {"": count} for name, count in common}
    return {**found, f"{len(counts) - _MOST} others": {"": rest}} if rest else found


def _cut(sentence: str, rows: Sequence[Row]) -> str:
    return f"{sentence} Showing {_ROWS} of {len(rows):,}." if len(rows) > _ROWS else sentence
