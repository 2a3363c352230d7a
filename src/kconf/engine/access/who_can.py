"""Finds who may perform an operation on a resource, as StandardAuthorizer decides by ACLs.

Principals and hosts that no ACL names are treated alike: the principal `User:*` and the host `*` represent them. Super
users are not in ACLs, so they are not included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kconf.engine.access.acls import (
    ANYONE,
    ANYWHERE,
    AclIndex,
    Authorizer,
    implying,
    key_of,
    matches,
    pattern_of,
    same_host,
)
from kconf.model.acl import AclBinding, AclFilter, AclType, Operation, PatternType, Permission
from kconf.model.resource import Resource


class Grant(NamedTuple):
    """A principal that may perform the operation, and the host from which it may.

    `exceptions` are hosts, or principals with or without a host, for which a DENY decides. `through` are the ACLs that
    allow it.
    """

    principal: str
    host: str
    exceptions: tuple[str, ...]
    through: tuple[AclBinding, ...]


def who_can(bindings: Sequence[AclBinding], operation: Operation, kind: AclType, name: str) -> list[Grant]:
    """The grants for a resource. `bindings` must contain all ACLs that match it; others are ignored."""
    return _Question(bindings, operation, kind, name).grants()


class _Question:
    def __init__(self, bindings: Sequence[AclBinding], operation: Operation, kind: AclType, name: str) -> None:
        about = AclFilter(kind, name, pattern=PatternType.MATCH)
        found = self._bindings = [each for each in bindings if matches(each, about)]
        self._asked = (operation, kind, name)
        self._authorizer = Authorizer(_index(found))
        self._hosts = sorted({same_host(each.host) for each in found} - {ANYWHERE})
        self._principals = sorted({each.principal for each in found} - {ANYONE})

    def grants(self) -> list[Grant]:
        return [grant for each in (ANYONE, *self._principals) for grant in self._of(each)]

    def _of(self, principal: str) -> Iterable[Grant]:
        everywhere = self._may(principal, ANYWHERE)
        hosts = [each for each in self._hosts if self._may(principal, each)]
        for host in [ANYWHERE] if everywhere else hosts:
            refused = [each for each in self._hosts if each not in hosts] if everywhere else []
            exceptions = [*refused, *self._denied_principals(principal, host, hosts)]
            through = self._through(principal, host, hosts)
            if any(each.principal == principal for each in through):  # otherwise the grant to everyone covers it
                yield Grant(principal, host, tuple(exceptions), through)

    def _denied_principals(self, principal: str, host: str, hosts: Sequence[str]) -> Iterable[str]:
        """For a grant to everyone: the principals and hosts that are denied."""
        if principal != ANYONE:
            return
        for each in self._principals:
            if not self._may(each, host):
                yield each
            elif host == ANYWHERE:
                yield from (f"{each} from {at}" for at in hosts if not self._may(each, at))

    def _through(self, principal: str, host: str, hosts: Sequence[str]) -> tuple[AclBinding, ...]:
        enough = implying(self._asked[0])
        places = {ANYWHERE, host, *(hosts if host == ANYWHERE else ())}
        return tuple(
            each
            for each in self._bindings
            if each.permission is Permission.ALLOW
            and each.operation in enough
            and each.principal in (principal, ANYONE)
            and same_host(each.host) in places
        )

    def _may(self, principal: str, host: str) -> bool:
        return self._authorizer.allows(principal, host, *self._asked)


def _index(bindings: Iterable[AclBinding]) -> AclIndex:
    stored: dict[Resource, dict[str, str]] = {}
    for each in bindings:
        stored.setdefault(pattern_of(each).resource, {})[key_of(each)] = ""
    index = AclIndex()
    for resource, overrides in stored.items():
        index.replace(resource, overrides)
    return index
