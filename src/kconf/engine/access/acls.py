"""ACLs: authorization decisions, and what creating and deleting ACLs would change.

Kafka's rules: super users first; then every ACL whose pattern matches the resource; if there is none, the server's
default decides; a matching DENY takes precedence; an ALLOW covers its operation, ALL, and implied operations (DESCRIBE
by READ, WRITE, DELETE, ALTER; DESCRIBE_CONFIGS by ALTER_CONFIGS). A DENY implies nothing.

An ACL is stored as a key of its pattern (`Resource` of type ACL), so that journal and store treat it like an override.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from kconf.errors import ApiError, InvalidRequest, KafkaError
from kconf.model.acl import (
    CLUSTER_NAME,
    AclBinding,
    AclFilter,
    AclType,
    Operation,
    PatternType,
    Permission,
)
from kconf.model.alteration import DeletedAcl, NewAcl
from kconf.model.journal import Change, ChangeKind
from kconf.model.plan import Plan, Refusals, refusal_of
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.util.bounded_cache import BoundedCache, text_size
from kconf.util.slices import in_slices

ANYONE = "User:*"
ANYWHERE = "*"

Deletions = list[tuple[AclBinding, ApiError | None]]
"""The ACLs that a filter deletes, each with an error if it was not deleted."""

_IMPLIED_BY: Mapping[int, frozenset[int]] = {
    Operation.DESCRIBE: frozenset({Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.ALTER_CONFIGS}),
}


_ENOUGH: Mapping[int, frozenset[int]] = {
    operation: frozenset(map(int, {operation, Operation.ALL} | _IMPLIED_BY.get(operation, frozenset())))
    for operation in Operation
}


def implying(operation: Operation) -> frozenset[int]:
    """The operations whose ALLOW is enough for this one."""
    return _ENOUGH[operation]


class _Entry(NamedTuple):
    host: str
    operation: int
    permission: int


class ResourcePattern(NamedTuple):
    """A resource pattern: a resource type, and a literal name or a prefix of names."""

    type: int
    pattern: int
    name: str

    @property
    def resource(self) -> Resource:
        """The resource under which the ACLs of this pattern are stored."""
        return Resource(ResourceType.ACL, f"{self.type}:{self.pattern}:{self.name}")

    @classmethod
    def of(cls, resource: Resource) -> ResourcePattern:
        kind, pattern, name = resource.name.split(":", 2)
        return cls(int(kind), int(pattern), name)


def pattern_of(binding: AclBinding) -> ResourcePattern:
    return ResourcePattern(int(binding.resource_type), int(binding.pattern), binding.name)


def key_of(binding: AclBinding) -> str:
    """The key under which a binding is stored in its pattern."""
    return json.dumps(
        [binding.principal, binding.host, int(binding.operation), int(binding.permission)],
        separators=(",", ":"),
        ensure_ascii=False,
    )


def binding_of(pattern: ResourcePattern, key: str) -> AclBinding:
    principal, host, operation, permission = json.loads(key)
    return AclBinding(
        AclType(pattern.type),
        pattern.name,
        principal,
        Operation(operation),
        Permission(permission),
        PatternType(pattern.pattern),
        host,
    )


def same_host(text: str) -> str:
    """An address in canonical form, for comparison: Java writes 0:0:0:0:0:0:0:1 where others write ::1."""
    if ":" not in text:
        return text
    try:
        address = ip_address(text)
    except ValueError:
        return text
    return str(getattr(address, "ipv4_mapped", None) or address)


def host_at_kafka(text: str) -> str:
    """The same for an ACL that brokers evaluate too: they compare the text with the address as Java writes it.

    Empty if no address is written so.
    """
    if ":" not in text:
        return text
    address = same_host(text)
    return address if _as_java(address) == text else ""


def _as_java(address: str) -> str | None:
    """An IPv6 address as Java writes it: eight numbers without leading zeros. None for other texts."""
    number, percent, scope = address.partition("%")
    try:
        groups = IPv6Address(number).exploded.split(":")
    except ValueError:
        return None
    return ":".join(f"{int(each, 16):x}" for each in groups) + percent + scope


_ByPrincipal = dict[str, list[_Entry]]


class AclIndex:
    """All ACLs, indexed by resource pattern. A change of a pattern replaces all of its ACLs.

    `host_of` converts the host of an ACL to the canonical form of a client's address.
    """

    def __init__(self, snapshot: Snapshot = Snapshot.EMPTY, *, host_of: Callable[[str], str] = same_host) -> None:
        self.version = 0  # incremented by every change
        self._host_of = host_of
        self._literal: dict[int, dict[str, _ByPrincipal]] = {}  # type → name
        self._prefixed: dict[int, dict[int, dict[str, _ByPrincipal]]] = {}  # type → length of the prefix → prefix
        for resource, overrides in snapshot.configs.items():
            if resource.type == ResourceType.ACL:
                self.replace(resource, overrides)

    def replace(self, resource: Resource, overrides: Overrides) -> None:
        """Replace the ACLs of a pattern by those that are stored now."""
        self.version += 1
        kind, pattern, name = ResourcePattern.of(resource)
        if pattern == PatternType.PREFIXED:
            lengths = self._prefixed.setdefault(kind, {})
            place = lengths.setdefault(len(name), {})
        else:
            place = self._literal.setdefault(kind, {})
        if overrides:
            place[name] = _by_principal(overrides, self._host_of)
        else:
            place.pop(name, None)
            if pattern == PatternType.PREFIXED and not place:
                del lengths[len(name)]

    def about(self, kind: int, name: str) -> list[_ByPrincipal]:
        """The ACLs of every pattern that covers a resource, by principal."""
        found = []
        literal = self._literal.get(kind)
        if literal is not None:
            for each in (name, ANYWHERE) if name != ANYWHERE else (name,):
                entries = literal.get(each)
                if entries is not None:
                    found.append(entries)
        prefixed = self._prefixed.get(kind)
        if prefixed is not None:
            size = len(name)
            for length, prefixes in prefixed.items():
                if length <= size:
                    entries = prefixes.get(name[:length])
                    if entries is not None:
                        found.append(entries)
        return found


def _by_principal(overrides: Overrides, host_of: Callable[[str], str]) -> _ByPrincipal:
    entries: _ByPrincipal = {}
    for key in overrides:
        principal, host, operation, permission = json.loads(key)
        entries.setdefault(principal, []).append(_Entry(host_of(host), operation, permission))
    return entries


MAX_CACHED_BYTES = 32 << 20  # of decisions: those about 100,000 topics, for one client
_Question = tuple[str, str, int, int, str]


class Authorizer:
    """The authorizer. `allow_if_none` is allow.everyone.if.no.acl.found.

    Decisions are cached by everything they depend on, until any ACL changes: listing 100,000 topics authorizes each
    one.
    """

    def __init__(self, index: AclIndex, *, super_users: Iterable[str] = (), allow_if_none: bool = False) -> None:
        self.index = index
        self.super_users = frozenset(super_users)
        self.allow_if_none = allow_if_none
        self.decisions: BoundedCache[_Question, bool] = BoundedCache(MAX_CACHED_BYTES, _question_size)
        self._as_of = index.version

    def allows(self, principal: str, host: str, operation: Operation, kind: AclType, name: str) -> bool:
        if self._as_of != self.index.version:
            self.decisions.clear()
            self._as_of = self.index.version
        question = (principal, host, operation, kind, name)
        known = self.decisions.get(question)
        if known is None:
            known = self._decide(*question)
            self.decisions.put(question, known)
        return known

    def _decide(self, principal: str, host: str, operation: Operation, kind: AclType, name: str) -> bool:
        if principal in self.super_users:
            return True
        about = self.index.about(kind, name)
        if not about:
            return self.allow_if_none
        enough = _ENOUGH[operation]
        allowed = False
        for entries in about:
            for who in (principal, ANYONE):
                for at, op, permission in entries.get(who, ()):
                    if at not in (ANYWHERE, host):
                        continue
                    if permission == Permission.DENY:
                        if op in (operation, Operation.ALL):
                            return False
                    elif op in enough:
                        allowed = True
        return allowed


def _question_size(question: _Question) -> int:
    principal, host, _, _, name = question
    return text_size(principal, host, name)


def bindings(snapshot: Snapshot) -> Iterable[AclBinding]:
    """All ACLs, in the order of their patterns."""
    for resource in in_slices(sorted(each for each in in_slices(snapshot.configs) if each.type == ResourceType.ACL)):
        pattern = ResourcePattern.of(resource)
        for key in sorted(snapshot.overrides(resource)):
            yield binding_of(pattern, key)


def matches(binding: AclBinding, wanted: AclFilter) -> bool:
    """Whether a filter matches this binding. Here the operation ALL is not a wildcard: it matches only ALL."""
    return (
        wanted.resource_type in (AclType.ANY, binding.resource_type)
        and _name_matches(binding, wanted)
        and wanted.principal in (None, binding.principal)
        and wanted.host in (None, binding.host)
        and wanted.operation in (Operation.ANY, binding.operation)
        and wanted.permission in (Permission.ANY, binding.permission)
    )


def _name_matches(binding: AclBinding, wanted: AclFilter) -> bool:
    pattern, name = wanted.pattern, wanted.name
    if pattern not in (PatternType.ANY, PatternType.MATCH):
        return pattern == binding.pattern and name in (None, binding.name)
    if name in (None, binding.name):
        return True
    if pattern == PatternType.ANY:
        return False
    if binding.pattern == PatternType.LITERAL:
        return binding.name == ANYWHERE
    return name is not None and name.startswith(binding.name)


def check_binding(binding: AclBinding) -> None:
    """Raise if an ACL is not valid."""
    if binding.resource_type in (AclType.UNKNOWN, AclType.ANY):
        raise InvalidRequest("an ACL needs a resource type")
    if binding.resource_type == AclType.CLUSTER and binding.name != CLUSTER_NAME:
        raise InvalidRequest(f"the name of the cluster resource must be {CLUSTER_NAME}")
    if not binding.name:
        raise InvalidRequest("an ACL needs a resource name")
    if binding.pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise InvalidRequest("the pattern type of an ACL must be LITERAL or PREFIXED")
    if binding.operation in (Operation.UNKNOWN, Operation.ANY):
        raise InvalidRequest("an ACL needs an operation")
    if binding.permission not in (Permission.ALLOW, Permission.DENY):
        raise InvalidRequest("the permission of an ACL must be ALLOW or DENY")
    if ":" not in binding.principal:
        raise InvalidRequest(f"a principal must be TYPE:NAME: {binding.principal!r}")


def plan_create_acls(snapshot: Snapshot, requests: Sequence[AclBinding]) -> Plan[list[ApiError | None]]:
    """One result per requested ACL, in order. Creating an existing ACL succeeds and changes nothing."""
    outcomes: list[ApiError | None] = []
    made: dict[tuple[Resource, str], Change] = {}
    existing: dict[tuple[Resource, str], Change] = {}
    granted: dict[tuple[Resource, str], NewAcl] = {}
    for request in in_slices(requests):
        try:
            check_binding(request)
        except KafkaError as error:
            outcomes.append(error.failure())
            continue
        outcomes.append(None)
        resource, key = pattern_of(request).resource, key_of(request)
        granted[resource, key] = NewAcl(request)
        if key in snapshot.overrides(resource):
            existing[resource, key] = Change(ChangeKind.CONFIG, resource, key, "", "", "rewrite")
        else:
            made[resource, key] = Change(ChangeKind.CONFIG, resource, key, None, "", "set")
    return Plan(
        outcomes,
        list(made.values()),
        _guards(snapshot, granted),
        list(granted.values()),
        partial(_with_refusals, requests),
        list(existing.values()),
    )


def _with_refusals(
    requests: Sequence[AclBinding], outcomes: list[ApiError | None], refusals: Refusals, _after: Snapshot
) -> list[ApiError | None]:
    found = zip(in_slices(requests), outcomes, strict=True)
    return [failure or _refusal(refusals, request) for request, failure in found]


def _refusal(refusals: Refusals, binding: AclBinding) -> ApiError | None:
    return refusal_of(refusals, pattern_of(binding).resource, key_of(binding)) if refusals else None


def plan_delete_acls(snapshot: Snapshot, requests: Sequence[AclFilter]) -> Plan[list[Deletions]]:
    """The ACLs that each filter deletes; one that two filters match is reported under both."""
    every = list(bindings(snapshot))
    outcomes: list[Deletions] = [
        [(each, None) for each in in_slices(every) if matches(each, request)] for request in in_slices(requests)
    ]
    gone: dict[tuple[Resource, str], Change] = {}
    granted: dict[tuple[Resource, str], DeletedAcl] = {}
    for binding, _ in (each for found in in_slices(outcomes) for each in in_slices(found)):
        resource, key = pattern_of(binding).resource, key_of(binding)
        gone[resource, key] = Change(ChangeKind.CONFIG, resource, key, "", None, "delete")
        granted[resource, key] = DeletedAcl(binding)
    return Plan(outcomes, list(gone.values()), _guards(snapshot, gone), list(granted.values()), _not_deleted)


def _not_deleted(outcomes: list[Deletions], refusals: Refusals, _after: Snapshot) -> list[Deletions]:
    """Add the errors of ACLs that the upstream cluster did not delete."""
    return [[(each, _refusal(refusals, each)) for each, _ in found] for found in outcomes]


def _guards(snapshot: Snapshot, touched: Iterable[tuple[Resource, str]]) -> dict[Resource, int]:
    return {resource: snapshot.changed.get(resource, 0) for resource, _ in touched}
