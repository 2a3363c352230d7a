"""How people's commands change a cluster: plan, policy, dry run, question, send, record. One way for all of them.

A verb makes a `ChangePlan` and says how its resources are sent; `execute_plan` does the rest and fills the answer.
Whatever reaches a cluster goes through `make_changes`; where a context has a `journal:`, the client records it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kconf.cli.common.confirm import IN_OTHER_WORDS, check_loss, confirm, item_of, plan_columns, plan_lines
from kconf.errors import ApiError, ErrorCode, KafkaError, KconfError
from kconf.operations.planned_change import ChangePlan, PlannedChange

if TYPE_CHECKING:
    from kconf.cli.common.target import Target
    from kconf.cli.output.result import CommandResult, ResultColumn
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.resource import Resource

_AT_ONCE: Final = 4000  # resources between two moves of the progress bar: four requests of the usual size

Outcomes = Mapping[Any, "ApiError | None"]
"""By resource; by resource and key where one may fail without the others (ACLs). None: granted."""

Send = Callable[[Sequence["Resource"], bool], Outcomes]
"""Ask the cluster for what was planned for these resources; True: only to validate it."""


class ExecutionOutcome(NamedTuple):
    """What became of an edit; None: it was done."""

    edit: PlannedChange
    failure: ApiError | None = None


def add_bulk(parser: argparse.ArgumentParser) -> None:
    """The options of commands that may be about thousands of resources."""
    add = parser.add_argument_group("many at once").add_argument
    add("--rate", metavar="N", type=_rate, help="at most so many resources per second")
    add("--resume", metavar="FILE", help="note there what is done, and leave out what was done before")


def make_changes(edits: Sequence[PlannedChange], send: Send) -> list[ExecutionOutcome]:
    """Send what was planned for some resources, and tell what became of each edit."""
    results = send(list(dict.fromkeys(each.resource for each in edits)), False)
    return [ExecutionOutcome(each, _failure(results, each)) for each in edits]


def _failure(results: Outcomes, edit: PlannedChange) -> ApiError | None:
    unsaid = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "the answer leaves it out")
    return results.get((edit.resource, edit.key), results.get(edit.resource, unsaid))


def execute_plan(
    answer: CommandResult,
    options: argparse.Namespace,
    target: Target,
    admin: SyncAdminClient,
    plan: ChangePlan,
    send: Send,
    *,
    asks: bool,
    what: str,
    wish: str = "",
    validates: bool = True,
    columns: Sequence[ResultColumn] = (),
) -> None:
    """Do what was planned, or with `--dry-run` only tell it.

    `what` is the question, as in `change 3 topics`; `wish` is what was asked for, by which `--resume` knows it again;
    `validates` is whether `send` can let the server judge a dry run.
    """
    from kconf.operations.policy_check import check_policy

    answer.columns = list(columns) or plan_columns()
    answer.hidden |= IN_OTHER_WORDS
    answer.facts.update(context=target.name, dry_run=options.dry_run)
    plan = check_policy(target, admin, plan, answer)
    _tell_failures(answer, plan)
    edits = [each for each in plan.edits if each.resource not in plan.failures]
    if options.dry_run:
        answer.facts["validated"] = validates
        _validate(answer, edits, send if validates else lambda some, _: dict.fromkeys(some))
        return
    wanted = [each for each in edits if not each.unchanged]
    for each in edits:
        if each.unchanged:
            answer.add(**item_of(each, "unchanged"))
    if not wanted:
        return
    try:
        check_loss(wanted, options)
        confirm(target, options, plan_lines(wanted, answer.columns), what, asks=asks)
    except KconfError:
        for each in wanted:
            answer.add(**item_of(each, "not done"))
        raise
    _send_all(answer, options, target, admin, wanted, send, wish)


def _tell_failures(answer: CommandResult, plan: ChangePlan) -> None:
    by_resource: dict[Resource, list[PlannedChange]] = {}
    for edit in plan.edits:
        by_resource.setdefault(edit.resource, []).append(edit)
    for resource, failure in plan.failures.items():
        for each in by_resource.get(resource) or [PlannedChange(resource, "", None, None, "")]:
            answer.add(failure, **item_of(each, "failed"))


def _validate(answer: CommandResult, edits: Sequence[PlannedChange], send: Send) -> None:
    resources = list(dict.fromkeys(each.resource for each in edits))
    results = send(resources, True) if resources else {}
    for each in edits:
        failure = _failure(results, each)
        outcome = "failed" if failure else "unchanged" if each.unchanged else "dry run"
        answer.add(failure, **item_of(each, outcome))


def _send_all(
    answer: CommandResult,
    options: argparse.Namespace,
    target: Target,
    admin: SyncAdminClient,
    edits: Sequence[PlannedChange],
    send: Send,
    wish: str,
) -> None:
    from kconf.operations.bulk import Progress, Resumption, paced

    by_resource: dict[Resource, list[PlannedChange]] = {}
    for edit in edits:
        by_resource.setdefault(edit.resource, []).append(edit)
    rate, resume = getattr(options, "rate", None), getattr(options, "resume", None)
    done = Resumption(resume, answer.command, wish)
    rest = done.missing(by_resource)
    left = set(rest)
    for resource in by_resource:
        if resource not in left:
            for each in by_resource[resource]:
                answer.add(**item_of(each, "done before"))
    with Progress(len(rest)) as progress:
        for some in paced(_batches(list(rest), rate), rate, time.monotonic, time.sleep):
            try:
                outcomes = make_changes([each for one in some for each in by_resource[one]], send)
            except KconfError as error:
                _broken(answer, [each for one in rest[progress.count :] for each in by_resource[one]], error)
                raise
            for each, failure in outcomes:
                answer.add(failure, **item_of(each, "failed" if failure else "done"))
            done.note({each.resource for each, failure in outcomes if failure is None})
            progress.move(len(some))


def _broken(answer: CommandResult, edits: Sequence[PlannedChange], error: KconfError) -> None:
    failure = error.failure() if isinstance(error, KafkaError) else ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
    for each in edits:
        answer.add(failure, **item_of(each, "failed"))


def _batches(resources: Sequence[Resource], rate: float | None) -> Iterator[Sequence[Resource]]:
    size = _AT_ONCE if rate is None else max(1, min(_AT_ONCE, int(rate)))
    return (resources[start : start + size] for start in range(0, len(resources), size))


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return rate
