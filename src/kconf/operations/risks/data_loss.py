"""Changes that cannot be undone, as data may be deleted or acknowledged records lost."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

from kconf.configdef.units import UNLIMITED
from kconf.operations.errors import Aborted
from kconf.operations.planned_change import PlannedChange

MARK: Final = "! may delete data"
_POLICIES: Final = ("cleanup.policy", "log.cleanup.policy")
_RETENTION: Final = frozenset(each for each in UNLIMITED if "local." not in each)
_SWITCHES: Final = {
    "unclean.leader.election.enable": ("true", "an unclean leader may drop acknowledged records"),
    "remote.log.delete.on.disable": ("true", "remote data is deleted once tiered storage is switched off"),
    "remote.storage.enable": ("false", "data in the remote tier may be deleted"),
}


def flag_data_loss(change: PlannedChange) -> PlannedChange:
    """The change, with the reason why data may be lost, if there is one."""
    same = change.unchanged or (change.old == change.new and not change.old_unknown)
    reason = "" if same else _reason(change.key, change.old, change.new)
    if not reason or _is_unknown_key(change):
        return change
    if change.old_unknown:
        reason = f"you may not describe {change.resource}, so its old value is unknown"
    return change._replace(loss=reason)


def _is_unknown_key(change: PlannedChange) -> bool:
    """Whether the resource has no such key, as a topic has no log.retention.ms: the cluster refuses it anyway."""
    from kconf.configdef.lookup import known_key

    return known_key(change.resource.type, change.key) is None


def check_data_loss(changes: Sequence[PlannedChange], *, allowed: bool) -> None:
    """Refuse changes after which data may be lost, unless they are allowed."""
    risky = [each for each in changes if each.loss]
    if not risky or allowed:
        return
    first = risky[0]
    more = f", and {len(risky) - 1} more" if len(risky) > 1 else ""
    what = f"{first.resource} {first.key}".strip()
    raise Aborted(f"{what}: {MARK} ({first.loss}){more}; nothing was done: this needs --allow-data-loss")


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
    """Whether retention does not get shorter. An unknown amount counts as unlimited before, and as none after."""
    return _amount(new, unknown=-inf) >= _amount(old, unknown=inf)


def _amount(text: str | None, *, unknown: float) -> float:
    try:
        number = int(text or "")
    except ValueError:
        return unknown
    return inf if number == -1 else number
