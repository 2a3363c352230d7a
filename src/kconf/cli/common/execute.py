"""Executes the request of a command: policy, dry run or confirmation, progress, and the outcomes as items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kconf.cli.common.confirm import confirmation
from kconf.cli.common.options.usage import usage_rows
from kconf.cli.common.plan_output import NOT_IN_TABLES, change_item, plan_columns
from kconf.cli.output.progress import progress_bar
from kconf.operations.execute import ExecutionOptions, execute_plan
from kconf.operations.risks.allowed import parse_risks

if TYPE_CHECKING:
    import argparse

    from kconf.cli.output.result import CommandResult, ResultColumn
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.policy.rules import Finding
    from kconf.operations.execute import ChangeOutcome, ChangeRequest
    from kconf.operations.target import Target


def execute(
    result: CommandResult,
    options: argparse.Namespace,
    target: Target,
    admin: SyncAdminClient,
    request: ChangeRequest,
    columns: Sequence[ResultColumn] = (),
) -> list[ChangeOutcome]:
    """Check the policy of the context, then execute the request, or with `--dry-run` validate it."""
    from kconf.operations.policy.check import check_policy
    from kconf.operations.risks.assess import assess

    result.columns = list(columns) or plan_columns()
    result.hidden |= NOT_IN_TABLES
    result.facts.update(context=target.name, dry_run=options.dry_run)
    plan = check_policy(target.context.policy, admin, assess(admin, request.plan, usage_rows(options)))
    add_warnings(result, plan.warnings)
    if options.dry_run:
        result.facts["validated"] = request.validates
    confirm = confirmation(target, options, result.columns)
    outcomes = execute_plan(replace(request, plan=plan), _execution_options(options), confirm, progress_bar)
    found = []
    for each in outcomes:
        result.add(each.failure, **change_item(each.change, each.status))
        found.append(each)
    return found


def _execution_options(options: argparse.Namespace) -> ExecutionOptions:
    return ExecutionOptions(
        dry_run=options.dry_run,
        allowed_risks=parse_risks(options.allow_risk, data_loss=options.allow_data_loss),
        rate=getattr(options, "rate", None),
        resume_file=getattr(options, "resume", None),
    )


def add_warnings(result: CommandResult, warnings: Iterable[Finding]) -> None:
    result.notes += [f"{each.resource}: warning: {each.text}" for each in warnings]
