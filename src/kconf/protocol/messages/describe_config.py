"""DescribeConfig (key 2101), version 0: proposed by KIP-21. The entries are the entity's overrides."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, STRING, Array, f, struct


@struct
class DescribedEntity:
    entity_type: str = f(STRING)
    entity_name: str = f(STRING)


@struct
class DescribeConfigRequest:
    entities: Sequence[DescribedEntity] = f(Array(DescribedEntity))


@struct
class ConfigEntry:
    config_key: str = f(STRING)
    config_value: str = f(STRING)


@struct
class DescribedEntityResult:
    entity_type: str = f(STRING)
    entity_name: str = f(STRING)
    error_code: int = f(I16)
    config_entries: Sequence[ConfigEntry] = f(Array(ConfigEntry))


@struct
class DescribeConfigResponse:
    entities: Sequence[DescribedEntityResult] = f(Array(DescribedEntityResult))
