"""Display names and values for quotas, users, ACLs and topics, which the journal stores as JSON or fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kconf.engine.access.acls import ResourcePattern, binding_of
from kconf.model.journal import ChangeKind
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import shown_iterations

if TYPE_CHECKING:
    from kconf.model.journal import Change

SENSITIVE: Final = "(sensitive)"


def display_names(resource: Resource, key: str) -> dict[str, Any]:
    """Fields that replace or extend `resource` and `key` in a result; none for resources with plain names."""
    if resource.type is ResourceType.QUOTA:
        return {"entity": dict(QuotaEntity.from_resource(resource).parts)}
    if resource.type is ResourceType.SCRAM:
        return {"resource": f"user:{resource.name}"}
    if resource.type is ResourceType.ACL:
        from kconf.operations.access.acls import acl_fields

        fields = acl_fields(binding_of(ResourcePattern.of(resource), key))
        who = f"{fields['permission']} {fields['principal']} {fields['operation']}"
        where = "" if fields["host"] == "*" else f" from {fields['host']}"
        return {"resource": f"acl:{fields['resource']}", "key": who + where, "acl": fields}
    return {}


def value_of(change: Change, value: str | None) -> str | None:
    """A value for display; for a topic, its partitions and replicas."""
    if value is None:
        return None
    if change.sensitive:
        iterations = shown_iterations(value) if change.resource.type is ResourceType.SCRAM else None
        return SENSITIVE if iterations is None else f"{SENSITIVE}, iterations={iterations}"
    return topic_text(value) if change.kind is ChangeKind.TOPIC else value


def topic_text(text: str) -> str:
    from json import loads

    facts = loads(text)
    replicas = facts.get("replicas")
    partitions = facts.get("partitions") if replicas is None else len(replicas)
    copies = facts.get("replication") if replicas is None else len(replicas[0]) if replicas else 0
    counts = ((partitions, "partition"), (copies, "replica"))
    known = [f"{number} {what}{'' if number == 1 else 's'}" for number, what in counts if number is not None]
    return ", ".join(known) or "(exists)"
