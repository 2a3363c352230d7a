"""What a principal may do to what: the numbers that ACLs and authorized-operations fields use."""

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

    __hash__ = int.__hash__  # Enum's own hashes the name in Python code; rights are looked up on every request


class AclType(IntEnum):
    """The resource types of ACLs. Not those of configs: a broker's configuration is the cluster's here."""

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
"""May this caller do that to the named resource?"""


def allow_all(_operation: Operation, _type: AclType, _name: str) -> bool:
    """Where there is no authorizer everyone may do everything."""
    return True


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class PatternType(IntEnum):
    """How an ACL's resource name is meant; ANY and MATCH are for filters alone."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclBinding(NamedTuple):
    """One rule: this principal, from this host, may or may not do that to these resources."""

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
    """Which bindings are meant; None and ANY match everything."""

    resource_type: AclType = AclType.ANY
    name: str | None = None
    principal: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY
    pattern: PatternType = PatternType.ANY
    host: str | None = None
