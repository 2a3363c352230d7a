"""Requests that KIP-21 and KIP-248 proposed and Kafka never shipped. Only kconf servers support them.

These are AlterConfig, DescribeConfig and the list of configured users and clients.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kconf.client.calls.base import CallResult, ClusterCall, NodeVersions, PerItemCall, api_error, distinct
from kconf.errors import InvalidRequest
from kconf.model.entity import ConfigEntity, EntityAlteration
from kconf.model.quota import MatchType, QuotaComponent, QuotaEntity
from kconf.protocol.messages.describe_quotas import ENTITY_TYPES

_HINT: Final = "only kconf servers have this API"
_NUMBERS: Final = {name: number for number, name in ENTITY_TYPES.items()}


class AlterEntityConfigs(PerItemCall[ConfigEntity, None]):
    name = "AlterConfig"
    hint = f"{_HINT}; use incremental_alter_configs and alter_client_quotas"

    def __init__(self, alterations: Mapping[ConfigEntity, EntityAlteration]) -> None:
        super().__init__(alterations)
        self._alterations = alterations

    def write(self, node: NodeVersions, version: int, items: Sequence[ConfigEntity]) -> object:
        from kconf.protocol.messages.alter_config import AddedConfigEntry, AlterConfigRequest, AlteredEntity

        entities = []
        for each in items:
            added, deleted = self._alterations[each]
            entries = [AddedConfigEntry(key, value) for key, value in added.items()]
            entities.append(AlteredEntity(each.type, each.name, entries, list(deleted)))
        return AlterConfigRequest(entities)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[ConfigEntity]) -> CallResult:
        body = self.body(version, frame, start)
        return CallResult(
            {
                ConfigEntity(each.entity_type, each.entity_name): api_error(each.error_code, None)
                if each.error_code
                else None
                for each in body.entities
            }
        )


class DescribeEntityConfigs(PerItemCall[ConfigEntity, dict[str, str]]):
    """The configs that are set on each entity itself."""

    name = "DescribeConfig"
    hint = f"{_HINT}; use describe_configs and describe_client_quotas"

    def __init__(self, entities: Iterable[ConfigEntity]) -> None:
        super().__init__(distinct(entities, "an entity"))

    def write(self, node: NodeVersions, version: int, items: Sequence[ConfigEntity]) -> object:
        from kconf.protocol.messages.describe_config import DescribeConfigRequest, DescribedEntity

        return DescribeConfigRequest([DescribedEntity(each.type, each.name) for each in items])

    def read(self, version: int, frame: bytes, start: int, items: Sequence[ConfigEntity]) -> CallResult:
        body = self.body(version, frame, start)
        return CallResult(
            {
                ConfigEntity(each.entity_type, each.entity_name): api_error(each.error_code, None)
                if each.error_code
                else {entry.config_key: entry.config_value for entry in each.config_entries}
                for each in body.entities
            }
        )


class ListConfigEntities(ClusterCall[list[QuotaEntity]]):
    """KIP-248's list: users, client ids, or the client ids of users."""

    name = "ListConfigEntities"
    hint = f"{_HINT}; use describe_client_quotas"

    def __init__(self, wanted: Iterable[QuotaComponent]) -> None:
        super().__init__()
        self._wanted = tuple(wanted)
        kinds = [each.entity_type for each in self._wanted]
        if not kinds or len(set(kinds)) < len(kinds) or not _NUMBERS.keys() >= set(kinds):
            raise InvalidRequest(f"only entities of types {' and '.join(_NUMBERS)} can be listed, each once")

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.list_config_entities import ListConfigEntitiesRequest, WantedConfigEntity

        names = {MatchType.ANY: None, MatchType.DEFAULT: ""}
        return ListConfigEntitiesRequest(
            [
                WantedConfigEntity(_NUMBERS[each.entity_type], names.get(MatchType(each.match), each.name))
                for each in self._wanted
            ]
        )

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, body.error_message)}, body.throttle_time_ms)
        found = [
            QuotaEntity.of({ENTITY_TYPES.get(part.type, "?"): part.name or None for part in each.parts})
            for each in body.entities
        ]
        return CallResult({None: [each for each in found if self._is_wanted(each)]}, body.throttle_time_ms)

    def _is_wanted(self, entity: QuotaEntity) -> bool:
        """Filter by name here if the name is ".", which in the protocol means all names."""
        parts = dict(entity.parts)
        exact = [each for each in self._wanted if each.match == MatchType.EXACT]
        return all(parts.get(each.entity_type) == each.name for each in exact)
