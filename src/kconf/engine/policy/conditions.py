"""One rule: the conditions that must hold, and whether they hold on a `Subject`.

A subject is a resource, its effective values and its overrides. A rule uses nothing else, so the same rules check a
request on the server, a plan on the client and a table in the pipeline.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from math import inf
from typing import Final, NamedTuple

from kconf.configdef.java.parsing import Value, parse
from kconf.configdef.key import ConfigKey
from kconf.configdef.units import FOLLOWS, MINUS_ONE_IS_UNLIMITED, unit_of
from kconf.configdef.validators import collapse
from kconf.engine.policy.regex import LONGEST, compile_regex
from kconf.engine.policy.selectors import RuleSelector, Severity
from kconf.model.entry import ValueType
from kconf.model.resource import Resource, ResourceType

PARTITIONS: Final = ConfigKey(name="partitions", type=ValueType.INT)
REPLICATION_FACTOR: Final = ConfigKey(name="replication_factor", type=ValueType.INT)
NAME: Final = ConfigKey(name="name", type=ValueType.STRING)
FACTS: Final = {key.name: key for key in (PARTITIONS, REPLICATION_FACTOR, NAME)}
"""Properties of a topic that rules may use in addition to its keys."""


class Operator(StrEnum):
    """The operator of a condition. Relations compare a value with that of another key."""

    MIN = "min"
    MAX = "max"
    EQUALS = "equals"
    ONE_OF = "one_of"
    NOT_ONE_OF = "not_one_of"
    MATCHES = "matches"
    CONTAINS = "contains"
    EXCLUDES = "excludes"
    REQUIRED = "required"
    FORBIDDEN = "forbidden"
    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    ABOVE = "above"
    BELOW = "below"


RELATIONS: Final = frozenset([Operator.AT_LEAST, Operator.AT_MOST, Operator.ABOVE, Operator.BELOW])
_COMPARISONS: Final = RELATIONS | {Operator.MIN, Operator.MAX}
ABOUT_OVERRIDES: Final = frozenset([Operator.REQUIRED, Operator.FORBIDDEN])


@dataclass(frozen=True, slots=True)
class Condition:
    """An operator and what it compares with: typed values, or another key's name. `text` is the text in the file."""

    operator: Operator
    operands: tuple[Value, ...]
    text: str


@dataclass(frozen=True)
class Rule:
    """A rule of a policy. All its conditions must hold for each resource that one of its selectors matches."""

    id: str
    selectors: tuple[RuleSelector, ...]
    key: ConfigKey
    conditions: tuple[Condition, ...]
    others: Mapping[str, ConfigKey] = field(default_factory=dict)  # the keys that relations name
    message: str = ""
    severity: Severity = Severity.ERROR
    always: bool = False

    @property
    def types(self) -> frozenset[ResourceType]:
        return frozenset(each.type for each in self.selectors)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys that the rule uses: it applies to requests that change one of them."""
        named = [self.key.name, *self.others]
        return frozenset([*named, *(FOLLOWS[name] for name in named if name in FOLLOWS)])

    def evaluate(self, subject: Subject) -> Condition | None:
        """The first condition that does not hold."""
        raw = subject.value(self.key)
        value: Value | None = None
        if raw is not None:
            with suppress(ValueError):
                value = read_value(self.key, raw)
        for each in self.conditions:
            if not _holds(each, self, subject, raw, value):
                return each
        return None

    @cached_property
    def knows_labels(self) -> bool:
        return any(each.labels for each in self.selectors)

    def selects(self, resource: Resource, labels: Mapping[str, str]) -> bool:
        for each in self.selectors:  # noqa: SIM110 – the hot path of a large request
            if each.selects(resource, labels):
                return True
        return False


class Subject(NamedTuple):
    """A resource as rules see it: its effective values, the keys with an override, a topic's partitions and replicas.

    A key without a value is not in `values`; a count that is not known is None.
    """

    resource: Resource
    values: Mapping[str, str]
    overrides: Collection[str]
    partitions: int | None = None
    replication_factor: int | None = None

    def value(self, key: ConfigKey) -> str | None:
        if key is NAME:
            return self.resource.name
        if key is PARTITIONS or key is REPLICATION_FACTOR:
            count = self.partitions if key is PARTITIONS else self.replication_factor
            return None if count is None else str(count)
        return self.values.get(key.name)


def _holds(condition: Condition, rule: Rule, subject: Subject, raw: str | None, value: Value | None) -> bool:
    """A key without a value violates only `required`. One that cannot be parsed (None) violates every condition."""
    operator, operands = condition.operator, condition.operands
    if operator in ABOUT_OVERRIDES:
        return (rule.key.name in subject.overrides) == (operator is Operator.REQUIRED)
    if raw is None:
        return True
    if value is None:
        return False
    if operator in _COMPARISONS:
        try:
            return _compares(condition, rule, subject, value)
        except ValueError:  # the other key, to which this one is compared or which it follows, cannot be parsed
            return False
    match operator:
        case Operator.EQUALS | Operator.ONE_OF:
            return any(_same(value, each) for each in operands)
        case Operator.NOT_ONE_OF:
            return not any(_same(value, each) for each in operands)
        case Operator.MATCHES:
            return len(raw) <= LONGEST and compile_regex(str(operands[0]), whole=True).search(raw)
        case Operator.CONTAINS:
            return isinstance(value, tuple) and set(operands) <= set(value)
        case Operator.EXCLUDES:
            return isinstance(value, tuple) and set(operands).isdisjoint(value)
        case _:
            raise AssertionError(operator)


def _compares(condition: Condition, rule: Rule, subject: Subject, value: Value) -> bool:
    if condition.operator in RELATIONS:
        return _relates(condition, rule, subject)
    own, limit = (amount(rule.key, each, subject.values) for each in (value, condition.operands[0]))
    return own >= limit if condition.operator is Operator.MIN else own <= limit


def _relates(condition: Condition, rule: Rule, subject: Subject) -> bool:
    """Compared in one unit (hours with milliseconds); true where the other key has no value."""
    other = rule.others[str(condition.operands[0])]
    raw, other_raw = subject.value(rule.key), subject.value(other)
    if raw is None or other_raw is None:
        return True
    own = _in_common_unit(rule.key, raw, subject)
    its = _in_common_unit(other, other_raw, subject)
    match condition.operator:
        case Operator.AT_LEAST:
            return own >= its
        case Operator.AT_MOST:
            return own <= its
        case Operator.ABOVE:
            return own > its
        case _:
            return own < its


def _in_common_unit(key: ConfigKey, raw: str, subject: Subject) -> float:
    unit = unit_of(key.name)
    return amount(key, read_value(key, raw), subject.values) * (unit[1] if unit else 1)


def amount(key: ConfigKey, value: Value, values: Mapping[str, str]) -> float:
    """A number for comparison: unlimited is infinity, and local retention may be that of the whole topic."""
    assert isinstance(value, (int, float))
    if value == -1 and key.name in MINUS_ONE_IS_UNLIMITED:
        return inf
    if value == -2 and key.name in FOLLOWS:
        whole = values.get(FOLLOWS[key.name])
        return inf if whole is None or int(whole) == -1 else int(whole)
    return value


def read_value(key: ConfigKey, raw: str) -> Value:
    value = parse(key.type, raw)
    return collapse(value) if key.validator is not None and key.validator.distinct else value


def _same(value: Value, other: Value) -> bool:
    """Lists are equal in any order."""
    if isinstance(value, tuple) and isinstance(other, tuple):
        return set(value) == set(other)
    return value == other
