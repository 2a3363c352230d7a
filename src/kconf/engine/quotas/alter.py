"""Decides what AlterClientQuotas and KIP-248's AlterQuotas would change. No side effects.

Kafka's request applies all changes of an entity or none; KIP-248's has an error per quota, and applies each quota
independently. An error of one entity does not affect others. kconf refuses what would harm a real broker: NaN and
Infinity are not quotas, and an entity that occurs twice in a request is refused without applying its first change.
Values are stored as Kafka stored them in ZooKeeper: integers as such, others as Java prints a double.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from ipaddress import ip_address
from math import isfinite
from typing import Final

from kconf.configdef.java.parsing import InvalidValue, java_double
from kconf.configdef.key import ConfigDef, ConfigKey
from kconf.configdef.quota import CLIENT_QUOTA, IP_QUOTA, USER_QUOTA
from kconf.configdef.validators import AT_LEAST_1
from kconf.errors import ApiError, InvalidRequest, KafkaError, NotAuthorized
from kconf.model.acl import CLUSTER_NAME, AclType, Authorize, Operation, allow_all
from kconf.model.entry import ValueType
from kconf.model.journal import Change, ChangeKind
from kconf.model.plan import Plan, Refusals
from kconf.model.quota import CLIENT_ID, IP, USER, ClientQuotaAlteration, ClientQuotaOp, QuotaEntity
from kconf.model.resource import Overrides, Resource
from kconf.model.snapshot import Snapshot
from kconf.util.slices import in_slices

QuotaOutcomes = dict[QuotaEntity, ApiError | None]
"""One result per entity, in the order of the request; None: it succeeds."""

EachQuotaOutcomes = list[list[ApiError | None]]
"""For each alteration of a request, one result per quota; None: it succeeds."""

ENTITY_TYPES: Final = frozenset({USER, CLIENT_ID, IP})
QUOTA_KEYS: Final[ConfigDef] = {**USER_QUOTA, **CLIENT_QUOTA, **IP_QUOTA}
_LARGEST: Final = {ValueType.LONG: 2**63 - 1, ValueType.INT: 2**31 - 1}
_LONGEST_SHOWN: Final = 200
_REWRITE: Final = "rewrite"  # a quota is set to its current value


def plan_alter_quotas(
    snapshot: Snapshot,
    requests: Sequence[ClientQuotaAlteration],
    *,
    is_host: Callable[[str], bool] | None = None,
    authorize: Authorize = allow_all,
) -> Plan[QuotaOutcomes]:
    """Decide what would change. `is_host` returns whether the name of an ip entity is an address or resolves to one."""
    if not authorize(Operation.ALTER_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
        refused = NotAuthorized(NotAuthorized.stock).failure()
        return Plan({request.entity: refused for request in in_slices(requests)})
    outcomes: QuotaOutcomes = {}
    changes: list[Change] = []
    unchanged: list[Change] = []
    guards: dict[Resource, int] = {}
    granted: list[ClientQuotaAlteration] = []
    named = Counter(request.entity for request in in_slices(requests))
    for entity, alterations in in_slices(requests):
        try:
            if named[entity] > 1:
                raise InvalidRequest(f"{_shown(str(entity))} occurs more than once in the request")
            keys = keys_of(entity, is_host or is_address)
            resource = entity.resource
            made = _changes(resource, snapshot.overrides(resource), alterations, keys)
        except KafkaError as error:
            outcomes[entity] = error.failure()
        else:
            outcomes[entity] = None
            changes += (each for each in made if each.op != _REWRITE)
            unchanged += (each for each in made if each.op == _REWRITE)
            granted.append(ClientQuotaAlteration(entity, alterations))
            guards[resource] = snapshot.changed.get(resource, 0)
    return Plan(outcomes, changes, guards, granted, _with_refusals, unchanged)


def _with_refusals(outcomes: QuotaOutcomes, refusals: Refusals, _after: Snapshot) -> QuotaOutcomes:
    return {entity: failure or refusals.get(entity.resource) for entity, failure in outcomes.items()}


def plan_alter_each_quota(
    snapshot: Snapshot, requests: Sequence[ClientQuotaAlteration], *, fractions: bool, authorize: Authorize = allow_all
) -> Plan[EachQuotaOutcomes]:
    """KIP-248: decide about each quota alone. `fractions`: the store can keep 100.5 where Kafka wants whole numbers."""
    outcomes: EachQuotaOutcomes = []
    changes: list[Change] = []
    unchanged: list[Change] = []
    guards: dict[Resource, int] = {}
    granted: list[ClientQuotaAlteration] = []
    named = Counter(request.entity for request in in_slices(requests))
    for entity, alterations in in_slices(requests):
        try:
            if not authorize(Operation.ALTER_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
                raise NotAuthorized(NotAuthorized.stock)
            if named[entity] > 1:
                raise InvalidRequest(f"{_shown(str(entity))} occurs more than once in the request")
            keys = keys_of(entity, is_address)
        except KafkaError as error:
            outcomes.append([error.failure()] * len(alterations))
            continue
        resource = entity.resource
        of_entity, made = _each_quota(resource, snapshot.overrides(resource), alterations, keys, fractions)
        outcomes.append(of_entity)
        changes += (each for each in made if each.op != _REWRITE)
        unchanged += (each for each in made if each.op == _REWRITE)
        granted.append(_of_changes(entity, made))
        guards[resource] = snapshot.changed.get(resource, 0)
    return Plan(outcomes, changes, guards, granted, partial(_each_with_refusals, requests), unchanged)


def _of_changes(entity: QuotaEntity, changes: Sequence[Change]) -> ClientQuotaAlteration:
    ops = (ClientQuotaOp(each.key, None if each.after is None else float(each.after)) for each in changes)
    return ClientQuotaAlteration(entity, tuple(ops))


def _each_with_refusals(
    requests: Sequence[ClientQuotaAlteration], outcomes: EachQuotaOutcomes, refusals: Refusals, _after: Snapshot
) -> EachQuotaOutcomes:
    found = zip(in_slices(requests), outcomes, strict=True)
    return [[each or refusals.get(request.entity.resource) for each in failures] for request, failures in found]


def _each_quota(
    resource: Resource, stored: Overrides, alterations: Sequence[ClientQuotaOp], keys: ConfigDef, fractions: bool
) -> tuple[list[ApiError | None], list[Change]]:
    outcomes: list[ApiError | None] = []
    changes: list[Change] = []
    given = Counter(each.key for each in in_slices(alterations))
    for each in in_slices(alterations):
        try:
            if given[each.key] > 1:
                raise InvalidRequest(f"{_shown(each.key)} occurs more than once for this entity")
            changes += _changes(resource, stored, [each], keys, fractions)
        except KafkaError as error:
            outcomes.append(error.failure())
        else:
            outcomes.append(None)
    return outcomes, changes


def keys_of(entity: QuotaEntity, is_host: Callable[[str], bool]) -> ConfigDef:
    """The quotas that an entity can have; raises if there is no such entity."""
    parts = dict(entity.parts)
    if not parts:
        raise InvalidRequest("a quota needs an entity: a user, a client-id, both, or an ip")
    for kind, name in parts.items():
        if kind not in ENTITY_TYPES:
            raise InvalidRequest(f"there are no quotas for entities of type {_shown(repr(kind))}")
        if name == "":
            raise InvalidRequest(f"the name of a {kind} must not be empty; null means the default")
    if IP not in parts:
        return USER_QUOTA if USER in parts else CLIENT_QUOTA
    if len(parts) > 1:
        raise InvalidRequest("an ip cannot be combined with a user or a client-id")
    host = parts[IP]
    if host is not None and not is_host(host):
        raise InvalidRequest(f"{_shown(repr(host))} is not an IP address or a host name that resolves to one")
    return IP_QUOTA


def is_address(text: str) -> bool:
    """Whether Java's `InetAddress` parses a text without DNS: IPv6, also in brackets, or IPv4 in 1 to 4 parts."""
    return canonical_address(text) is not None


