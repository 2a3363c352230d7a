"""`kconf plan` and `kconf apply`: compare files with a cluster, and make the cluster match them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kconf.cli.common.command import command
from kconf.cli.common.confirm import add_bulk, add_change
from kconf.cli.common.declarative_output import add_unread, execute_differences, print_plan
from kconf.cli.common.options.declarative import add_files, add_prune
from kconf.cli.common.options.usage import add_usage, usage_rows
from kconf.cli.common.plan_output import NOT_IN_TABLES, change_item, plan_columns
from kconf.cli.common.target import add_target, target
from kconf.cli.output.result import DIFFERENT, CommandResult
from kconf.errors import ApiError, ConfigurationError, ErrorCode
from kconf.operations.errors import PlanOutOfDate, PlanRejected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kconf.engine.declarative.diff import Difference
    from kconf.operations.declarative.plan import DifferencePlan
    from kconf.operations.target import Target

_WAIT: Final = 60  # seconds to wait until every broker shows the changes
EXAMPLES: Final = {
    "plan": """\
examples:
  kconf plan -f clusters/prod
  kconf plan -f clusters/prod --out prod.plan
  kconf plan -f clusters/prod --prune --output json

File format: docs/how-to/declare.md.
""",
    "apply": """\
examples:
  kconf apply prod.plan --yes --reason 'ticket 12'
  kconf apply -f clusters/prod --dry-run
  kconf apply -f clusters/prod --prune=users --max-deletes 3 --yes

A saved plan is rejected if anything it would change has been changed since. The command returns once every broker
shows the changes.
""",
}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    plan = commands.add_parser(
        "plan",
        help="show what apply would change",
        description="Show the differences between files and a cluster. Values that mean the same are not differences.",
        epilog=EXAMPLES["plan"],
    )
    add_files(plan, required=True)
    plan.add_argument("--out", metavar="PLAN", help="save the plan to this file, for `kconf apply PLAN`")
    add_prune(plan)
    add_usage(plan)
    add_target(plan)
    plan.set_defaults(run=command("plan", run_plan))
    apply = commands.add_parser(
        "apply",
        help="apply declarative files or a saved plan to a cluster",
        description="Apply declarative files or a saved plan to a cluster. Shows the plan and asks for confirmation.",
        epilog=EXAMPLES["apply"],
    )
    apply.add_argument("plan", metavar="PLAN", nargs="?", help="a plan saved by `kconf plan --out`")
    add_files(apply, required=False)
    add_prune(apply)
    add_usage(apply)
    add_change(apply)
    add_bulk(apply)
    apply.add_argument(
        "--wait",
        metavar="SECONDS",
        type=_seconds,
        default=_WAIT,
        help=(
            f"how long to wait until every broker shows the changes; exit with 1 if they do not (default: {_WAIT}; 0: "
            "do not wait)"
        ),
    )
    add_target(apply)
    apply.set_defaults(run=command("apply", run_apply))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds (0 or more)")
    return seconds


def run_plan(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.declarative.plan import check_deletes, plan_files

    cluster = target(options)
    plan = plan_files(options.file, cluster, options.prune)
    print_plan(result, cluster, plan, usage_rows(options))
    check_deletes(plan.differences, options.max_deletes)
    if plan.differences or plan.undeclared:
        result.status = DIFFERENT
    elif not plan.unread:
        result.notes.append(f"No differences: {cluster.name} matches the files.")
    if options.out is not None:
        if result.failed:
            raise PlanRejected(
                f"did not write {options.out}: some of these changes cannot be made, or some resources cannot be read"
            )
        from kconf.operations.declarative.plan_file import write_plan

        write_plan(options.out, plan, cluster.name)
        result.notes.append(f"apply it with `kconf apply {options.out}`")


def run_apply(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.declarative.plan import check_deletes, plan_files

    if (options.plan is None) == (not options.file):
        raise ConfigurationError("pass either a saved plan or files with -f")
    cluster = target(options)
    cluster.check_writable()
    if options.plan is None:
        plan = plan_files(options.file, cluster, options.prune)
    else:
        plan = _read_plan(options.plan, cluster, result)
    check_deletes(plan.differences, options.max_deletes)
    result.facts.update(context=cluster.name, cluster=plan.cluster)
    result.notes += plan.notes
    if plan.unread:
        result.columns, result.hidden = plan_columns(), NOT_IN_TABLES
        add_unread(result, plan)
    if not plan.differences:
        if not plan.undeclared and not plan.unread:
            result.notes.append(f"No differences: {cluster.name} matches the files.")
        return
    made = execute_differences(result, options, cluster, plan)
    if made and options.wait > 0:
        _wait(result, cluster, made, options.wait)


def _wait(result: CommandResult, cluster: Target, made: Sequence[Difference], seconds: float) -> None:
    """Wait until every broker shows the changes, so that a plan right afterwards shows no difference."""
    from kconf.cli.output.progress import progress_bar
    from kconf.operations.declarative.visibility import wait_until_visible

    unread = wait_until_visible(cluster, made, seconds, progress_bar)
    if unread:
        result.notes.append(
            f"cannot determine whether the cluster shows the changes: {', '.join(unread)} cannot be read"
        )


def _read_plan(path: str, cluster: Target, result: CommandResult) -> DifferencePlan:
    """The plan of a file. If it is out of date, the changed values are added to the result."""
    from kconf.operations.declarative.changes import changes_of
    from kconf.operations.declarative.plan_file import read_plan
    from kconf.operations.declarative.staleness import check_current

    try:
        return check_current(path, cluster, read_plan(path))
    except PlanOutOfDate as error:
        result.columns, result.hidden = plan_columns(), NOT_IN_TABLES
        failure = ApiError(ErrorCode.INVALID_UPDATE_VERSION, "changed since the plan was made")
        for each in changes_of(error.moved):
            result.add(failure, **change_item(each, "failed"))
        raise
