"""Executes plans without a cluster or a terminal: requests, confirmation, and outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kconf.engine.risks import Risk, RiskName
from kconf.errors import ApiError, ConnectionFailed, ErrorCode, KconfError
from kconf.model.resource import Resource
from kconf.operations.errors import Aborted
from kconf.operations.execute import (
    ChangeOutcome,
    ChangeRequest,
    ExecutionOptions,
    OutcomeStatus,
    SendResult,
    execute_plan,
)
from kconf.operations.planned_change import ChangePlan, PlannedChange

A, B, C = Resource.topic("a"), Resource.topic("b"), Resource.topic("c")
REFUSED = ApiError(ErrorCode.INVALID_CONFIG, "no")


class Cluster:
    """Records the requests."""

    def __init__(self, failures: dict[Resource, ApiError] | None = None, error: KconfError | None = None) -> None:
        self.sent: list[tuple[list[Resource], bool]] = []
        self.failures, self.error = failures or {}, error

    def send(self, resources: Sequence[Resource], validate_only: bool) -> SendResult:
        self.sent.append((list(resources), validate_only))
        if self.error is not None:
            raise self.error
        return {each: self.failures.get(each) for each in resources}


def yes(changes: Sequence[PlannedChange], summary: str, *, required: bool) -> None:
    pass


def no(changes: Sequence[PlannedChange], summary: str, *, required: bool) -> None:
    raise Aborted("nothing was changed")


def change(resource: Resource, before: str | None = "1", after: str | None = "2") -> PlannedChange:
    return PlannedChange(resource, "segment.ms", before, after)


def request(
    cluster: Cluster, *changes: PlannedChange, failures: dict[Resource, ApiError] | None = None
) -> ChangeRequest:
    plan = ChangePlan(list(changes), failures or {})
    return ChangeRequest("set", plan, cluster.send, "change topics", confirm=True, assignments="segment.ms=2")


def statuses(outcomes: Iterator[ChangeOutcome]) -> list[tuple[Resource, str]]:
    return [(each.change.resource, each.status.value) for each in outcomes]


def test_changes_are_sent_and_failed_and_unchanged_ones_are_reported() -> None:
    cluster = Cluster({B: REFUSED})
    asked = request(cluster, change(A), change(B), change(C, "2"), failures={Resource.topic("gone"): REFUSED})

    assert statuses(execute_plan(asked, ExecutionOptions(), yes)) == [
        (Resource.topic("gone"), "failed"),
        (C, "unchanged"),
        (A, "done"),
        (B, "failed"),
    ]
    assert cluster.sent == [([A, B], False)]


def test_a_dry_run_is_validated_by_the_cluster_and_needs_no_confirmation() -> None:
    cluster = Cluster({B: REFUSED})

    outcomes = execute_plan(request(cluster, change(A), change(B)), ExecutionOptions(dry_run=True), no)

    assert statuses(outcomes) == [(A, "dry run"), (B, "failed")]
    assert cluster.sent == [([A, B], True)]


def test_a_dry_run_of_a_change_that_clusters_cannot_validate_sends_nothing() -> None:
    cluster = Cluster()
    asked = replace(request(cluster, change(A)), validates=False)

    assert statuses(execute_plan(asked, ExecutionOptions(dry_run=True), no)) == [(A, "dry run")]
    assert cluster.sent == []


def test_without_confirmation_every_change_is_reported_before_the_error() -> None:
    cluster = Cluster()
    outcomes = execute_plan(request(cluster, change(A)), ExecutionOptions(), no)

    assert next(outcomes).status is OutcomeStatus.NOT_DONE
    with pytest.raises(Aborted):
        next(outcomes)
    assert cluster.sent == []


def test_data_loss_is_refused_unless_it_is_allowed() -> None:
    cluster = Cluster()
    risky = request(cluster, change(A)._replace(risks=(Risk(RiskName.DATA_LOSS, "retention is reduced"),)))

    with pytest.raises(Aborted, match="--allow-data-loss"):
        list(execute_plan(risky, ExecutionOptions(), yes))
    allowed = ExecutionOptions(allowed_risks=frozenset([RiskName.DATA_LOSS]))
    assert statuses(execute_plan(risky, allowed, yes)) == [(A, "done")]


def test_a_lost_connection_fails_the_changes_that_are_left() -> None:
    outcomes = execute_plan(
        request(Cluster(error=ConnectionFailed("lost")), change(A), change(B)), ExecutionOptions(), yes
    )

    assert [next(outcomes).status, next(outcomes).status] == [OutcomeStatus.FAILED] * 2
    with pytest.raises(ConnectionFailed):
        next(outcomes)


def test_a_resumed_run_sends_only_changes_that_are_not_done(tmp_path: Path) -> None:
    options = ExecutionOptions(resume_file=str(tmp_path / "done"))
    list(execute_plan(request(Cluster({B: REFUSED}), change(A), change(B)), options, yes))
    again = Cluster()

    assert statuses(execute_plan(request(again, change(A), change(B)), options, yes)) == [
        (A, "done earlier"),
        (B, "done"),
    ]
    assert again.sent == [([B], False)]


def test_changes_are_recorded_as_done_even_if_outcomes_are_not_read_to_the_end(tmp_path: Path) -> None:
    options = ExecutionOptions(resume_file=str(tmp_path / "done"))
    outcomes = execute_plan(request(Cluster(), change(A), change(B)), options, yes)
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]

    assert {each.status for each in execute_plan(request(Cluster(), change(A), change(B)), options, yes)} == {
        OutcomeStatus.DONE_BEFORE
    }
