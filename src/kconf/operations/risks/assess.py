"""Finds all risks of a plan. Every command that changes something uses this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kconf.operations.planned_change import ChangePlan
from kconf.operations.risks.lockout import LockoutRisks
from kconf.operations.risks.topics import TopicRisks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.risks import Risk
    from kconf.operations.planned_change import PlannedChange
    from kconf.operations.risks.usage import UsageRow


class RiskFinder(Protocol):
    """Finds the risks of one kind for each change of a plan."""

    def of(self, change: PlannedChange) -> list[Risk]: ...


def assess(admin: SyncAdminClient, plan: ChangePlan, usage: Sequence[UsageRow] = ()) -> ChangePlan:
    """The plan with the risks of its changes. Quotas below the actual usage are found only with `usage`."""
    changes = plan.changes
    finders: list[RiskFinder] = [TopicRisks(admin, changes), LockoutRisks(admin, changes)]
    if usage:
        from kconf.operations.risks.quotas import QuotaRisks

        finders.append(QuotaRisks(admin, changes, usage))
    return plan._replace(
        changes=[
            each._replace(risks=(*each.risks, *(risk for finder in finders for risk in finder.of(each))))
            for each in changes
        ]
    )
