"""Names of resources and keys for display: those of quotas, users and ACLs are JSON or fields in the journal."""

from __future__ import annotations

from typing import Any

from kconf.engine.access.acls import ResourcePattern, binding_of
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType


def display_names(resource: Resource, key: str) -> dict[str, Any]:
    """Fields that replace or extend `resource` and `key` in a result; none for a resource with a name of its own."""
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
