"""The declared state of a cluster: topics, configs, quotas, credentials, ACLs, and the scope that the files manage.

Values are in protocol format (units resolved, lists joined), so that comparing them is comparing typed strings. Secrets
are never included, only references to them. The pipeline reads the same files. Syntax: parser.py and
docs/how-to/declare.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from kconf.engine.policy.selectors import NamePattern, Names
from kconf.model.acl import AclBinding
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import Mechanism

SCOPES: Final = {
    "topic": ResourceType.TOPIC,
    "broker": ResourceType.BROKER,
    "brokers": ResourceType.BROKER,
    "group": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
    "quota": ResourceType.QUOTA,
    "user": ResourceType.SCRAM,
    "acl": ResourceType.ACL,
}
"""The kinds that a selector may begin with; `ignore` also accepts `key`."""

THROTTLES: Final = frozenset(
    [
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    ]
)
"""Set and removed by partition reassignments: ignored unless a file declares them."""

OPERATORS: Final = Names(
    tuple(
        map(
            NamePattern,
            ("admin", "broker", "controller", "kafka", "superuser", "*operator*", "strimzi*", "cruise-control*"),
        )
    )
)
"""Users reserved for operators: ignored unless a file declares them."""


class SourceLocation(NamedTuple):
    """A position in a file; both numbers count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class SecretSource(NamedTuple):
    """The source of a secret: an environment variable (`env`) or a file."""

    kind: str
    name: str


class DesiredConfigs(NamedTuple):
    """A declared value. For a sensitive key, the source of the value, or None: declared as set, value unknown."""

    text: str | None
    place: SourceLocation
    secret: SecretSource | None = None


class DesiredTopic(NamedTuple):
    """A declared topic. None: the cluster's default."""

    place: SourceLocation
    partitions: int | None = None
    replication: int | None = None


class DesiredCredential(NamedTuple):
    """A declared SCRAM credential; without a source for its password it must exist already."""

    place: SourceLocation
    iterations: int | None = None
    secret: SecretSource | None = None


class Scope(NamedTuple):
    """The resources of one kind that `selector` and `ignore` match; for `key`, keys of any resource.

    A quota matches by any name in its entity, an ACL by its principal. `brokers` is the cluster default; `broker`
    without a name is all brokers and the default.
    """

    word: str
    names: Names = Names()

    def covers(self, resource: Resource, names: Iterable[str]) -> bool:
        if SCOPES.get(self.word) != resource.type:
            return False
        is_default = resource.type is ResourceType.BROKER and not resource.name
        if is_default and self.word == "broker" and self.names.patterns:
            return False
        if self.word == "brokers":
            return is_default
        return any(self.names.matches(each) for each in names)

    def __str__(self) -> str:
        return ", ".join(f"{self.word}:{each.text}" for each in self.names.patterns) or self.word


@dataclass(frozen=True)
class Declared:
    """All files together. `selectors` define what they manage: nothing else is ever removed."""

    topics: Mapping[str, DesiredTopic] = field(default_factory=dict)
    configs: Mapping[Resource, Mapping[str, DesiredConfigs]] = field(default_factory=dict)
    quotas: Mapping[QuotaEntity, Mapping[str, DesiredConfigs]] = field(default_factory=dict)
    users: Mapping[str, Mapping[Mechanism, DesiredCredential]] = field(default_factory=dict)
    acls: Mapping[AclBinding, SourceLocation] = field(default_factory=dict)
    selectors: tuple[Scope, ...] = ()
    ignored: tuple[Scope, ...] = ()
    unmanaged: Mapping[Resource, Names] = field(default_factory=dict)

    @cached_property
    def _ignored_keys(self) -> tuple[Names, ...]:
        return tuple(each.names for each in self.ignored if each.word == "key")

    def ignores_key(self, key: str) -> bool:
        """Whether an undeclared key must not be changed."""
        return key in THROTTLES or any(names.matches(key) for names in self._ignored_keys)

    def leaves_key(self, resource: Resource, key: str) -> bool:
        """Whether `ignore` or `unmanaged` excludes an undeclared key of a resource."""
        unmanaged = self.unmanaged.get(resource)
        return self.ignores_key(key) or (unmanaged is not None and unmanaged.matches(key))

    def leaves_all_keys(self, resource: Resource) -> bool:
        """Whether `ignore` or `unmanaged` excludes all undeclared keys of a resource."""
        unmanaged = self.unmanaged.get(resource)
        return unmanaged is not None and any(each.text == "*" for each in unmanaged.patterns)

    def ignores(self, resource: Resource, *names: str) -> bool:
        return any(scope.covers(resource, names or (resource.name,)) for scope in self.ignored)

    def names(self, resource: Resource) -> bool:
        """Whether a file declares this topic, broker, group or client metrics subscription."""
        return resource in self.configs or (resource.type is ResourceType.TOPIC and resource.name in self.topics)

    def claims(self, resource: Resource, is_named: bool, *names: str) -> bool:
        """Whether undeclared keys of a resource are drift: a file declares the resource, or a selector matches it."""
        return self.owns(resource, *names) or (is_named and not self.ignores(resource, *names))

    def includes(self, resource: Resource, *names: str) -> bool:
        """Whether it is in scope: it matches a selector, or there is none, and it is not ignored."""
        return self.owns(resource, *names) if self.selectors else not self.ignores(resource, *names)

    def owns(self, resource: Resource, *names: str) -> bool:
        """Whether it may be removed if it is not declared: it matches a selector, and is not ignored.

        `names` are the names to match if they differ from its own: the entity of a quota, the principal of an ACL.
        """
        meant = names or (resource.name,)
        return any(scope.covers(resource, meant) for scope in self.selectors) and not self.ignores(resource, *meant)


def is_operators(user: str, extra: Iterable[str] = ()) -> bool:
    """Whether a user is an operator of the cluster; `extra` are further operators, from the cluster or the login."""
    return OPERATORS.matches(user) or user in extra
