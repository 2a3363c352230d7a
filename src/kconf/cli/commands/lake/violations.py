"""`kconf lake violations`: current and past violations of the last run's policy, and how findings are printed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.commands.lake.queries import amount, time
from kconf.cli.commands.lake.scope import about, begin, check_times, did_you_mean, extent, look_at, names, span
from kconf.cli.output.result import DIFFERENT, CommandResult, ResultColumn
from kconf.errors import ConfigurationError
from kconf.lake.labels import resource_text
from kconf.util.iso_time import iso_time

if TYPE_CHECKING:
    from kconf.lake.coverage import Coverage
    from kconf.lake.lookup import LakeTables, Row

_ENDING: Final = ("until_reason", "until_origin", "until_epoch", "until_revision")
_HIDDEN: Final = frozenset({"says", "severity", "epoch", "revision", "origin", "cause", "assumed", *_ENDING})


def violations(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.lake.lookup import held_between, quoted
    from kconf.lake.schemas import VIOLATIONS

    since, until = span(options)
    tables = begin(options, answer)
    if not tables.has_policy:
        raise ConfigurationError(
            f"no rules: the last run on {tables.uri} had no policy; pass it with `kconf pipeline run --policy FILE`"
        )
    is_known = _check_rule(tables, options.rule)
    asked = about(options, tables, VIOLATIONS)
    seen = look_at(tables, asked.clusters, answer)
    _check_owner(tables, options.owner, seen)
    check_times(tables, seen, answer, since, until)
    conditions = asked.conditions()
    for name in ("rule", "owner"):
        if getattr(options, name) is not None:
            conditions.append(f"{name} = {quoted(getattr(options, name))}")
    if since is None and until is None and not options.all:
        conditions.append("open")
    order = "cluster, since, resource_type, resource_name, rule"
    rows = tables.rows(VIOLATIONS, [*conditions, *held_between(since, until)], order=order)
    add_findings(rows, answer, "owner")
    answer.status = DIFFERENT if any(row["severity"] == "error" for row in rows) else answer.status
    if not rows:
        doubt = "" if is_known else f"; the lake does not show whether the policy has a rule {options.rule}"
        answer.notes.append(f"no violations found in {extent(seen)}{doubt}")


def _check_rule(tables: LakeTables, rule: str | None) -> bool:
    """Refuse a rule that the policy of the last run did not have. Returns False if the lake does not show its rules."""
    from kconf.lake.schemas import VIOLATIONS

    rules = tables.note(VIOLATIONS).get("rules") if rule is not None else None
    if rule is not None and rules is not None and rule not in rules:
        raise ConfigurationError(f"the policy of the last run has no rule {rule}{did_you_mean(rule, rules)}")
    return rule is None or rules is not None


def _check_owner(tables: LakeTables, owner: str | None, seen: Sequence[Coverage]) -> None:
    """Refuse an owner without topics in the clusters of the query."""
    from kconf.lake.lookup import LookupFilter
    from kconf.lake.schemas import TOPICS, VIOLATIONS

    if owner is None:
        return
    where = LookupFilter([each.cluster for each in seen]).conditions()
    found = (row for each in (TOPICS, VIOLATIONS) for row in tables.rows(each, where, columns="DISTINCT owner"))
    owners = {row["owner"] for row in found if row["owner"] is not None}
    if owner not in owners:
        hint = did_you_mean(owner, sorted(owners))
        raise ConfigurationError(f"owner {owner} has no topics in {names(seen)}{hint}")


def add_findings(rows: Sequence[Row], answer: CommandResult, *more: str) -> None:
    """Add findings to the result, one per item."""
    answer.columns = [
        *map(ResultColumn, ("cluster", "resource", *more, "rule", "severity", "key")),
        amount("value"),
        ResultColumn("condition"),
        ResultColumn("says"),
        time("since"),
        time("until"),
        ResultColumn("principal", "WHO"),
        *map(ResultColumn, ("reason", "cause", "changes", "ended")),
        ResultColumn("until_principal", "BY"),
        *map(ResultColumn, _ENDING),
        *map(ResultColumn, ("origin", "epoch", "revision", "assumed")),
    ]
    same = len({row["cluster"] for row in rows}) == 1
    answer.hidden = _HIDDEN | ({"cluster"} if same else set())
    for row in rows:
        item: dict[str, Any] = {each.name: row.get(each.name) for each in answer.columns}
        item |= {
            "says": row["message"],
            "resource": resource_text(row),
            "since": iso_time(row["since"]),
            "until": iso_time(row["until"]),
        }
        answer.add(**item)
