"""Formats table cells for several commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kconf.cli.output.result import Item


def resource_text(text: str) -> str:
    """The resource of an item for a table; a quota entity is written in words."""
    if not text.startswith("quota:"):
        return text
    from json import loads

    from kconf.operations.quotas.entities import entity_text

    return entity_text(loads(text.removeprefix("quota:")))


def resource_cell(item: Item) -> str:
    return resource_text(item["resource"])


def value_cell(item: Item, name: str) -> str:
    """A value of an item with its unit; `(unset)` if there is none, `(exists)` for an ACL, which has no value."""
    from kconf.configdef.units import shown_value

    value = item[name]
    if value is None:
        return "(unset)" if item["key"] else "-"
    if not value and item["resource"].startswith("acl:"):
        return "(exists)"
    return shown_value(item["key"] or "", value)
