"""Selects resources by value: `--where 'retention.ms>30d'`.

Conditions apply to effective values, inherited or not. Numbers are compared as numbers and accept units; -1 of a
retention key means unlimited. Lists are equal in any order. A value that the cluster does not show matches nothing. If
kconf does not know a key, the cluster provides its type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, Final

from kconf.configdef.java.parsing import InvalidValue, Value
from kconf.configdef.key import ConfigKey
from kconf.configdef.lookup import known_key, similar_key
from kconf.configdef.units import FOLLOWS, NUMBERS, read_amount
from kconf.engine.policy.conditions import amount, read_value
from kconf.errors import ApiError, ConfigurationError
from kconf.model.entry import ValueType
from kconf.model.resource import Resource, ResourceType
from kconf.operations.risks.inheritance import Inheritance
from kconf.operations.topics import replication_factor

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient

_COMPARE: Final = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_CONDITION: Final = re.compile(r"\s*([\w.\-]+?)\s*(!=|<=|>=|==|=|<|>)\s*(.*?)\s*")
_FACTS: Final = {name: ConfigKey(name=name, type=ValueType.INT) for name in ("partitions", "replication-factor")}
"""Properties of topics other than keys."""


@dataclass(frozen=True, slots=True)
class WhereCondition:
    """A comparison of a key's value with `operand`, which is parsed from `text`."""

    key: ConfigKey
    operator: str
    operand: Value
    text: str = ""

    def typed(self, kind: ValueType) -> WhereCondition:
        """The same comparison for a key that kconf does not know, with the type from the cluster."""
        return _comparison(replace(self.key, type=kind), self.operator, self.text)

    @property
    def is_unknown(self) -> bool:
        return self.key.type is ValueType.UNKNOWN

    def holds(self, values: Mapping[str, str]) -> bool:
        """Whether it holds for the values of a resource. The key must have a value."""
        value: Any = read_value(self.key, values[self.key.name])
        operand: Any = self.operand
        if self.key.type in NUMBERS:
            value, operand = amount(self.key, value, values), amount(self.key, operand, values)
        elif isinstance(value, tuple):
            value, operand = frozenset(value), frozenset(operand)
        return bool(_COMPARE[self.operator](value, operand))


@dataclass(slots=True)
class Matches:
    """The resources for which all conditions hold, with the compared values, and those that could not be compared."""

    values: dict[Resource, dict[str, str]] = field(default_factory=dict)
    failures: dict[Resource, ApiError] = field(default_factory=dict)
    not_shown: dict[str, int] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        return [
            f"{count} resource{'' if count == 1 else 's'} skipped: {key} has no visible value"
            for key, count in self.not_shown.items()
        ]


def parse_conditions(texts: Sequence[str], kind: ResourceType) -> list[WhereCondition]:
    """Conditions on resources of one type; all must hold."""
    return [_condition(each, kind) for each in texts]


def _condition(text: str, kind: ResourceType) -> WhereCondition:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ConfigurationError(f"--where takes KEY OPERATOR VALUE, for example 'retention.ms>30d', not {text!r}")
    name, operator, value = match[1], match[2].replace("==", "="), match[3]
    return _comparison(_key(kind, name), operator, value)


def _comparison(key: ConfigKey, operator: str, value: str) -> WhereCondition:
    name = key.name
    if key.sensitive:
        raise ConfigurationError(f"--where: {name} is a secret; Kafka does not show it")
    if key.type is ValueType.UNKNOWN:
        return WhereCondition(key, operator, value, value)
    key = _wide(key)
    if key.type not in NUMBERS and operator not in ("=", "!="):
        raise ConfigurationError(f"--where: {name} is not a number; compare it with = or !=")
    try:
        operand = read_amount(key, value) if key.type in NUMBERS else read_value(key, value)
    except InvalidValue as error:
        message = str(error)
        raise ConfigurationError(f"--where: {message if name in message else f'{name}: {message}'}") from None
    return WhereCondition(key, operator, operand, value)


