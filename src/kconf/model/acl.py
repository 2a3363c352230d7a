"""ACLs: operations, resource types and permissions with their numbers in the protocol, bindings and filters."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple


class Operation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15

    __hash__ = int.__hash__  # faster than Enum's own hash, since ACLs are looked up on every request


class AclType(IntEnum):
    """The resource types of ACLs. They differ from those of configs: ACLs on CLUSTER apply to broker configs."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7

    __hash__ = int.__hash__


CLUSTER_NAME = "kafka-cluster"

Authorize = Callable[[Operation, AclType, str], bool]
"""Whether the caller is authorized for an operation on the named resource."""


def allow_all(_operation: Operation, _type: AclType, _name: str) -> bool:
    """Allows every operation, without an authorizer."""
    return True


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class PatternType(IntEnum):
    """How the resource name of an ACL matches. ANY and MATCH are only for filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclBinding(NamedTuple):
    """One ACL: a principal, from a host, is allowed or denied an operation on a resource pattern."""

    resource_type: AclType
    name: str
    principal: str
    operation: Operation
    permission: Permission = Permission.ALLOW
    pattern: PatternType = PatternType.LITERAL
    host: str = "*"

    def filter(self) -> AclFilter:
        """The filter that matches this binding and no other."""
        return AclFilter(*self)


class AclFilter(NamedTuple):
    """Selects bindings. None and ANY match everything."""

    resource_type: AclType = AclType.ANY
    name: str | None = None
    principal: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY
    pattern: PatternType = PatternType.ANY
    host: str | None = None
