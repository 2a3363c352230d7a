"""Converts SCRAM and ACL records of the metadata log to keys and values of resources.

The image hashes the text of a SCRAM credential and does not store it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kconf.engine.access.acls import key_of, pattern_of
from kconf.model.acl import AclBinding, AclType, Operation, PatternType, Permission
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import Mechanism
from kconf.protocol.records.metadata import (
    AccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

_MECHANISMS: Final = {int(each): each for each in Mechanism}


class KeyValue(NamedTuple):
    """A key of a resource and its value, or None if it is not set.

    `shown` is the part of a credential that is not secret.
    """

    resource: Resource
    key: str
    value: str | None
    shown: str = ""

    def __repr__(self) -> str:
        return f"KeyValue({self.resource}, {self.key})"


def scram_credential(record: UserScramCredentialRecord | RemoveUserScramCredentialRecord) -> KeyValue | None:
    """The credential that a record sets or removes, or None if its mechanism is unknown."""
    mechanism = _MECHANISMS.get(record.mechanism)
    if mechanism is None:
        return None
    user = Resource(ResourceType.SCRAM, record.name)
    if isinstance(record, RemoveUserScramCredentialRecord):
        return KeyValue(user, mechanism.word, None)
    secret = b"".join((record.salt, record.stored_key, record.server_key))
    shown = f"iterations={record.iterations} "
    return KeyValue(user, mechanism.word, f"{record.iterations}:{secret.hex()}", shown)


def acl_of(record: AccessControlEntryRecord) -> AclBinding:
    """The ACL in a record. Raises ValueError if it contains unknown numbers."""
    return acl_binding(
        record.resource_type,
        record.resource_name,
        record.principal,
        record.operation,
        record.permission_type,
        record.pattern_type,
        record.host,
    )


def acl_binding(
    resource_type: int, name: str, principal: str, operation: int, permission: int, pattern: int, host: str
) -> AclBinding:
    """An ACL from the numbers of its fields."""
    return AclBinding(
        AclType(resource_type),
        name,
        principal,
        Operation(operation),
        Permission(permission),
        PatternType(pattern),
        host,
    )


def acl_value(binding: AclBinding, *, is_set: bool) -> KeyValue:
    return KeyValue(pattern_of(binding).resource, key_of(binding), "" if is_set else None)