def _key(kind: ResourceType, name: str) -> ConfigKey:
    if kind is ResourceType.TOPIC and name in _FACTS:
        return _FACTS[name]
    if kind is ResourceType.BROKER_LOGGER:
        return ConfigKey(name=name, type=ValueType.STRING)
    key = known_key(kind, name)
    return ConfigKey(name=name, type=ValueType.UNKNOWN) if key is None else replace(key, name=name)


def _wide(key: ConfigKey) -> ConfigKey:
    """The type of the operand, without the limits of the key: a bound may exceed them."""
    return replace(key, type=ValueType.LONG) if key.type in (ValueType.INT, ValueType.SHORT) else key


# -- on a cluster ----------------------------------------------------------------------------------------------------


def find_matching(
    admin: SyncAdminClient, resources: Sequence[Resource], conditions: Sequence[WhereCondition]
) -> Matches:
    """The resources for which all conditions hold."""
    found = Matches()
    facts = _facts(admin, resources, conditions, found)
    present = [each for each in resources if each not in found.failures]
    configs, types = _configs(admin, present, conditions, found)
    conditions = [_known(each, types, resources) if each.is_unknown else each for each in conditions]
    for resource in resources:
        if resource in found.failures:
            continue
        values = {**facts.get(resource, {}), **configs.get(resource, {})}
        hidden = {each.key.name for each in conditions} - values.keys()
        for name in sorted(hidden):
            found.not_shown[name] = found.not_shown.get(name, 0) + 1
        if not hidden and all(each.holds(values) for each in conditions):
            found.values[resource] = {each.key.name: values[each.key.name] for each in conditions}
    return found


def _known(condition: WhereCondition, types: Mapping[str, ValueType], resources: Sequence[Resource]) -> WhereCondition:
    """Resolve a condition on a key that kconf does not know. If the cluster does not show it either, raise an error."""
    name = condition.key.name
    if name in types:
        return condition.typed(types[name] if types[name] is not ValueType.UNKNOWN else ValueType.STRING)
    kinds = {each.type for each in resources}
    if not resources or Resource.brokers() in resources:
        return condition
    near = next(filter(None, (similar_key(kind, name) for kind in kinds)), None)
    advice = f"did you mean {near}?" if near else "docs/reference/keys.md lists the keys"
    raise ConfigurationError(f"--where: {name} is not a key of a {min(kinds).word}; {advice}")


def _facts(
    admin: SyncAdminClient, resources: Sequence[Resource], conditions: Sequence[WhereCondition], found: Matches
) -> dict[Resource, dict[str, str]]:
    if not any(each.key.name in _FACTS for each in conditions):
        return {}
    described = admin.describe_topics([each.name for each in resources])
    found.failures.update({Resource.topic(str(name)): failure for name, failure in described.failures.items()})
    topics = {each: described[each.name] for each in resources if each not in found.failures}
    return {
        each: {"partitions": str(len(topic.partitions)), "replication-factor": str(replication_factor(topic))}
        for each, topic in topics.items()
    }


def _configs(
    admin: SyncAdminClient, resources: Sequence[Resource], conditions: Sequence[WhereCondition], found: Matches
) -> tuple[dict[Resource, dict[str, str]], dict[str, ValueType]]:
    """The values of each resource, and the types of the keys, from the cluster."""
    wanted = {each.key.name: each.key for each in conditions if each.key.name not in _FACTS}
    names = tuple(dict.fromkeys([*wanted, *(FOLLOWS[name] for name in wanted if name in FOLLOWS)]))
    if not wanted or not resources:
        return {}, {}
    described = admin.describe_configs(resources, keys=dict.fromkeys(resources, names), synonyms=True)
    found.failures.update(described.failures)
    inheritance = Inheritance(admin)
    values: dict[Resource, dict[str, str]] = {}
    types: dict[str, ValueType] = {}
    for resource in resources:
        if resource in found.failures:
            continue
        types.update({each.name: each.type for each in described[resource].entries})
        entries = {each.name: each for each in described[resource].entries}
        shown = {
            name: inheritance.effective(resource, entry, wanted.get(name)) if name in wanted else entry.value
            for name, entry in entries.items()
        }
        values[resource] = {name: value for name, value in shown.items() if value is not None}
    return values, types
