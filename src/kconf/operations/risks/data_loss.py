"""Finds changes that cannot be undone because data may be deleted."""

from __future__ import annotations

from typing import Final

from kconf.engine.risks import Risk, RiskName, data_loss
from kconf.operations.planned_change import PlannedChange

TOPIC_DELETED: Final = (Risk(RiskName.DATA_LOSS, "the topic and its data"),)


def flag_data_loss(change: PlannedChange) -> PlannedChange:
    """The change, with the reason why data may be lost, if there is one."""
    same = change.unchanged or (change.old == change.new and not change.old_unknown)
    reason = "" if same else data_loss(change.key, change.old, change.new)
    if not reason or _is_unknown_key(change):
        return change
    if change.old_unknown:
        reason = f"not authorized to describe {change.resource}: its current value is unknown"
    return change._replace(risks=(*change.risks, Risk(RiskName.DATA_LOSS, reason)))


def _is_unknown_key(change: PlannedChange) -> bool:
    """Whether the resource type has no such key (a topic has no log.retention.ms): the cluster refuses it."""
    from kconf.configdef.lookup import known_key

    return known_key(change.resource.type, change.key) is None
