"""Converts differences to planned changes, the common form of all plans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kconf.configdef.sensitive import HIDDEN
from kconf.engine.declarative.diff import Difference
from kconf.errors import ApiError, ErrorCode
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.operations.display_names import display_names
from kconf.operations.planned_change import SOURCES, TOPIC, ChangePlan, PlannedChange, keys_shown
from kconf.operations.risks.data_loss import TOPIC_DELETED, flag_data_loss

if TYPE_CHECKING:
    from kconf.operations.declarative.plan import DifferencePlan


def changes_of(found: Sequence[Difference]) -> list[PlannedChange]:
    """One change per difference; creating a topic with its configs is one change."""
    created = {each.resource for each in found if each.op == "create"}
    configs: dict[Resource, dict[str, str]] = {}
    for each in found:
        if each.resource in created and each.kind is ChangeKind.CONFIG:
            configs.setdefault(each.resource, {})[each.key] = each.after or HIDDEN
    changes = []
    for each in found:
        if each.kind is ChangeKind.TOPIC:
            changes.append(_topic_change(each, configs.get(each.resource, {})))
        elif each.resource not in created:
            changes.append(_change(each))
    return changes


def plan_of(plan: DifferencePlan) -> ChangePlan:
    """The differences as a plan, with the failures that are known before anything is sent."""
    return ChangePlan(changes_of(plan.differences), {**failures_of(plan.differences), **plan.failures})


def failures_of(found: Iterable[Difference]) -> dict[Resource, ApiError]:
    """The differences that cannot be applied to any cluster."""
    return {
        each.resource: ApiError(
            ErrorCode.INVALID_REQUEST, f"{each.place}: {each.trouble}" if each.place else each.trouble
        )
        for each in found
        if each.trouble
    }


def _topic_change(each: Difference, configs: Mapping[str, str]) -> PlannedChange:
    old, new = _shape(each.before), _shape(each.after)
    if configs:
        new = ", ".join([new or "", *(f"{key}={value}" for key, value in configs.items())])
    shape = json.loads(each.after or each.before or "{}")
    shown: dict[str, Any] = {"partitions": shape["partitions"], "replication_factor": shape["replication"]}
    if each.op == "create":
        shown["configs"] = dict(configs)
    risks = TOPIC_DELETED if each.op == "delete" else ()
    return PlannedChange(
        each.resource, "", each.before, each.after, each.op, old, new, risks=risks, kind=TOPIC, shown=shown
    )


def _change(each: Difference) -> PlannedChange:
    source = "" if each.source is None else SOURCES[each.source]
    before, after, old, new = each.before, each.after, each.old, each.new
    if each.sensitive and each.resource.type is not ResourceType.SCRAM:
        before = old = None if each.before is None else HIDDEN
        after = new = None if each.op == "delete" else HIDDEN
    change = PlannedChange(each.resource, each.key, before, after, each.op, old, new, source, each.sensitive)
    shown = {**display_names(each.resource, each.key), **keys_shown(each.old_key, each.new_key)}
    return flag_data_loss(change._replace(shown=shown))


def _shape(text: str | None) -> str | None:
    if text is None:
        return None
    shape = json.loads(text)
    counts = ((shape["partitions"], "partition"), (shape["replication"], "replica"))
    return ", ".join(f"{'default' if n is None else n} {what}{'' if n == 1 else 's'}" for n, what in counts)
