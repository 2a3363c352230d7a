"""Converts values with units, such as 7d and 1GiB, to the plain numbers of the protocol.

A value that cannot be converted is sent unchanged; the server rejects it for its resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kconf.client.calls.arguments import mapping_of
from kconf.errors import ConfigurationError, InvalidRequest
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.model.quota import QuotaEntity

Amount = float | str | None
"""A quota: a number, a string with a unit, or None, which removes it."""


def plain_value(kind: ResourceType, name: str, value: str) -> str:
    """The value of a numeric key without its unit; other values are unchanged."""
    if not any(character.isalpha() for character in value):
        return value
    from kconf.configdef.lookup import known_key
    from kconf.configdef.units import raw_value

    try:
        return raw_value(known_key(kind, name), value)
    except ConfigurationError:
        return value


def plain_ops(kind: ResourceType, ops: Iterable[AlterConfigOp]) -> list[AlterConfigOp]:
    return [
        each
        if each.op != OpType.SET or each.value is None
        else each._replace(value=plain_value(kind, each.key, each.value))
        for each in ops
    ]


def plain_quotas(alterations: Mapping[QuotaEntity, Mapping[str, Amount]]) -> dict[QuotaEntity, dict[str, float | None]]:
    """Quotas as numbers. Raises an error for a string that is not a number; nothing is sent."""
    return {
        entity: {
            key: _number(entity, key, value) for key, value in mapping_of(f"alterations[{entity}]", each, str).items()
        }
        for entity, each in alterations.items()
    }


def _number(entity: QuotaEntity, key: str, value: Amount) -> float | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    if not isinstance(value, str):
        raise InvalidRequest(f"{entity}: {key} must be a number, with or without a unit, not a {type(value).__name__}")
    try:
        return float(plain_value(ResourceType.QUOTA, key, value))
    except ValueError:
        raise InvalidRequest(f"{entity}: {key} must be a number, with or without a unit: {value!r}") from None
