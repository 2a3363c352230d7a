"""The interface between plans and policies.

A policy is called after every other check and before the write, for dry runs too, once per resource. It raises
`PolicyViolation` to refuse; it may return warnings. `PolicyHooks` represents the policies within one request: a planner
calls it and does not know about files, threads or timeouts (server/policy/manager.py). Proposals contain real values;
their reprs never show sensitive ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from kconf.configdef.validate import normalize
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.policy.topic_defaults import TopicDefaults
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.resource import NO_OVERRIDES, Overrides, Resource, ResourceType, Topic

V = TypeVar("V", bound=str | None)


class Values(Mapping[str, V], Generic[V]):
    """Values by key. Printed, the sensitive ones are hidden."""

    __slots__ = ("_secret", "_values")

    def __init__(self, values: Mapping[str, V], secret: Callable[[str], bool] = lambda _: False) -> None:
        self._values, self._secret = values, secret

    def __getitem__(self, name: str) -> V:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr({name: "[hidden]" if name in self.secrets else value for name, value in self._values.items()})

    @property
    def secrets(self) -> dict[str, str]:
        """The sensitive ones among them."""
        return {name: value for name, value in self._values.items() if value is not None and self._secret(name)}


class Effective(Mapping[str, str]):
    """The effective values of a resource with these overrides; each is resolved on access.

    For the cluster default these are the overrides alone, as DescribeConfigs returns them.
    """

    def __init__(self, resource: Resource, overrides: Overrides, resolver: ConfigResolver) -> None:
        self.resource, self.overrides, self.resolver = resource, overrides, resolver

    def __getitem__(self, name: str) -> str:
        value = self._value(name)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        names = () if self._everywhere else self.resolver.catalog.of(self.resource.type)
        return (name for name in sorted({*names, *self.overrides}) if self._value(name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Effective):
            return NotImplemented
        mine, theirs = self.resolver, other.resolver
        return (
            self.resource == other.resource
            and self.overrides == other.overrides
            and (mine is theirs or (mine.everywhere == theirs.everywhere and mine.here == theirs.here))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Effective({self.resource})"

    @property
    def _everywhere(self) -> bool:
        return self.resource == Resource.brokers()

    @cached_property
    def _would_be(self) -> ConfigResolver:
        return self.resolver.with_level(self.overrides, everywhere=False)

    def _value(self, name: str) -> str | None:
        if self.resource.type == ResourceType.BROKER and not self._everywhere:
            known = name in self.resolver.catalog.broker
            return self._would_be.value(name) if known else self._would_be.effective.get(name)
        key = self.resolver.catalog.of(self.resource.type).get(name)
        raw = self.overrides.get(name)
        if raw is not None or key is None:
            return raw if raw is None or key is None else normalize(key, raw)
        if self.resource.type == ResourceType.TOPIC:
            inherited = self.resolver.inherited.get(name)
            return inherited.value if inherited is not None else None
        if self._everywhere:
            return None
        return self.resolver.value(key.fallbacks[0].name) if key.fallbacks else key.default


@dataclass(frozen=True, slots=True)
class AlterProposal:
    """Overrides that would change.

    `changed` is Kafka's map: the resulting values of the keys in the request, None where an override is removed; keys
    that a replacement drops are not in it. `resulting` and `previous` are all overrides after and before;
    `effective` are the effective values after. `topic` is None for other resources, and while a topic is created.
    `defaults` are the values that topics inherit from a broker level; only rules use them.
    """

    resource: Resource
    changed: Mapping[str, str | None]
    resulting: Mapping[str, str]
    previous: Mapping[str, str]
    principal: str = "User:ANONYMOUS"
    validate_only: bool = False
    topic: Topic | None = None
    effective: Mapping[str, str] = field(default_factory=dict, repr=False)
    defaults: TopicDefaults | None = field(default=None, repr=False, compare=False)

    @property
    def touched(self) -> frozenset[str]:
        """The keys of `changed`, and those that a replacement drops without naming them."""
        return frozenset(self.changed) | (self.previous.keys() - self.resulting.keys())


@dataclass(frozen=True, slots=True)
class TopicProposal:
    """A topic that would be created. As in Kafka: either both counts, or `assignments` (partition -> broker ids)."""

    name: str
    partitions: int | None
    replication_factor: int | None
    assignments: Mapping[int, Sequence[int]] | None
    configs: Mapping[str, str]
    principal: str = "User:ANONYMOUS"
    validate_only: bool = False
    effective: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def resource(self) -> Resource:
        return Resource.topic(self.name)

    @property
    def shape(self) -> tuple[int | None, int | None]:
        """Partitions and replication factor, also if they follow from the assignments."""
        if self.assignments is None:
            return self.partitions, self.replication_factor
        return len(self.assignments), len(next(iter(self.assignments.values()), ()))


@dataclass(frozen=True, slots=True)
class GrowthProposal:
    """A topic that would get more partitions: its partitions after and before."""

    topic: Topic
    previous: int
    overrides: Mapping[str, str]
    principal: str = "User:ANONYMOUS"
    validate_only: bool = False
    effective: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def resource(self) -> Resource:
        return self.topic.resource


Warnings = Iterable[str] | None
"""The return value of a policy that allows a change."""


class AlterPolicy(Protocol):
    def check_alter(self, proposal: AlterProposal, /) -> Warnings:
        """Return warnings or nothing; raise `PolicyViolation` to refuse."""


class CreateTopicPolicy(Protocol):
    def check_create(self, proposal: TopicProposal, /) -> Warnings:
        """Return warnings or nothing; raise `PolicyViolation` to refuse."""


@runtime_checkable
class GrowthPolicy(Protocol):
    """A create-topic policy that also checks CreatePartitions, which Kafka's cannot."""

    def check_growth(self, proposal: GrowthProposal, /) -> Warnings:
        """Return warnings or nothing; raise `PolicyViolation` to refuse."""


