"""Differences, as the edits that people are shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kconf.configdef.sensitive import HIDDEN
from kconf.engine.access.acls import ResourcePattern, binding_of
from kconf.engine.declarative.diff import Difference
from kconf.errors import ApiError, ErrorCode
from kconf.model.journal import ChangeKind
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.operations.data_loss import flag_data_loss
from kconf.operations.planned_change import SOURCES, TOPIC, PlannedChange


def edits_of(found: Sequence[Difference]) -> list[PlannedChange]:
    """One edit per difference; but a topic that is made is one with its configs."""
    made = {each.resource for each in found if each.op == "create"}
    configs: dict[Resource, dict[str, str]] = {}
    for each in found:
        if each.resource in made and each.kind is ChangeKind.CONFIG:
            configs.setdefault(each.resource, {})[each.key] = each.after or HIDDEN
    edits = []
    for each in found:
        if each.kind is ChangeKind.TOPIC:
            edits.append(_topic_edit(each, configs.get(each.resource, {})))
        elif each.resource not in made:
            edits.append(_edit(each))
    return edits


def failures_of(found: Iterable[Difference]) -> dict[Resource, ApiError]:
    """Of those that cannot be done, whatever the cluster says."""
    return {
        each.resource: ApiError(
            ErrorCode.INVALID_REQUEST, f"{each.place}: {each.trouble}" if each.place else each.trouble
        )
        for each in found
        if each.trouble
    }


def _topic_edit(each: Difference, configs: Mapping[str, str]) -> PlannedChange:
    old, new = _shape(each.before), _shape(each.after)
    if configs:
        new = ", ".join([new or "", *(f"{key}={value}" for key, value in configs.items())])
    shape = json.loads(each.after or each.before or "{}")
    shown: dict[str, Any] = {"partitions": shape["partitions"], "replication_factor": shape["replication"]}
    if each.op == "create":
        shown["configs"] = dict(configs)
    loss = "the topic and its data" if each.op == "delete" else ""
    return PlannedChange(
        each.resource, "", each.before, each.after, each.op, old, new, loss=loss, kind=TOPIC, shown=shown
    )


def _edit(each: Difference) -> PlannedChange:
    source = "" if each.source is None else SOURCES[each.source]
    before, after, old, new = each.before, each.after, each.old, each.new
    if each.sensitive and each.resource.type is not ResourceType.SCRAM:
        before = old = None if each.before is None else HIDDEN
        after = new = None if each.op == "delete" else HIDDEN
    edit = PlannedChange(each.resource, each.key, before, after, each.op, old, new, source, each.sensitive)
    return flag_data_loss(edit._replace(shown=shown_names(each.resource, each.key)))


def shown_names(resource: Resource, key: str) -> dict[str, Any]:
    """What is told in place of the names under which quotas, users and ACLs are kept."""
    if resource.type is ResourceType.QUOTA:
        return {"entity": dict(QuotaEntity.from_resource(resource).parts)}
    if resource.type is ResourceType.SCRAM:
        return {"resource": f"user:{resource.name}"}
    if resource.type is ResourceType.ACL:
        from kconf.cli.commands.acl import fields_of

        fields = fields_of(binding_of(ResourcePattern.of(resource), key))
        who = f"{fields['permission']} {fields['principal']} {fields['operation']}"
        where = "" if fields["host"] == "*" else f" from {fields['host']}"
        return {"resource": f"acl:{fields['resource']}", "key": who + where, "acl": fields}
    return {}


def _shape(text: str | None) -> str | None:
    if text is None:
        return None
    shape = json.loads(text)
    counts = ((shape["partitions"], "partition"), (shape["replication"], "replica"))
    return ", ".join(f"{'default' if n is None else n} {what}{'' if n == 1 else 's'}" for n, what in counts)
