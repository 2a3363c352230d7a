"""Prints and executes plans of differences, from files or for a rollback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kconf.cli.common.execute import add_warnings, execute
from kconf.cli.common.plan_output import NOT_IN_TABLES, change_item, plan_columns

if TYPE_CHECKING:
    import argparse

    from kconf.cli.output.result import CommandResult
    from kconf.engine.declarative.diff import Difference
    from kconf.operations.declarative.plan import DifferencePlan
    from kconf.operations.risks.usage import UsageRow
    from kconf.operations.target import Target


def print_plan(result: CommandResult, target: Target, plan: DifferencePlan, usage: Sequence[UsageRow] = ()) -> None:
    """The differences as items, checked by the policy of the context. Nothing is changed."""
    from kconf.operations.declarative.changes import changes_of, plan_of
    from kconf.operations.declarative.topics import check_topics
    from kconf.operations.policy.check import check_policy
    from kconf.operations.risks.assess import assess

    result.columns, result.hidden = plan_columns(), NOT_IN_TABLES
    result.facts.update(context=target.name, cluster=plan.cluster)
    checked, policy = plan_of(plan), target.context.policy
    if checked.changes:
        with target.open() as admin:
            checked = check_topics(policy, admin, assess(admin, checked, usage), plan.differences)
            checked = check_policy(policy, admin, checked)
    add_warnings(result, checked.warnings)
    for each in checked.changes:
        failure = checked.failures.get(each.resource)
        result.add(failure, **change_item(each, "failed" if failure else each.op))
    for each in changes_of(plan.undeclared):
        result.add(**change_item(each, each.op))
    add_unread(result, plan)
    result.notes += plan.notes


def add_unread(result: CommandResult, plan: DifferencePlan) -> None:
    """Add what could not be read as failed items: whether it differs is unknown."""
    nothing = dict.fromkeys(("old", "new", "source", "data_loss"))
    for each in plan.unread:
        result.add(each.failure, resource=each.what, key=None, op="read", **nothing, risks=[], outcome="unknown")


def execute_differences(
    result: CommandResult, options: argparse.Namespace, target: Target, plan: DifferencePlan
) -> list[Difference]:
    """Show, confirm and execute a plan of differences. Returns the applied ones."""
    from kconf.operations.declarative.requests import differences_request
    from kconf.operations.execute import OutcomeStatus

    with target.open() as admin:
        request = differences_request(result.command, target, admin, plan, options.reason)
        outcomes = execute(result, options, target, admin, request)
    made = [each.change for each in outcomes if each.status is OutcomeStatus.DONE]
    keys = {(each.resource, each.key) for each in made}
    created = {each.resource for each in made if each.op == "create"}
    return [each for each in plan.differences if (each.resource, each.key) in keys or each.resource in created]
