"""KIP-339's list operations, on the stored value.

The base is the override stored for the resource, or else the key's default (never the effective value). Items are not
trimmed; empty items of the base are dropped; APPEND skips existing items, SUBTRACT removes the first match of each
item.
"""

from __future__ import annotations

from typing import Final

from kconf.configdef.key import ConfigKey
from kconf.errors import InvalidConfig
from kconf.model.alteration import OpType
from kconf.model.entry import ValueType

_MAX_BYTES: Final = 32_767  # of a string in Kafka's protocol


def combined(op: int, key: ConfigKey | None, name: str, stored: str | None, operand: str) -> str:
    """The text that APPEND or SUBTRACT stores. Raises InvalidConfig."""
    if key is None or key.type is not ValueType.LIST:
        raise InvalidConfig(f"{OpType(op).name} works on lists only; {name} is not a list")
    base = stored if stored is not None else key.default or ""
    items = [item for item in base.split(",") if item]
    if op == OpType.APPEND:
        for item in _operands(operand):
            if item not in items:
                items.append(item)
    else:
        for item in _operands(operand):
            if item in items:
                items.remove(item)
    value = ",".join(items)
    if len(value) > _MAX_BYTES // 4 and len(value.encode()) > _MAX_BYTES:
        # In Kafka 3.9 such a request fails completely, and the controller loses its leadership.
        raise InvalidConfig(f"the value of {name} would exceed the maximum of {_MAX_BYTES} bytes")
    return value


def _operands(text: str) -> list[str]:
    """Java's split: trailing empty items are dropped, but "" itself is one."""
    items = text.split(",")
    while len(items) > 1 and not items[-1]:
        items.pop()
    return items if text.strip(",") or not text else []
