"""Finds quotas that would limit clients below their actual usage, which comes from the --usage file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kconf.engine.quotas.precedence import Bucket, StoredQuotas, bucket, levels
from kconf.engine.risks import Risk, RiskName
from kconf.model.quota import IP, QuotaEntity, QuotaSource
from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.operations.planned_change import PlannedChange
    from kconf.operations.risks.usage import UsageRow

_MOST_NAMED: Final = 3

UsageKey = tuple[str, str, str]
"""User, client ID and quota key; "" means no user or no client ID."""


class QuotaRisks:
    """Compares the quotas of a plan with the usage of clients."""

    def __init__(self, admin: SyncAdminClient, changes: Sequence[PlannedChange], usage: Sequence[UsageRow]) -> None:
        planned = [(QuotaEntity.from_resource(each.resource), each) for each in changes if _is_quota(each)]
        self._cut: dict[tuple[QuotaEntity, str], dict[Bucket, str]] = {}
        if not planned or not usage:
            return
        cluster = admin.describe_cluster().cluster_id if any(each.cluster for each in usage) else None
        self._usage = _highest(each for each in usage if not each.cluster or each.cluster == cluster)
        stored = {entity: dict(values) for entity, values in admin.describe_client_quotas().items()}
        self._before = StoredQuotas({entity: dict(values) for entity, values in stored.items()})
        for entity, each in planned:
            own = stored.setdefault(entity, {})
            own.pop(each.key, None)
            if each.after is not None:
                own[each.key] = float(each.after)
        self._after = StoredQuotas(stored)
        self._sums: dict[tuple[QuotaSource, str], dict[Bucket, float]] = {}
        for user, client_id, key in self._usage:
            self._compare(user, client_id, key)

    def of(self, change: PlannedChange) -> list[Risk]:
        if not self._cut or not _is_quota(change) or change.unchanged:
            return []
        names = list(self._cut.get((QuotaEntity.from_resource(change.resource), change.key), {}).values())
        if not names:
            return []
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return [Risk(RiskName.QUOTA_BELOW_USAGE, f"{'; '.join(names[:_MOST_NAMED])}{more}")]

    def _compare(self, user: str, client_id: str, key: str) -> None:
        """Record the figures for each entity whose effective quota would be below the usage."""
        before = next(iter(self._before.candidates(key, user, client_id)), None)
        after = next(iter(self._after.candidates(key, user, client_id)), None)
        if after is None or (before is not None and before.value <= after.value):
            return
        who = bucket(after.source, user, client_id)
        used = self._used(after.source, key)[who]
        if used > after.value:
            text = f"{_name(who)} uses {_rate(key, used)}, but would be limited to {_rate(key, after.value)}"
            for entity in levels(user, client_id):
                self._cut.setdefault((entity, key), {})[who] = text

    def _used(self, source: QuotaSource, key: str) -> dict[Bucket, float]:
        """The total usage of the clients that share a quota."""
        if (source, key) not in self._sums:
            sums = self._sums[source, key] = {}
            for (user, client_id, other), rate in self._usage.items():
                if other == key:
                    who = bucket(source, user, client_id)
                    sums[who] = sums.get(who, 0.0) + rate
        return self._sums[source, key]


def _highest(rows: Iterable[UsageRow]) -> dict[UsageKey, float]:
    found: dict[UsageKey, float] = {}
    for each in rows:
        name = each.user, each.client_id, each.key
        found[name] = max(found.get(name, 0.0), each.rate)
    return found


def _is_quota(change: PlannedChange) -> bool:
    is_quota = change.resource.type is ResourceType.QUOTA
    return is_quota and IP not in dict(QuotaEntity.from_resource(change.resource).parts)


def _name(who: Bucket) -> str:
    parts = (("user", who[0]), ("client-id", who[1]))
    return ", ".join(f"{kind} {name}" for kind, name in parts if name)


def _rate(key: str, value: float) -> str:
    from kconf.configdef.units import shown_value

    return shown_value(key, str(int(value)) if value.is_integer() else repr(value))