def canonical_address(text: str) -> str | None:
    """An address as a socket returns it for its peer; None for a host name or an empty text."""
    inner = text[1:-1] if text[:1] == "[" and text[-1:] == "]" else text
    try:
        if ":" in inner:
            address = ip_address(inner)
            mapped = getattr(address, "ipv4_mapped", None)
            return str(mapped or address)
    except ValueError:
        return None
    *firsts, last = parts = text.split(".")
    if len(parts) > 4 or not all(part.isascii() and part.isdigit() and len(part) <= 10 for part in parts):
        return None
    if any(int(part) > 255 for part in firsts) or int(last) >= 1 << 8 * (5 - len(parts)):
        return None
    number = int(last) + sum(int(part) << 8 * (3 - index) for index, part in enumerate(firsts))
    return str(ip_address(number.to_bytes(4, "big")))


def _changes(
    resource: Resource,
    stored: Overrides,
    alterations: Sequence[ClientQuotaOp],
    keys: ConfigDef,
    fractions: bool = False,
) -> list[Change]:
    """One change per quota; those that change nothing are rewrites."""
    if len({each.key for each in in_slices(alterations)}) < len(alterations):
        raise InvalidRequest("a quota occurs more than once for this entity")
    changes = []
    for name, value in in_slices(alterations):
        # Removing a quota that does not exist succeeds, whatever its name. Only quotas are removed: a SCRAM credential
        # next to them in ZooKeeper is not one.
        after = None if value is None else quota_text(_key(keys, name), value, fractions=fractions)
        before = stored.get(name) if name in QUOTA_KEYS else None
        op = _REWRITE if before == after else "delete" if after is None else "set"
        changes.append(Change(ChangeKind.CONFIG, resource, name, before, after, op))
    return changes


def _key(keys: Mapping[str, ConfigKey], name: str) -> ConfigKey:
    key = keys.get(name)
    if key is None:
        raise InvalidRequest(f"{_shown(repr(name))} is not a quota key for this entity; use one of {', '.join(keys)}")
    return key


def quota_text(key: ConfigKey, value: float, *, fractions: bool = False) -> str:
    """A quota as it is stored; raises InvalidRequest. With `fractions`, bytes may have a fraction (KIP-248)."""
    if not isfinite(value):
        raise InvalidRequest(f"{key.name} must be a number; remove the quota to have no limit")
    if fractions and 0 < value < 2**53 and value != int(value):
        return java_double(value)
    largest = _LARGEST.get(key.type)
    try:
        if key.validator is not None:
            key.validator.test(value)
        if largest is not None:
            AT_LEAST_1.test(int(value))  # Kafka takes 1e-7 for a whole number above 0
    except InvalidValue as error:
        raise InvalidRequest(f"{key.name} {error}: {java_double(value)}") from None
    return java_double(float(value)) if largest is None else str(min(int(value), largest))


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
