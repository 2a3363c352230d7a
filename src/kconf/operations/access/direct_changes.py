"""Finds principals that may change a cluster without its gateway, so that its rules do not apply to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.errors import SecurityDisabled
from kconf.model.acl import AclBinding, AclType, Operation, Permission
from kconf.operations.access.acls import operation_text, resource_text

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient

CHANGING: Final = frozenset(
    {
        Operation.ALL,
        Operation.ALTER,
        Operation.ALTER_CONFIGS,
        Operation.CLUSTER_ACTION,
        Operation.CREATE,
        Operation.CREATE_TOKENS,
        Operation.DELETE,
    }
)
_CONFIGURED: Final = frozenset({AclType.TOPIC, AclType.CLUSTER, AclType.USER})
_GROUP: Final = frozenset({Operation.ALL, Operation.ALTER_CONFIGS})

NO_AUTHORIZER: Final = "the cluster has no authorizer: everyone who can connect to a broker can change its configs"
NOT_SHOWN: Final = (
    "Kafka does not show super.users and allow.everyone.if.no.acl.found, which also allow changes: check them on the"
    " brokers and controllers"
)
SHARED_ACLS: Final = (
    "if the gateway uses the cluster's ACLs, deleting these ACLs also removes access through the gateway: first give"
    " the gateway its own ACLs (gateway.acl.file)"
)


class DirectRight(NamedTuple):
    """An ACL that allows changes without the gateway, and the command that deletes it and no other ACL."""

    binding: AclBinding
    cure: str


def direct_rights(client: SyncAdminClient, account: str) -> list[DirectRight] | None:
    """The ACLs of everyone except the gateway's own account. None if there is no authorizer: everyone is allowed."""
    try:
        bindings = client.describe_acls()
    except SecurityDisabled:
        return None
    return list(_rights(bindings, account))


def _rights(bindings: Iterable[AclBinding], account: str) -> Iterator[DirectRight]:
    for each in sorted(bindings):
        of_group = each.resource_type is AclType.GROUP and each.operation in _GROUP
        of_configs = each.resource_type in _CONFIGURED and each.operation in CHANGING
        if each.permission is Permission.ALLOW and each.principal != account and (of_group or of_configs):
            yield DirectRight(each, _cure(each))


def _cure(each: AclBinding) -> str:
    words = ("--principal", each.principal, "--operation", operation_text(each.operation), "--on", resource_text(each))
    return " ".join(["kconf acl delete", *map(quote, (*words, "--host", each.host, "--allow"))])
