"""Plans as items and columns of a result, and as a table for confirmation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.output.cells import resource_cell, value_cell
from kconf.cli.output.result import ResultColumn
from kconf.engine.risks import Risk, RiskName
from kconf.operations.planned_change import UNKNOWN
from kconf.operations.risks.allowed import risk_mark

if TYPE_CHECKING:
    from kconf.cli.output.result import Item
    from kconf.operations.planned_change import PlannedChange

NOT_IN_TABLES: Final = frozenset(["op", "data_loss", "risks"])
"""The columns of a plan that a table shows inside other columns."""


def plan_columns(*, keys: bool = True) -> list[ResultColumn]:
    """The columns of a plan and its outcome. Without `keys`, for items that only exist or not."""
    return [
        ResultColumn("resource", show=resource_cell),
        *([ResultColumn("key")] if keys else []),
        ResultColumn("old", show=lambda item: _value(item, "old")),
        ResultColumn("new", show=lambda item: _value(item, "new")),
        *([ResultColumn("source")] if keys else []),
        ResultColumn("data_loss"),
        ResultColumn("risks"),
        ResultColumn("outcome", show=_outcome),
    ]


def _value(item: Item, name: str) -> str:
    from kconf.configdef.units import shown_value

    if name == "old" and item.get("old_unknown"):
        return UNKNOWN
    if item[name] is None or not item.get("configs"):
        comes_from = item.get(f"{name}_key")
        return value_cell(item, name) + (f" ({comes_from})" if comes_from else "")
    text: str = item[name]
    for key, value in item["configs"].items():  # for a new topic
        text = text.replace(f", {key}={value}", f", {key}={shown_value(key, value)}")
    return shown_value(item["key"] or "", text)


def _outcome(item: Item) -> str:
    found = [Risk(RiskName(each["name"]), each["why"]) for each in item.get("risks") or ()]
    marks = "; ".join(f"{risk_mark(each)}: {each.why}" for each in found)
    return f"{item['outcome']} {marks}".strip()


def change_item(change: PlannedChange, outcome: str) -> dict[str, Any]:
    """A change as the fields of an item."""
    return {
        "resource": str(change.resource),
        "key": change.key or None,
        "op": change.op,
        "old": change.old,
        "new": change.new,
        "source": change.source or None,
        **({"old_unknown": True} if change.old_unknown else {}),
        **change.shown,
        "data_loss": change.loss or None,
        "risks": [{"name": each.name.value, "why": each.why} for each in change.risks],
        "outcome": outcome,
    }


def plan_lines(changes: Iterable[PlannedChange], columns: Sequence[ResultColumn]) -> list[str]:
    """The changes as a table for confirmation."""
    from kconf.cli.output.tables import table, terminal_width

    columns = [each for each in columns if each.name not in NOT_IN_TABLES]
    items = [change_item(each, "") for each in changes]
    rows = [[each.text(item) for each in columns] for item in items]
    whole = [number for number, each in enumerate(columns) if each.is_whole]
    return table([each.heading for each in columns], rows, width=terminal_width(), whole=whole) if rows else []
