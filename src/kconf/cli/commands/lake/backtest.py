"""`kconf lake backtest`: show what rules would have refused. The only command of `kconf lake` that needs Spark."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kconf.cli.commands.lake.queries import time
from kconf.cli.commands.lake.scope import begin, check_times, clusters, extent, look_at, span
from kconf.cli.commands.lake.violations import add_findings
from kconf.cli.output.result import DIFFERENT, CommandResult, Item, ResultColumn
from kconf.errors import ConfigurationError
from kconf.util.iso_time import iso_time

if TYPE_CHECKING:
    from kconf.spark.backtest import BacktestResult

_COUNTS = ("resources", "findings", "open", "assumed", "changes")


def backtest(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.cli.common.pipeline.spark_session import lake_at, say
    from kconf.spark.inputs import Inputs

    if options.limit < 0:
        raise ConfigurationError(f"--limit must be 0 or more, not {options.limit}")
    rules = Inputs(policy=options.policy).rules
    if not rules.rules:
        raise ConfigurationError(f"{options.policy}: no rules to test")
    since, until = span(options)
    tables = begin(options, answer)
    chosen = clusters(tables, options.cluster)
    seen = look_at(tables, chosen, answer)
    check_times(tables, seen, answer, since, until)
    answer.facts.update(policy=str(options.policy), since=iso_time(since), until=iso_time(until))
    with lake_at(tables.uri, options) as lake:
        from kconf.spark import backtest as backtesting

        versions = dict(tables.run["versions"])
        limit = options.limit if options.list else 0
        tested = backtesting.backtest(lake, versions, rules, backtesting.TimeRange(chosen, since, until), limit, say)
    say("")
    _add_result(tested, answer, findings=options.list)
    if not tested.refused:
        answer.notes.append(f"no change would have been refused in {extent(seen)}")


def _add_result(tested: BacktestResult, answer: CommandResult, *, findings: bool) -> None:
    answer.facts.update(findings=tested.found, refused=tested.refused)
    if findings:
        _add_findings(tested, answer)
    else:
        _add_rules(tested, answer)
    errors = [row for row in tested.rules if row["severity"] == "error" and row["findings"]]
    answer.status = DIFFERENT if errors or tested.refused else answer.status
    changes = "1 change" if tested.refused == 1 else f"{tested.refused:,} changes"
    if tested.refused:
        answer.notes.append(f"{changes} would have been refused")
    assumed = sum(row["assumed"] for row in tested.rules)
    if assumed:
        answer.notes.append(
            f"{assumed:,} of the findings use assumed values, because no snapshot is old enough: those in the "
            "cluster's first snapshot or, without a snapshot, Kafka's defaults"
        )


def _add_rules(tested: BacktestResult, answer: CommandResult) -> None:
    answer.columns = [
        *map(ResultColumn, ("rule", "severity", *_COUNTS)),
        ResultColumn("who", show=_people),
        time("first"),
        time("last"),
    ]
    answer.columns.insert(-2, ResultColumn("people"))
    answer.hidden = frozenset({"assumed", "people"})
    for row in tested.rules:
        answer.add(**{**row, "first": iso_time(row["first"]), "last": iso_time(row["last"])})


def _people(item: Item) -> str:
    names = [each or "(unknown)" for each in item["who"]]
    more = item["people"] - len(names)
    return ", ".join([*names, *([f"{more} more"] if more else [])])


def _add_findings(tested: BacktestResult, answer: CommandResult) -> None:
    add_findings(tested.findings, answer)
    if tested.found > len(tested.findings):
        answer.notes.append(
            f"showing the first {len(tested.findings):,} of {tested.found:,}; use --limit N to show more"
        )
