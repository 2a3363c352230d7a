"""`kconf plan` and `kconf apply`: make a cluster what files say."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kconf.cli.common.confirm import IN_OTHER_WORDS, add_change, item_of, plan_columns
from kconf.cli.common.target import Target, add_target, target
from kconf.cli.output.result import DIFFERENT, Aborted, CommandResult, command
from kconf.errors import ApiError, ConfigurationError, ErrorCode
from kconf.operations.declarative.files import add_files, add_prune
from kconf.operations.execute import add_bulk

if TYPE_CHECKING:
    from kconf.engine.declarative.diff import Difference
    from kconf.operations.declarative.plan import Planned
    from kconf.operations.planned_change import ChangePlan

EXAMPLES: Final = {
    "plan": """\
examples:
  kconf plan -f clusters/prod
  kconf plan -f clusters/prod --out prod.plan
  kconf plan -f clusters/prod --prune --output json

The files: docs/how-to/declare.md.
""",
    "apply": """\
examples:
  kconf apply prod.plan --yes --reason 'ticket 12'
  kconf apply -f clusters/prod --dry-run
  kconf apply -f clusters/prod --prune=users --max-deletes 3 --yes

A plan is refused where anything that it would change has moved since it was made.
""",
}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    plan = commands.add_parser(
        "plan",
        help="what stands between files and a cluster",
        description="Tell what stands between files and a cluster: what means the same is no difference.",
        epilog=EXAMPLES["plan"],
    )
    add_files(plan, required=True)
    plan.add_argument("--out", metavar="PLAN", help="write the plan there, for `kconf apply PLAN`")
    add_prune(plan)
    add_target(plan)
    plan.set_defaults(run=command("plan", run_plan))
    apply = commands.add_parser(
        "apply",
        help="make a cluster what files say, or do what a plan says",
        description="Make a cluster what files say, or do what a plan says. The plan is shown and asked about.",
        epilog=EXAMPLES["apply"],
    )
    apply.add_argument("plan", metavar="PLAN", nargs="?", help="a file that `kconf plan --out` wrote")
    add_files(apply, required=False)
    add_prune(apply)
    add_change(apply)
    add_bulk(apply)
    add_target(apply)
    apply.set_defaults(run=command("apply", run_apply))


def run_plan(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.operations.declarative.plan import check_deletes

    chosen = target(options)
    planned = tell_plan(answer, chosen, options)
    check_deletes(planned.differences, options)
    if planned.differences:
        answer.status = DIFFERENT
    else:
        answer.notes.append(f"{chosen.name} is what the files say")
    if options.out is not None:
        if answer.failed:
            raise Aborted(f"{options.out} was not written: not all of this can be done", 1)
        from kconf.operations.declarative.plan_file import write_plan

        write_plan(options.out, planned, chosen.name)
        answer.notes.append(f"kconf apply {options.out} does it")


def tell_plan(answer: CommandResult, chosen: Target, options: argparse.Namespace) -> Planned:
    """What stands between the files and the cluster."""
    planned = _of_files(chosen, options)
    answer.columns, answer.hidden = plan_columns(), IN_OTHER_WORDS
    answer.facts.update(context=chosen.name, cluster=planned.cluster)
    _tell(answer, chosen, planned)
    return planned


def run_apply(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.operations.declarative.plan import check_deletes

    if (options.plan is None) == (not options.file):
        raise ConfigurationError("name a plan, or files with -f: one of the two")
    chosen = target(options)
    chosen.check_writable()
    planned = _of_files(chosen, options) if options.plan is None else _of_plan(chosen, options, answer)
    check_deletes(planned.differences, options)
    answer.facts.update(context=chosen.name, cluster=planned.cluster)
    answer.notes += planned.notes
    if not planned.differences:
        answer.notes.append(f"{chosen.name} is what the files say")
        return
    carry_out_differences(answer, options, chosen, planned)


def carry_out_differences(answer: CommandResult, options: argparse.Namespace, chosen: Target, planned: Planned) -> None:
    """Show, ask, do: what every command does that changes a cluster by differences."""
    from kconf.operations.declarative.policy_check import judged_topics
    from kconf.operations.declarative.requests import Sender
    from kconf.operations.execute import execute_plan

    plan = _plan(planned)
    with chosen.open() as admin:
        plan = judged_topics(chosen, admin, plan, planned.differences, answer)
        doable = [each for each in planned.differences if each.resource not in plan.failures]
        send = Sender(admin, doable, planned.revision, options.reason)
        count = len(plan.resources)
        what = f"change {count} resource{'' if count == 1 else 's'}"
        execute_plan(answer, options, chosen, admin, plan, send, asks=True, what=what, wish=what)


def _of_files(chosen: Target, options: argparse.Namespace) -> Planned:
    from kconf.operations.declarative.files import load_declared
    from kconf.operations.declarative.plan import plan_files, prune_of

    declared = load_declared(options.file, chosen.context)
    return plan_files(chosen, declared, prune_of(options, chosen, declared))


def _of_plan(chosen: Target, options: argparse.Namespace, answer: CommandResult) -> Planned:
    """The plan of a file, if nothing that it would change has moved."""
    from kconf.operations.declarative.plan_file import read_plan
    from kconf.operations.declarative.staleness import moved_since_plan, read_again

    planned = read_plan(options.plan)
    if not planned.differences:
        return planned
    reading = read_again(chosen, planned.differences)
    if reading.cluster != planned.cluster:
        raise ConfigurationError(f"{options.plan} is a plan for another cluster than {chosen.name}; nothing was done")
    gone = moved_since_plan(planned.differences, reading)
    if gone:
        _tell_moved(answer, gone)
        raise Aborted(f"{options.plan} is out of date: {len(gone)} of its values have moved; nothing was done", 1)
    return planned._replace(revision=reading.revision)


def _tell_moved(answer: CommandResult, gone: Sequence[Difference]) -> None:
    from kconf.operations.declarative.display import edits_of

    answer.columns, answer.hidden = plan_columns(), IN_OTHER_WORDS
    failure = ApiError(ErrorCode.INVALID_UPDATE_VERSION, "this has moved since the plan was made")
    for each in edits_of(gone):
        answer.add(failure, **item_of(each, "failed"))


def _plan(planned: Planned) -> ChangePlan:
    from kconf.operations.declarative.display import edits_of, failures_of
    from kconf.operations.planned_change import ChangePlan

    return ChangePlan(edits_of(planned.differences), {**failures_of(planned.differences), **planned.failures})


def _tell(answer: CommandResult, chosen: Target, planned: Planned) -> None:
    """The differences, judged by the context's policy."""
    plan = _plan(planned)
    if chosen.context.policy is not None and plan.edits:
        from kconf.operations.declarative.policy_check import judged_topics
        from kconf.operations.policy_check import check_policy

        with chosen.open() as admin:
            plan = check_policy(chosen, admin, judged_topics(chosen, admin, plan, planned.differences, answer), answer)
    for each in plan.edits:
        failure = plan.failures.get(each.resource)
        answer.add(failure, **item_of(each, "failed" if failure else each.op))
    answer.notes += planned.notes
