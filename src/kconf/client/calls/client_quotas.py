"""Client quotas (KIP-546): as they are stored, not as they are resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kconf.client.calls.base import CallResult, ClusterCall, NodeVersions, PerItemCall, failure
from kconf.model.quota import QuotaEntity, QuotaFilter

Quotas = dict[QuotaEntity, dict[str, float]]
_ADVICE = "before Kafka 2.6 brokers do not have quotas in their protocol"


class DescribeClientQuotas(ClusterCall[Quotas]):
    name = "DescribeClientQuotas"
    advice = _ADVICE

    def __init__(self, wanted: QuotaFilter | None) -> None:
        super().__init__()
        self._filter = wanted or QuotaFilter()

    def write(self, peer: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, QuotaFilterComponent

        return DescribeClientQuotasRequest(
            [QuotaFilterComponent(*each) for each in self._filter.components], self._filter.strict
        )

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: failure(body.error_code, body.error_message)}, body.throttle_time_ms)
        found = {
            _entity(each): {value.key: value.value for value in sorted(each.values, key=lambda value: value.key)}
            for each in body.entries or ()
        }
        return CallResult({None: found}, body.throttle_time_ms)


class AlterClientQuotas(PerItemCall[QuotaEntity, None]):
    """`alterations` has the keys to set, or to remove where the value is None; others stay."""

    name = "AlterClientQuotas"
    advice = _ADVICE
    bulk = 4  # a request is one commit of the controller, whatever is in it

    def __init__(
        self, alterations: Mapping[QuotaEntity, Mapping[str, float | None]], *, validate_only: bool = False
    ) -> None:
        self.alterations = {QuotaEntity.of(dict(entity.parts)): dict(each) for entity, each in alterations.items()}
        super().__init__(self.alterations)
        self.validate_only = validate_only

    def write(self, peer: NodeVersions, version: int, items: Sequence[QuotaEntity]) -> object:
        from kconf.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlteredQuota, QuotaOp
        from kconf.protocol.messages.describe_client_quotas import QuotaEntityPart

        entries = [
            AlteredQuota(
                [QuotaEntityPart(*part) for part in each.parts],
                [
                    QuotaOp(key, 0.0 if value is None else value, value is None)
                    for key, value in self.alterations[each].items()
                ],
            )
            for each in items
        ]
        return AlterClientQuotasRequest(entries, self.validate_only)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[QuotaEntity]) -> CallResult:
        body = self.body(version, frame, start)
        outcomes = {
            _entity(each): (failure(each.error_code, each.error_message) if each.error_code else None)
            for each in body.entries
        }
        return CallResult(outcomes, body.throttle_time_ms)


def _entity(told: Any) -> QuotaEntity:
    return QuotaEntity.of({part.entity_type: part.entity_name for part in told.entity})
