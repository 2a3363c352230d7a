"""All risks of a plan, in one place: every command that changes something has its plan assessed here."""

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
    """Made for a plan; finds the risks of one kind of each change."""

    def of(self, change: PlannedChange) -> list[Risk]: ...


def assess(admin: SyncAdminClient, plan: ChangePlan, usage: Sequence[UsageRow] = ()) -> ChangePlan:
    """The plan, with the risks of its changes. Without `usage`, that of a quota below it is not known."""
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
