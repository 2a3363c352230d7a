"""Short functions for quota requests with the raw client."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any

from kconf.protocol.messages.alter_client_quotas import AlteredQuota, QuotaOp
from kconf.protocol.messages.alter_quotas import AlteredQuotaResource, WantedQuota
from kconf.protocol.messages.describe_client_quotas import QuotaEntityPart, QuotaFilterComponent
from kconf.protocol.messages.describe_quotas import DescribedQuotaResource, QuotaResource
from kconf.protocol.messages.list_config_entities import WantedConfigEntity
from tests.support.admin import Admin

USER, CLIENT = 5, 6
Entity = Mapping[str, str | None]


class QuotaAdmin(Admin):
    """An entity is a mapping, `{"user": "alice", "client-id": None}`; a value of None removes."""

    def set_quotas(self, entity: Entity, *, version: int = 1, dry: bool = False, **quotas: float | None) -> int:
        """Alter one entity; returns the error code."""
        entry = AlteredQuota(
            [QuotaEntityPart(*part) for part in entity.items()],
            [QuotaOp(key, 0.0 if value is None else value, value is None) for key, value in quotas.items()],
        )
        (answer,) = self.ask("AlterClientQuotas", version, entries=[entry], validate_only=dry).entries
        code: int = answer.error_code
        return code

    def quotas(self, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1) -> Any:
        """Quotas by entity; an entity is a tuple of its sorted parts."""
        wanted = [QuotaFilterComponent(*each) for each in components]
        answer = self.ask("DescribeClientQuotas", version, components=wanted, strict=strict)
        assert answer.error_code == 0
        return {
            tuple(sorted((part.entity_type, part.entity_name) for part in each.entity)): {
                value.key: value.value for value in each.values
            }
            for each in answer.entries
        }

    def resolve(self, *resources: tuple[int, str], types: tuple[int, ...] = ()) -> Any:
        """KIP-248's DescribeQuotas of one resource."""
        wanted = DescribedQuotaResource([QuotaResource(*each) for each in resources], types)
        (answer,) = self.ask("DescribeQuotas", 0, resources=[wanted]).resources
        return answer

    def alter_248(
        self, *resources: tuple[int, str], dry: bool = False, reason: str | None = None, **by_type: float | None
    ) -> Any:
        """KIP-248's AlterQuotas of one resource; types as `q0=…`."""
        quotas = [WantedQuota(int(key[1:]), nan if value is None else value) for key, value in by_type.items()]
        wanted = AlteredQuotaResource([QuotaResource(*each) for each in resources], quotas)
        (answer,) = self.ask("AlterQuotas", 0, validate_only=dry, resources=[wanted], reason=reason).resources
        return answer

    def entities(self, *wanted: tuple[int, str | None]) -> list[tuple[tuple[int, str], ...]]:
        answer = self.ask("ListConfigEntities", 0, entities=[WantedConfigEntity(*each) for each in wanted])
        assert answer.error_code == 0, answer.error_message
        return [tuple((part.type, part.name) for part in each.parts) for each in answer.entities]
