"""Dry runs and changes, with the credential of the person. Only this module changes a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kconf.configdef.units import shown_value
from kconf.console.history.activity import resource_text
from kconf.console.links import resource_path
from kconf.console.pending import ChangeReport, DryRunRow, RiskNote
from kconf.errors import KconfError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.quota import QuotaEntity
from kconf.model.resource import ResourceType
from kconf.operations.configs import assignments_request
from kconf.operations.execute import ChangeOutcome, ExecutionOptions, OutcomeStatus, execute_plan
from kconf.operations.policy.check import check_policy
from kconf.operations.quotas.changes import entity_request
from kconf.operations.risks.assess import assess

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.console.console import Cluster
    from kconf.engine.risks import RiskName
    from kconf.model.resource import Resource
    from kconf.operations.configs import Assignments
    from kconf.operations.execute import ChangeRequest
    from kconf.operations.planned_change import ChangePlan, PlannedChange


class Moved(KconfError):
    """Something changed since the dry run: `report` is that of a new dry run."""

    def __init__(self, report: ChangeReport) -> None:
        super().__init__("The cluster has changed since the dry run. This is a new dry run; nothing was changed.")
        self.report = report


def dry_run(cluster: Cluster, assignments: Assignments) -> ChangeReport:
    """What would change, checked against the policy of the context and validated by the cluster."""
    cluster.check_writable()
    with cluster.target.open() as admin:
        return _dry_run(cluster, _request(cluster, admin, assignments, ""))


def apply(
    cluster: Cluster, assignments: Assignments, shown: ChangeReport, reason: str, risks: frozenset[RiskName]
) -> tuple[ChangeReport, Assignments]:
    """Make the changes if they are still the ones that the dry run showed; also returns the changes that undo them.

    Raises Moved, and Aborted if a risk was not accepted. A kconf server refuses them if values changed after the
    comparison.
    """
    cluster.check_writable()
    with cluster.target._replace(reason=reason or None).open() as admin:
        request = _request(cluster, admin, assignments, reason)
        if _planned(request.plan) != list(shown.planned):
            raise Moved(_dry_run(cluster, request))
        options = ExecutionOptions(allowed_risks=risks)
        outcomes: list[ChangeOutcome] = []
        try:
            outcomes.extend(execute_plan(request, options, _confirmed))
        except KconfError:
            if not any(each.status is OutcomeStatus.FAILED for each in outcomes):
                raise
        return _report(cluster, outcomes, request.plan), _undo(outcomes)


def _request(cluster: Cluster, admin: SyncAdminClient, assignments: Assignments, reason: str) -> ChangeRequest:
    if next(iter(assignments)).type is ResourceType.QUOTA:
        request = _quota_request(admin, assignments, reason)
    else:
        request = assignments_request("console", admin, assignments, reason or None, exact=True)
    plan = check_policy(cluster.target.context.policy, admin, assess(admin, request.plan))
    return replace(request, plan=plan)


def _quota_request(admin: SyncAdminClient, assignments: Assignments, reason: str) -> ChangeRequest:
    """A quota entity is a resource here, and its quotas are keys. One entity is changed at a time."""
    ((resource, ops),) = assignments.items()
    changes = {each.key: None if each.op == OpType.DELETE else float(each.value or "") for each in ops}
    return entity_request("console", admin, QuotaEntity.from_resource(resource), changes, reason or None)


def _dry_run(cluster: Cluster, request: ChangeRequest) -> ChangeReport:
    outcomes = execute_plan(request, ExecutionOptions(dry_run=True), _confirmed)
    return _report(cluster, outcomes, request.plan)


def _confirmed(changes: Sequence[PlannedChange], summary: str, *, required: bool) -> None:
    """The form was the confirmation."""


def _report(cluster: Cluster, outcomes: Iterable[ChangeOutcome], plan: ChangePlan) -> ChangeReport:
    warnings = [f"{each.resource}: {each.text}" for each in plan.warnings]
    return ChangeReport([_row(cluster, each) for each in outcomes], warnings, _planned(plan))


def _planned(plan: ChangePlan) -> list[object]:
    """What the person confirms: if any part of it has changed, they must confirm again."""
    changes = [
        (each.resource, each.key, each.before, each.after, each.old, each.new, each.risks) for each in plan.changes
    ]
    return [*changes, *sorted(str(each) for each in plan.failures.items())]


def _row(cluster: Cluster, outcome: ChangeOutcome) -> DryRunRow:
    change, failure = outcome.change, outcome.failure

    def shown(value: str | None) -> str | None:
        return value if value is None or change.sensitive else shown_value(change.key, value)

    return DryRunRow(
        resource=resource_text(change.resource),
        path=resource_path(cluster.name, change.resource),
        key=change.key,
        op=change.op,
        before=shown(change.before),
        after=shown(change.after),
        old=shown(change.old),
        new=shown(change.new),
        status=outcome.status.value,
        error=None if failure is None else f"{failure.code.name}: {failure.message or failure.code.name}",
        risks=[RiskNote(each.name, each.why, each.allowed) for each in change.risks],
        is_unknown=change.old_unknown,
    )


def _undo(outcomes: Iterable[ChangeOutcome]) -> Assignments:
    """The previous values of the changed keys, except secrets and values that were not readable."""
    found: dict[Resource, list[AlterConfigOp]] = {}
    for each in outcomes:
        change = each.change
        if each.status is OutcomeStatus.DONE and not change.sensitive and not change.old_unknown:
            op = (
                AlterConfigOp(OpType.DELETE, change.key, "")
                if change.before is None
                else AlterConfigOp(OpType.SET, change.key, change.before)
            )
            found.setdefault(change.resource, []).append(op)
    return found
