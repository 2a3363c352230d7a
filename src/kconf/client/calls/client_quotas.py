"""Client quotas as they are stored (KIP-546). effective_quotas.py resolves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kconf.client.calls.amounts import Amount, plain_quotas
from kconf.client.calls.arguments import item_of, mapping_of
from kconf.client.calls.base import CallResult, ClusterCall, NodeVersions, PerItemCall, api_error
from kconf.model.quota import QuotaEntity, QuotaFilter

Quotas = dict[QuotaEntity, dict[str, float]]
_HINT = "before Kafka 2.6, the protocol has no quota APIs"


class DescribeClientQuotas(ClusterCall[Quotas]):
    name = "DescribeClientQuotas"
    hint = _HINT

    def __init__(self, wanted: QuotaFilter | None) -> None:
        super().__init__()
        self._filter = item_of("wanted", wanted or QuotaFilter(), QuotaFilter)

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, QuotaFilterComponent

        return DescribeClientQuotasRequest(
            [QuotaFilterComponent(*each) for each in self._filter.components], self._filter.strict
        )

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, body.error_message)}, body.throttle_time_ms)
        found = {
            _entity(each): {value.key: value.value for value in sorted(each.values, key=lambda value: value.key)}
            for each in body.entries or ()
        }
        return CallResult({None: found}, body.throttle_time_ms)


class AlterClientQuotas(PerItemCall[QuotaEntity, None]):
    """`alterations` has the keys to set, or to remove if the value is None; other keys are unchanged."""

    name = "AlterClientQuotas"
    hint = _HINT
    batch_factor = 4  # the controller commits each request atomically

    def __init__(
        self,
        alterations: Mapping[QuotaEntity, Mapping[str, Amount]],
        *,
        validate_only: bool = False,
        reason: str | None = None,
    ) -> None:
        self.alterations = plain_quotas(
            {
                QuotaEntity.of(dict(entity.parts)): each
                for entity, each in mapping_of("alterations", alterations, QuotaEntity).items()
            }
        )
        super().__init__(self.alterations)
        self.validate_only, self.reason = validate_only, reason
        self.is_change = not validate_only

    def write(self, node: NodeVersions, version: int, items: Sequence[QuotaEntity]) -> object:
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
        reason = self.reason if node.is_kconf and version >= 1 else None
        return AlterClientQuotasRequest(entries, self.validate_only, reason)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[QuotaEntity]) -> CallResult:
        body = self.body(version, frame, start)
        outcomes = {
            _entity(each): (api_error(each.error_code, each.error_message) if each.error_code else None)
            for each in body.entries
        }
        return CallResult(outcomes, body.throttle_time_ms)


def _entity(entry: Any) -> QuotaEntity:
    return QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity})
