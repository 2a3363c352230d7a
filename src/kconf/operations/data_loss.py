"""What cannot be undone: changes after which data may be deleted, or acknowledged records lost."""

from __future__ import annotations

from math import inf
from typing import Final

from kconf.configdef.units import UNLIMITED
from kconf.operations.planned_change import PlannedChange

MARK: Final = "! may delete data"
_POLICIES: Final = ("cleanup.policy", "log.cleanup.policy")
_RETENTION: Final = frozenset(each for each in UNLIMITED if "local." not in each)
_SWITCHES: Final = {
    "unclean.leader.election.enable": ("true", "an unclean leader may drop acknowledged records"),
    "remote.log.delete.on.disable": ("true", "remote data is deleted once tiered storage is switched off"),
    "remote.storage.enable": ("false", "data in the remote tier may be deleted"),
}


def flag_data_loss(edit: PlannedChange) -> PlannedChange:
    """The edit, with the reason why data may be lost, if there is one."""
    reason = "" if edit.unchanged or edit.old == edit.new else _reason(edit.key, edit.old, edit.new)
    return edit._replace(loss=reason) if reason else edit


def _reason(key: str, old: str | None, new: str | None) -> str:
    if key in _RETENTION:
        return "" if _at_least(new, old) else "retention gets shorter"
    if key in _POLICIES:
        gained = _items(new) - _items(old)
        if "delete" in gained:
            return "old segments begin to be deleted"
        return "older records of a key begin to be deleted" if "compact" in gained else ""
    value, why = _SWITCHES.get(key, ("", ""))
    return why if value and (new or "").strip().lower() == value else ""


def _items(value: str | None) -> set[str]:
    return {each.strip() for each in (value or "").split(",") if each.strip()}


def _at_least(new: str | None, old: str | None) -> bool:
    """Whether at least as much is kept. What is not known counts as more before, and as less after."""
    return _amount(new, unknown=-inf) >= _amount(old, unknown=inf)


def _amount(text: str | None, *, unknown: float) -> float:
    try:
        number = int(text or "")
    except ValueError:
        return unknown
    return inf if number == -1 else number
