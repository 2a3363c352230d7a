"""AlterConfig (key 2100), version 0: proposed by KIP-21, with entity types and names as strings.

Exactly the KIP's grammar, in the non-flexible encoding. Kafka never shipped it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, STRING, Array, f, struct


@struct
class AddedConfigEntry:
    config_key: str = f(STRING)
    config_value: str = f(STRING, secret=True)


@struct
class AlteredEntity:
    entity_type: str = f(STRING)
    entity_name: str = f(STRING)
    added_configs: Sequence[AddedConfigEntry] = f(Array(AddedConfigEntry))
    deleted_configs: Sequence[str] = f(Array(STRING))


@struct
class AlterConfigRequest:
    entities: Sequence[AlteredEntity] = f(Array(AlteredEntity))


@struct
class AlteredEntityResult:
    entity_type: str = f(STRING)
    entity_name: str = f(STRING)
    error_code: int = f(I16)


@struct
class AlterConfigResponse:
    entities: Sequence[AlteredEntityResult] = f(Array(AlteredEntityResult))
