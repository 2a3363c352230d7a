"""Requested changes, before they are planned and committed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from kconf.model.resource import Resource

if TYPE_CHECKING:
    from uuid import UUID

    from kconf.model.acl import AclBinding
    from kconf.model.quota import ClientQuotaAlteration
    from kconf.model.scram import UserScramCredentialDeletion, UserScramCredentialUpsertion


class OpType(IntEnum):
    """KIP-339's operations. Other numbers in a request are an error of their resource."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterConfigOp(NamedTuple):
    """One requested change of one key."""

    op: int
    key: str
    value: str | None = None

    def __repr__(self) -> str:
        """Hides the value, which may be sensitive."""
        return f"AlterConfigOp(op={self.op!r}, key={self.key!r}, value={None if self.value is None else '[hidden]'})"


class ResourceAlterations(NamedTuple):
    """The requested changes of one resource. All or none are applied.

    Compare-and-set: with an `expected` revision, they are rejected if the resource has changed after it (-1: no check).
    """

    resource: Resource
    alterations: Sequence[AlterConfigOp]
    expected: int = -1


class NewTopic(NamedTuple):
    """A topic to create. -1 is the cluster's default. `assignment` maps partitions to broker ids."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignment: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Sequence[tuple[str, str | None]] = ()


class NewPartitions(NamedTuple):
    """A topic and its new number of partitions. `assignment` has the brokers of each new partition, if given."""

    name: str
    partitions: int
    assignment: Sequence[Sequence[int]] | None = None


class DeletedTopic(NamedTuple):
    """A topic to delete."""

    name: str
    id: UUID


class NewAcl(NamedTuple):
    """An ACL to create."""

    binding: AclBinding


class DeletedAcl(NamedTuple):
    """An ACL to delete."""

    binding: AclBinding


if TYPE_CHECKING:
    RequestedChange = (
        ResourceAlterations
        | NewTopic
        | NewPartitions
        | DeletedTopic
        | ClientQuotaAlteration
        | UserScramCredentialUpsertion
        | UserScramCredentialDeletion
        | NewAcl
        | DeletedAcl
    )
    """A requested change of one resource."""
