"""Plans AlterConfigs and IncrementalAlterConfigs. Has no side effects.

The order of the checks is Kafka's (docs/protocol.md, "Order of checks"): repeated resources, repeated keys, nulls and
the name of a broker before rights; rights before everything else. Kafka also checks the values of brokers before
rights, which shows them to callers without any. Each resource is changed completely or not at all, whatever happens to
the others in the request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from kconf.configdef.dynamic import is_authentication_key
from kconf.configdef.key import ConfigDef
from kconf.engine.configs.broker_validation import check_broker
from kconf.engine.configs.list_ops import combined
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.configs.validation import check_client_metrics, check_group, check_topic
from kconf.engine.policy.hooks import NO_POLICY, PolicyHooks
from kconf.engine.policy.topic_defaults import TopicDefaults
from kconf.engine.topics.names import check_topic_name
from kconf.errors import (
    ApiError,
    GroupNotAuthorized,
    InvalidConfig,
    InvalidRequest,
    InvalidUpdateVersion,
    KafkaError,
    NotAuthorized,
    TopicNotAuthorized,
    UnknownTopic,
)
from kconf.model.acl import CLUSTER_NAME, AclType, Authorize, Operation, allow_all
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.journal import Change, ChangeKind
from kconf.model.plan import Plan, Refusals
from kconf.model.resource import Overrides, Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot
from kconf.util.slices import in_slices

Outcomes = list[ApiError | None]
"""One result per resource, in the order of the request; None: it succeeds."""

MIN_INSYNC = "min.insync.replicas"
_NO_KEYS: ConfigDef = {}
_REWRITE = "rewrite"  # a key is set to its current value
_SHOWN_KEYS = 5


class BrokerChange(NamedTuple):
    """A change of the configs of this broker, or of all brokers: all properties before and after it.

    `overrides` are those of the altered resource alone, after the change.
    """

    before: Overrides
    after: Overrides
    overrides: Overrides
    alterations: Sequence[AlterConfigOp]


@dataclass(frozen=True, slots=True)
class AlterTarget:
    """What a plan depends on, besides the state.

    `check` may refuse a change with which this server could not start. `others` are further brokers that are planned
    for, each with its resolver. `alters_authentication`: whether a caller with ALTER_CONFIGS may also change broker
    configs that control authentication. `rewrites`: whether setting a broker config to the value that it has is a
    change: real brokers read their key stores again. `is_gateway`: the plan also contains what would change nothing.
    Revisions below `first_revision` are those of another store.
    """

    id: int
    resolver: ConfigResolver
    check: Callable[[BrokerChange], None] | None = None
    others: Mapping[int, ConfigResolver] = field(default_factory=dict)
    alters_authentication: bool = True
    has_elr: bool = False  # eligible.leader.replicas.version is 1
    rewrites: bool = False
    is_gateway: bool = False
    first_revision: int = 0


def plan_alter(
    snapshot: Snapshot,
    requests: Sequence[ResourceAlterations],
    node: AlterTarget,
    *,
    replace: bool,
    known_deletions: bool = False,
    authorize: Authorize = allow_all,
    gate: PolicyHooks = NO_POLICY,
) -> Plan[Outcomes]:
    """Decide what would change. `replace` is AlterConfigs: keys that are not given are removed.

    With `known_deletions` (KIP-21) a deleted topic key must exist; Kafka's requests ignore unknown ones.
    """
    outcomes: Outcomes = []
    changes: list[Change] = []
    unchanged: list[Change] = []
    guards: dict[Resource, int] = {}
    granted: list[ResourceAlterations] = []
    repeated = repeated_resources(requests)
    changed = snapshot.changed
    start = node.resolver  # what the next start would read, with the changes of this request so far
    for request in in_slices(requests):
        resource = request.resource
        try:
            if resource in repeated:
                raise InvalidRequest(f"{_shown(resource)} occurs more than once in the request")
            made = _Decision(snapshot, node, *request, replace, known_deletions, gate, start).changes(authorize)
            if resource.type == ResourceType.BROKER:
                resource = _canonical(resource)  # "01" is broker 1, whose revision counts
                if resource in (Resource.broker(node.id), Resource.brokers()):
                    start = _after(start, made, everywhere=not resource.name)
        except KafkaError as error:
            outcomes.append(error.failure())
        else:
            outcomes.append(None)
            if made:
                for each in in_slices(made):
                    (unchanged if _is_unchanged(each, node) else changes).append(each)
                granted.append(_set_or_deleted(resource, made) if replace else request._replace(resource=resource))
            guards[resource] = changed.get(resource, 0)
    return Plan(outcomes, changes, guards, granted, partial(_with_refusals, requests), unchanged)


def _is_unchanged(change: Change, node: AlterTarget) -> bool:
    is_reloaded = node.rewrites and change.resource.type == ResourceType.BROKER and change.after is not None
    return change.op == _REWRITE and not is_reloaded


def _set_or_deleted(resource: Resource, changes: Sequence[Change]) -> ResourceAlterations:
    """The operations, one per key, that are equivalent to an AlterConfigs request."""
    return ResourceAlterations(
        resource,
        [AlterConfigOp(OpType.DELETE if each.after is None else OpType.SET, each.key, each.after) for each in changes],
    )


def _with_refusals(
    requests: Sequence[ResourceAlterations], outcomes: Outcomes, refusals: Refusals, _after: Snapshot
) -> Outcomes:
    found = zip(in_slices(requests), outcomes, strict=True)
    return [failure or refusals.get(_canonical(request.resource)) for request, failure in found]


def _check_expected(snapshot: Snapshot, resource: Resource, expected: int, first: int) -> None:
    """Compare and set.

    An expected revision that is below the first one or does not exist yet fails too: it is from another store, or from
    before a backup was restored.
    """
    if 0 < expected < first:
        raise InvalidUpdateVersion(
            f"revision {expected} is from another store: the revisions of this server begin at {first}"
        )
    last = snapshot.changed.get(resource, 0)
    if last > expected:
        raise InvalidUpdateVersion(f"{resource} changed at revision {last}, after revision {expected}")
    if expected > snapshot.revision:
        raise InvalidUpdateVersion(f"revision {expected} does not exist yet; the last is {snapshot.revision}")


def repeated_resources(requests: Sequence[ResourceAlterations]) -> set[Resource]:
    """KIP-133, as shipped: if a resource occurs more than once, every occurrence fails. "01" is broker 1."""
    if len(requests) == 1:
        return set()
    if len({_canonical(request.resource) for request in in_slices(requests)}) == len(requests):
        return set()
    counts = Counter(_canonical(request.resource) for request in in_slices(requests))
    return {request.resource for request in in_slices(requests) if counts[_canonical(request.resource)] > 1}


def _after(resolver: ConfigResolver, changes: Sequence[Change], *, everywhere: bool) -> ConfigResolver:
    overrides = dict(resolver.everywhere if everywhere else resolver.here)
    for change in changes:
        if change.after is None:
            overrides.pop(change.key, None)
        else:
            overrides[change.key] = change.after
    return resolver.with_level(overrides, everywhere=everywhere)


def _canonical(resource: Resource) -> Resource:
    if resource.type != ResourceType.BROKER:
        return resource
    number = java_int(resource.name)
    return resource if number is None else Resource.broker(number)


def check_alterations(alterations: Sequence[AlterConfigOp]) -> None:
    """Errors in the operations themselves, for any resource."""
    if len(alterations) > 1 and len({each.key for each in in_slices(alterations)}) < len(alterations):
        raise InvalidRequest("a key occurs more than once for this resource")
    nulls = [each.key for each in in_slices(alterations) if each.value is None and each.op != OpType.DELETE]
    if nulls:
        raise InvalidRequest(f"missing value for {', '.join(nulls)}")


class _Decision(NamedTuple):
    """The checks of one resource of a request."""

    snapshot: Snapshot
    node: AlterTarget
    resource: Resource
    alterations: Sequence[AlterConfigOp]
    expected: int
    replace: bool
    known_deletions: bool
    gate: PolicyHooks
    start: ConfigResolver

    def changes(self, authorize: Authorize) -> list[Change]:
        check_alterations(self.alterations)
        kind = self.resource.type
        stored = self.snapshot.overrides(self.resource)
        if kind == ResourceType.TOPIC:
            return self._topic(stored, authorize)
        if kind == ResourceType.BROKER:
            return self._broker(stored, authorize)
        if kind == ResourceType.CLIENT_METRICS:
            return self._client_metrics(stored, authorize)
        if kind == ResourceType.GROUP and self.node.resolver.catalog.has_groups:
            return self._group(stored, authorize)
        raise InvalidRequest(f"resources of type {int(kind)} cannot be altered with this request")

    def _topic(self, stored: Overrides, authorize: Authorize) -> list[Change]:
        name, keys = self.resource.name, self.node.resolver.catalog.topic
        if not authorize(Operation.ALTER_CONFIGS, AclType.TOPIC, name):
            raise TopicNotAuthorized(TopicNotAuthorized.stock)
        resulting = self._resulting(stored, keys)
        if not name:
            raise InvalidRequest("a topic needs a name; topics have no default entity")
        check_topic_name(name)
        if self.known_deletions:
            self._check_deletions(stored, keys)
        check_topic(resulting, stored, self.node.resolver)
        if name not in self.snapshot.topics:
            raise UnknownTopic(f"topic {name} does not exist")
        return self._settled(stored, resulting, self.snapshot.topics[name])

    def _broker(self, stored: Overrides, authorize: Authorize) -> list[Change]:
        number = java_int(self.resource.name)
        if number is not None and number in self.node.others:
            other = AlterTarget(
                number,
                self.node.others[number],
                alters_authentication=self.node.alters_authentication,
                rewrites=self.node.rewrites,
                is_gateway=self.node.is_gateway,
                first_revision=self.node.first_revision,
            )
            return self._replace(node=other)._broker(stored, authorize)
        check_node(self.resource.name, self.node.id, "or be empty for all brokers", empty=True)
        if self.resource.name and self.resource.name != str(self.node.id):  # "01" is broker 1
            own = self._replace(resource=Resource.broker(self.node.id))
            return own._broker(self.snapshot.overrides(own.resource), authorize)
        self._cluster_right(authorize)
        resolver = self.node.resolver
        resulting = self._resulting(stored, resolver.catalog.broker)
        self._authentication_right(stored, resulting)
        check_broker(resolver, resulting, stored, everywhere=not self.resource.name)
        if self.node.has_elr:
            self._check_min_insync(stored, resulting)
        if self.node.check is not None:
            after = self.start.with_level(resulting, everywhere=not self.resource.name).effective
            self.node.check(BrokerChange(self.start.effective, after, resulting, self.alterations))
        return self._settled(stored, resulting, defaults=self._topic_defaults(resulting))

    def _check_min_insync(self, stored: Overrides, resulting: Overrides) -> None:
        """With eligible leader replicas, min.insync.replicas is set only as cluster-wide default (KIP-966)."""
        if self.resource.name:
            if any(each.key == MIN_INSYNC for each in self.alterations):
                raise InvalidConfig(f"Broker-level {MIN_INSYNC} cannot be altered while ELR is enabled.")
        elif MIN_INSYNC in stored and MIN_INSYNC not in resulting:
            raise InvalidConfig(f"Cluster-level {MIN_INSYNC} cannot be removed while ELR is enabled.")

    def _client_metrics(self, stored: Overrides, authorize: Authorize) -> list[Change]:
        self._cluster_right(authorize)
        resulting = self._resulting(stored, _NO_KEYS)
        if not self.resource.name:
            raise InvalidRequest("a client-metrics subscription needs a name")
        check_client_metrics(resulting, self.node.resolver.catalog.client_metrics)
        return self._settled(stored, resulting)

    def _group(self, stored: Overrides, authorize: Authorize) -> list[Change]:
        if not authorize(Operation.ALTER_CONFIGS, AclType.GROUP, self.resource.name):
            raise GroupNotAuthorized(GroupNotAuthorized.stock)
        resulting = self._resulting(stored, _NO_KEYS)
        if not self.resource.name:
            raise InvalidRequest("a group needs a name")
        check_group(resulting, self.node.resolver)
        return self._settled(stored, resulting)

    def _cluster_right(self, authorize: Authorize) -> None:
        if not authorize(Operation.ALTER_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
            raise NotAuthorized(NotAuthorized.stock)

    def _authentication_right(self, stored: Overrides, resulting: Overrides) -> None:
        """Setting a secret is refused even if the value is the same; otherwise the response would confirm a guess."""
        if self.node.alters_authentication:
            return
        named = {each.key for each in self.alterations}
        sensitive = self.node.resolver.sensitive
        refused = sorted(
            key
            for key in named | stored.keys()
            if is_authentication_key(key)
            and (stored.get(key) != resulting.get(key) or (key in named and sensitive(key)))
        )
        if refused:
            more = ", …" if len(refused) > _SHOWN_KEYS else ""
            raise NotAuthorized(f"only super users may change {', '.join(refused[:_SHOWN_KEYS])}{more}")

    def _check_deletions(self, stored: Overrides, keys: ConfigDef) -> None:
        """A key that is stored can be deleted even if this version does not know it."""
        for op, name, _ in self.alterations:
            if op == OpType.DELETE and name not in keys and name not in stored:
                raise InvalidConfig(f"{name} is not a topic config")

    def _resulting(self, stored: Overrides, keys: ConfigDef) -> dict[str, str]:
        """All overrides after the requested operations. `keys` are those that support list operations."""
        resulting = {} if self.replace else dict(stored)
        for op, name, value in in_slices(self.alterations):
            if op == OpType.SET:
                resulting[name] = value or ""
            elif op == OpType.DELETE:
                resulting.pop(name, None)
            elif op in (OpType.APPEND, OpType.SUBTRACT):
                resulting[name] = combined(op, keys.get(name), name, stored.get(name), value or "")
            else:
                raise InvalidRequest(f"unknown operation {op}")
        return resulting

    def _topic_defaults(self, resulting: Overrides) -> TopicDefaults:
        """What topics inherit: from all brokers that are planned for, if it is a cluster default, or from this one."""
        everywhere = not self.resource.name
        resolvers = [self.node.resolver, *(self.node.others.values() if everywhere else ())]
        levels = [(each, each.with_level(resulting, everywhere=everywhere)) for each in resolvers]
        return TopicDefaults(levels, self.snapshot)

    def _settled(
        self,
        stored: Overrides,
        resulting: dict[str, str],
        topic: Topic | None = None,
        defaults: TopicDefaults | None = None,
    ) -> list[Change]:
        """The last checks of a valid change: the revision that the caller expects, and the policy."""
        if self.expected > -1:
            _check_expected(self.snapshot, self.resource, self.expected, self.node.first_revision)
        self.gate.alteration(self.resource, self.alterations, stored, resulting, self.node.resolver, topic, defaults)
        return self._difference(stored, resulting)

    def _difference(self, stored: Overrides, resulting: dict[str, str]) -> list[Change]:
        """One change per key whose value changes, in request order; keys that a replacement drops come last.

        On a gateway there is one for every key.
        """
        resource, changes = self.resource, []
        sensitive = self.node.resolver.sensitive_keys(resource.type)
        for op, name, _ in in_slices(self.alterations):
            before, after = stored.get(name), resulting.get(name)
            if before != after:
                changes.append(Change(ChangeKind.CONFIG, resource, name, before, after, _WORDS[op], sensitive(name)))
            elif self.node.is_gateway:
                changes.append(Change(ChangeKind.CONFIG, resource, name, before, after, _REWRITE, sensitive(name)))
        if self.replace:
            dropped = stored.keys() - resulting.keys()
            changes += [
                Change(ChangeKind.CONFIG, resource, each, stored[each], None, "replace", sensitive(each))
                for each in sorted(dropped)
            ]
        return changes


_WORDS = {op.value: op.name.lower() for op in OpType}


def check_node(name: str, own: int, hint: str, *, empty: bool = False) -> None:
    """Only node N accepts BROKER N and BROKER_LOGGER N; the number is parsed as Java parses an int."""
    if empty and not name:
        return
    number = java_int(name)
    if number is None:
        raise InvalidRequest(f"a broker's name must be an integer{', ' + hint if hint else ''}: {name!r}")
    if number != own:
        raise InvalidRequest(
            f"this is broker {own}; a broker's name must be {own}{', ' + hint if hint else ''}: {name!r}"
        )


def java_int(text: str) -> int | None:
    """The number as Integer.parseInt parses it (so "+1" and "01" are numbers), or None."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal() or len(digits) > 30:
        return None
    number = int(text)
    return number if -(2**31) <= number < 2**31 else None


def _shown(resource: Resource) -> str:
    try:
        return str(resource)
    except ValueError:
        return f"resource {resource.name!r} of type {int(resource.type)}"