class PolicyWarning(NamedTuple):
    """A policy's warnings about a resource that it allows."""

    resource: Resource
    text: str


@dataclass(frozen=True, slots=True)
class PolicyHooks:
    """The policies within one request. Each call of a planner gets its own instance."""

    alter: AlterPolicy | None = None
    create: CreateTopicPolicy | None = None
    principal: str = "User:ANONYMOUS"
    validate_only: bool = False
    _said: dict[PolicyWarning, None] = field(default_factory=dict)

    @property
    def warnings(self) -> list[PolicyWarning]:
        """The warnings so far, in order, without duplicates."""
        return list(self._said)

    def alteration(
        self,
        resource: Resource,
        alterations: Sequence[AlterConfigOp],
        stored: Overrides,
        resulting: Overrides,
        resolver: ConfigResolver,
        topic: Topic | None = None,
        defaults: TopicDefaults | None = None,
    ) -> None:
        """Check the new overrides of one resource; raises `PolicyViolation`."""
        if self.alter is None:
            return
        secret = resolver.sensitive_keys(resource.type)
        proposal = AlterProposal(
            resource,
            Values(changed_values(resource, alterations, stored, resulting), secret),
            Values(resulting, secret),
            Values(stored, secret),
            self.principal,
            self.validate_only,
            topic,
            Effective(resource, resulting, resolver),
            defaults,
        )
        self._note(resource, self.alter.check_alter(proposal))

    def creation_configs(self, name: str, overrides: Overrides, resolver: ConfigResolver) -> None:
        """Check the configs of a new topic with the alter policy, as Kafka 4.3 does; not called without configs."""
        if overrides:
            requests = [AlterConfigOp(OpType.SET, key, value) for key, value in overrides.items()]
            self.alteration(Resource.topic(name), requests, NO_OVERRIDES, overrides, resolver)

    def creation(self, topic: Topic, overrides: Overrides, resolver: ConfigResolver, *, assigned: bool) -> None:
        """Check with the create-topic policy; `assigned`: the request contains replica assignments."""
        if self.create is None:
            return
        proposal = TopicProposal(
            topic.name,
            None if assigned else topic.partitions,
            None if assigned else topic.replication_factor,
            dict(enumerate(topic.replicas)) if assigned else None,
            Values(overrides),
            self.principal,
            self.validate_only,
            Effective(topic.resource, overrides, resolver),
        )
        self._note(topic.resource, self.create.check_create(proposal))

    def growth(self, old: Topic, new: Topic, overrides: Overrides, resolver: ConfigResolver) -> None:
        """Check additional partitions, if the create-topic policy supports it. Kafka does not check them."""
        if isinstance(self.create, GrowthPolicy):
            effective = Effective(new.resource, overrides, resolver)
            proposal = GrowthProposal(
                new, old.partitions, Values(overrides), self.principal, self.validate_only, effective
            )
            self._note(new.resource, self.create.check_growth(proposal))

    def _note(self, resource: Resource, warnings: Warnings) -> None:
        for text in warnings or ():
            self._said[PolicyWarning(resource, text)] = None


NO_POLICY = PolicyHooks()
"""For servers without policies. It has no state, so it can be shared."""


def changed_values(
    resource: Resource, alterations: Sequence[AlterConfigOp], stored: Overrides, resulting: Overrides
) -> dict[str, str | None]:
    """Kafka's map: the new value of each requested key (None: no override), without unchanged ones.

    For brokers it includes unchanged keys, because a broker reads its files again if a path is set to the same value.
    """
    unchanged_too = resource.type == ResourceType.BROKER
    return {
        each.key: resulting.get(each.key)
        for each in alterations
        if unchanged_too or resulting.get(each.key) != stored.get(each.key)
    }
