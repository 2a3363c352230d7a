"""Executes a plan: validates it (dry run), or confirms and sends it. Operations change clusters only here.

A command creates a `ChangeRequest`: a checked `ChangePlan` and a function that sends it. `execute_plan` yields the
outcome of each change as soon as it is known. The caller provides confirmation and progress display.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from kconf.errors import ApiError, ErrorCode, KafkaError, KconfError
from kconf.operations.bulk import Progress, no_progress
from kconf.operations.planned_change import ChangePlan, PlannedChange
from kconf.operations.risks.allowed import check_risks

if TYPE_CHECKING:
    from kconf.engine.risks import RiskName
    from kconf.model.resource import Resource

_BATCH: Final = 4000  # resources between two progress updates: four requests of the usual size

SendResult = Mapping[Any, "ApiError | None"]
"""Errors by resource, or by (resource, key) if keys can fail separately (ACLs). None if accepted."""

Send = Callable[[Sequence["Resource"], bool], SendResult]
"""Sends the changes of these resources; with True, the cluster only validates them."""


class OutcomeStatus(StrEnum):
    DONE = "done"
    DONE_BEFORE = "done earlier"  # by the run that is resumed
    UNCHANGED = "unchanged"
    NOT_DONE = "not done"  # not confirmed, or not permitted
    DRY_RUN = "dry run"
    FAILED = "failed"


class ChangeOutcome(NamedTuple):
    """The outcome of a change."""

    change: PlannedChange
    status: OutcomeStatus
    failure: ApiError | None = None


@dataclass(frozen=True)
class ExecutionOptions:
    """How a plan is executed; `rate` is in resources per second, `resume_file` lists completed resources."""

    dry_run: bool = False
    allowed_risks: frozenset[RiskName] = frozenset()
    rate: float | None = None
    resume_file: str | None = None


@dataclass(frozen=True)
class ChangeRequest:
    """A plan, and how to send it.

    `summary` describes it, such as `change 3 topics`. `confirm`: it needs confirmation. `assignments` are the requested
    values, which identify a resume file. `validates`: `send` can validate without changing anything.
    """

    command: str
    plan: ChangePlan
    send: Send
    summary: str
    confirm: bool
    assignments: str = ""
    validates: bool = True


class Confirm(Protocol):
    """Asks for confirmation; raises `Aborted` if refused. If not `required`, only a protected context asks."""

    def __call__(self, changes: Sequence[PlannedChange], summary: str, *, required: bool) -> None: ...


def execute_plan(
    request: ChangeRequest, options: ExecutionOptions, confirm: Confirm, progress: Progress = no_progress
) -> Iterator[ChangeOutcome]:
    """Make the planned changes, or with `dry_run` have the cluster validate them.

    An error that stops the execution is raised after the outcomes of all changes were yielded.
    """
    plan = request.plan
    yield from _failures(plan)
    changes = [each for each in plan.changes if each.resource not in plan.failures]
    if options.dry_run:
        yield from _validate(changes, request)
        return
    pending = [each for each in changes if not each.unchanged]
    yield from (ChangeOutcome(each, OutcomeStatus.UNCHANGED) for each in changes if each.unchanged)
    if not pending:
        return
    try:
        check_risks(pending, options.allowed_risks)
        confirm(pending, request.summary, required=request.confirm)
    except KconfError:
        yield from (ChangeOutcome(each, OutcomeStatus.NOT_DONE) for each in pending)
        raise
    yield from _send_all(pending, request, options, progress)


def _failures(plan: ChangePlan) -> Iterator[ChangeOutcome]:
    by_resource = _by_resource(plan.changes)
    for resource, failure in plan.failures.items():
        for each in by_resource.get(resource) or [PlannedChange(resource, "", None, None, "")]:
            yield ChangeOutcome(each, OutcomeStatus.FAILED, failure)


def _by_resource(changes: Iterable[PlannedChange]) -> dict[Resource, list[PlannedChange]]:
    found: dict[Resource, list[PlannedChange]] = {}
    for each in changes:
        found.setdefault(each.resource, []).append(each)
    return found


def _validate(changes: Sequence[PlannedChange], request: ChangeRequest) -> Iterator[ChangeOutcome]:
    resources = list(dict.fromkeys(each.resource for each in changes))
    results = request.send(resources, True) if resources and request.validates else dict.fromkeys(resources)
    for each in changes:
        failure = _failure(results, each)
        unfailed = OutcomeStatus.UNCHANGED if each.unchanged else OutcomeStatus.DRY_RUN
        yield ChangeOutcome(each, OutcomeStatus.FAILED if failure else unfailed, failure)


def _failure(results: SendResult, change: PlannedChange) -> ApiError | None:
    missing = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "the response of the cluster does not contain this change")
    return results.get((change.resource, change.key), results.get(change.resource, missing))


def _send_all(
    changes: Sequence[PlannedChange], request: ChangeRequest, options: ExecutionOptions, progress: Progress
) -> Iterator[ChangeOutcome]:
    from kconf.operations.bulk import ResumeFile, paced

    by_resource = _by_resource(changes)
    done = ResumeFile(options.resume_file, request.command, request.assignments)
    missing = done.missing(by_resource)
    left, sent = set(missing), 0
    for resource in by_resource:
        if resource not in left:
            yield from (ChangeOutcome(each, OutcomeStatus.DONE_BEFORE) for each in by_resource[resource])
    with progress(len(missing)) as advance:
        for batch in paced(_batches(missing, options.rate), options.rate, time.monotonic, time.sleep):
            try:
                results = request.send(batch, False)
            except KconfError as error:
                failure = _failure_of(error)
                for resource in missing[sent:]:
                    yield from (ChangeOutcome(each, OutcomeStatus.FAILED, failure) for each in by_resource[resource])
                raise
            outcomes = [_outcome(results, each) for resource in batch for each in by_resource[resource]]
            try:
                yield from outcomes
            finally:
                done.record({each.change.resource for each in outcomes if each.failure is None})
            sent += len(batch)
            advance(len(batch))


def _outcome(results: SendResult, change: PlannedChange) -> ChangeOutcome:
    failure = _failure(results, change)
    return ChangeOutcome(change, OutcomeStatus.FAILED if failure else OutcomeStatus.DONE, failure)


def _failure_of(error: KconfError) -> ApiError:
    return error.failure() if isinstance(error, KafkaError) else ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))


def _batches(resources: Sequence[Resource], rate: float | None) -> Iterator[Sequence[Resource]]:
    size = _BATCH if rate is None else max(1, min(_BATCH, int(rate)))
    return (resources[start : start + size] for start in range(0, len(resources), size))
