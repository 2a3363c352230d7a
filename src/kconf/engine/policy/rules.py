"""Policy rules as data: which resources they select, which conditions must hold, and the message if they do not.

A rule is evaluated on a `Subject`: a resource with its effective values and overrides. It uses nothing else, so the
same rules evaluate a request on the server, a plan on the client and a table in the pipeline. Syntax: parser.py and
docs/how-to/write-a-policy.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from math import inf
from typing import Final, NamedTuple

from kconf.configdef.java.parsing import Value, parse
from kconf.configdef.key import ConfigKey
from kconf.configdef.units import FOLLOWS, UNLIMITED, unit_of
from kconf.configdef.validators import collapse
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.policy.hooks import AlterProposal, Effective, GrowthProposal, TopicProposal
from kconf.engine.policy.proposed_risks import alter_risks, creation_risks
from kconf.engine.policy.regex import LONGEST, compile_regex
from kconf.engine.policy.risk_rules import RiskRule, forbidding
from kconf.engine.policy.selectors import Labelled, RuleSelector, Severity
from kconf.engine.policy.topic_defaults import TopicDefaults
from kconf.engine.risks import Risk
from kconf.errors import PolicyViolation
from kconf.model.entry import ValueType
from kconf.model.resource import Resource, ResourceType

PARTITIONS: Final = ConfigKey(name="partitions", type=ValueType.INT)
REPLICATION_FACTOR: Final = ConfigKey(name="replication_factor", type=ValueType.INT)
NAME: Final = ConfigKey(name="name", type=ValueType.STRING)
FACTS: Final = {key.name: key for key in (PARTITIONS, REPLICATION_FACTOR, NAME)}
"""Properties of a topic that rules can use besides its keys."""

_MOST_SHOWN = 5  # violations in one sentence
_LONGEST_SHOWN = 200  # characters of a value
_MOST_REMEMBERED = 256  # sets of keys


class Operator(StrEnum):
    """The operators of conditions. Relations compare a value with that of another key."""

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
    """An operator and its operands: typed values, or another key's name. `text` is the operand as written in
    the file."""

    operator: Operator
    operands: tuple[Value, ...]
    text: str


@dataclass(frozen=True)
class Rule:
    """One sentence of the policy. All its conditions must hold on each resource that one of its selectors selects."""

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
        """The keys it uses: a request that changes one of them is evaluated."""
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
    """A resource as rules see it: the values in force, the keys that are set at the resource itself, a topic's shape.

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


class Finding(NamedTuple):
    """A rule that does not hold on a resource."""

    rule: Rule | RiskRule
    resource: Resource
    text: str


@dataclass(frozen=True)
class Rules:
    """All rules of a file, and the labels they use. As a policy it refuses what breaks an `error` rule."""

    rules: tuple[Rule, ...] = ()
    labelled: tuple[Labelled, ...] = ()
    risk_rules: tuple[RiskRule, ...] = ()

    @property
    def count(self) -> int:
        return len(self.rules) + len(self.risk_rules)

    @property
    def types(self) -> frozenset[ResourceType]:
        """The types of the resources that rules are about."""
        found: list[Rule | RiskRule] = [*self.rules, *self.risk_rules]
        return frozenset(kind for rule in found for kind in rule.types)

    def labels(self, resource: Resource) -> dict[str, str]:
        found: dict[str, str] = {}
        for each in self.labelled:
            if each.selector.selects(resource, {}):
                found.update(each.labels)
        return found

    def judge(self, subject: Subject, touched: Iterable[str] | None = None) -> list[Finding]:
        """What does not hold. `touched` are the keys that a request is about; None: all, as for a new topic."""
        resource, labels, findings = subject.resource, None, []
        for rule in self._candidates(resource.type, touched):
            if labels is None and rule.knows_labels:
                labels = self.labels(resource)
            if rule.selects(resource, labels or {}):
                broken = rule.evaluate(subject)
                if broken is not None:
                    findings.append(Finding(rule, resource, _sentence(rule, broken, subject)))
        return findings

    def check_alter(self, proposal: AlterProposal) -> list[str]:
        topic = proposal.topic
        shape = (topic.partitions, topic.replication_factor) if topic is not None else (None, None)
        subject = Subject(proposal.resource, proposal.effective, proposal.resulting, *shape)
        findings = self.judge(subject, proposal.touched)
        if proposal.defaults is not None:
            findings += self._judge_defaults(proposal.resource, proposal.touched, proposal.defaults)
        if self.risk_rules:
            findings += self.judge_risks(proposal.resource, alter_risks(proposal))
        return _verdict(findings)

    def check_create(self, proposal: TopicProposal) -> list[str]:
        subject = Subject(proposal.resource, proposal.effective, proposal.configs, *proposal.shape)
        findings = self.judge(subject)
        if self.risk_rules:
            findings += self.judge_risks(proposal.resource, creation_risks(proposal))
        return _verdict(findings)

    def check_growth(self, proposal: GrowthProposal) -> list[str]:
        topic = proposal.topic
        shape = topic.partitions, topic.replication_factor
        subject = Subject(topic.resource, proposal.effective, proposal.overrides, *shape)
        return _verdict(self.judge(subject, [PARTITIONS.name]))

    def judge_risks(self, resource: Resource, risks: Iterable[Risk]) -> list[Finding]:
        """The risks of a change that rules forbid."""
        found = ((forbidding(self.risk_rules, resource, each, self.labels), each) for each in risks)
        return [Finding(rule, resource, rule.sentence(risk)) for rule, risk in found if rule is not None]

    def about_inherited(self, keys: Collection[str]) -> list[Rule]:
        """The rules about values of these topic keys, without conditions on overrides."""
        found = [rule for rule in self._candidates(ResourceType.TOPIC, keys) if rule.keys & frozenset(keys)]
        values = [
            replace(rule, conditions=tuple(each for each in rule.conditions if each.operator not in ABOUT_OVERRIDES))
            for rule in found
        ]
        return [rule for rule in values if rule.conditions]

    def judge_inherited(
        self,
        source: Resource,
        keys: Collection[str],
        inherited: Mapping[str, str],
        topics: Callable[[], Iterable[Subject]] = tuple,
    ) -> list[Finding]:
        """Violations by topics that inherit these keys from a broker level. `topics` are as they would be after the
        change.

        A rule for all topics also applies to what future topics would inherit; a rule with names or labels applies only
        to existing topics. A topic with an override inherits nothing.
        """
        findings, wanted = [], frozenset(keys)
        for rule in self.about_inherited(wanted):
            if any(each.is_general for each in rule.selectors):
                subject = Subject(source, inherited, ())
                broken = rule.evaluate(subject)
                if broken is not None:
                    text = f"topics without an override inherit it from {source}: "
                    findings.append(Finding(rule, source, text + _sentence(rule, broken, subject)))
                    continue
            found = self._inheriting_violation(rule, wanted, topics())
            findings += [Finding(rule, source, found)] if found else []
        return findings

    def _inheriting_violation(self, rule: Rule, keys: frozenset[str], topics: Iterable[Subject]) -> str:
        for each in topics:
            if rule.keys & keys <= frozenset(each.overrides):
                continue
            if not rule.selects(each.resource, self.labels(each.resource) if rule.knows_labels else {}):
                continue
            broken = rule.evaluate(each)
            if broken is not None:
                return f"{each.resource} inherits it: {_sentence(rule, broken, each)}"
        return ""

    def _judge_defaults(self, source: Resource, touched: Collection[str], defaults: TopicDefaults) -> list[Finding]:
        keys = defaults.keys(touched)
        findings: dict[str, Finding] = {}
        for _, after in defaults.levels if keys else ():

            def topics(after: ConfigResolver = after) -> Iterator[Subject]:
                for topic, overrides in defaults.inheriting(keys):
                    shape = topic.partitions, topic.replication_factor
                    yield Subject(topic.resource, Effective(topic.resource, overrides, after), overrides, *shape)

            inherited = Effective(Resource.topic(""), {}, after)
            for each in self.judge_inherited(source, keys, inherited, topics):
                findings.setdefault(each.rule.id, each)
        return list(findings.values())

    def _candidates(self, kind: ResourceType, touched: Iterable[str] | None) -> list[Rule]:
        if touched is None:
            return [rule for rule in self.rules if kind in rule.types]
        names = frozenset(touched)
        found = self._remembered.get((kind, names))
        if found is None:
            places = {place for name in names for place in self._places.get((kind, name), ())}
            places.update(self._places.get((kind, None), ()))
            found = [self.rules[place] for place in sorted(places)]
            if len(self._remembered) < _MOST_REMEMBERED:
                self._remembered[kind, names] = found
        return found

    @cached_property
    def _remembered(self) -> dict[tuple[ResourceType, frozenset[str]], list[Rule]]:
        """A request for a thousand topics touches the same keys of each."""
        return {}

    @cached_property
    def _places(self) -> dict[tuple[ResourceType, str | None], list[int]]:
        """Rules by the keys they use; under None those that always apply."""
        places: dict[tuple[ResourceType, str | None], list[int]] = {}
        for place, rule in enumerate(self.rules):
            for kind in rule.types:
                for name in (None,) if rule.always else rule.keys:
                    places.setdefault((kind, name), []).append(place)
        return places


def _verdict(findings: Iterable[Finding]) -> list[str]:
    """The warnings; `PolicyViolation` where a rule refuses."""
    errors = [each.text for each in findings if each.rule.severity is Severity.ERROR]
    if errors:
        more = [f"and {len(errors) - _MOST_SHOWN} more"] if len(errors) > _MOST_SHOWN else []
        raise PolicyViolation("; ".join(errors[:_MOST_SHOWN] + more))
    return [each.text for each in findings]


def _holds(condition: Condition, rule: Rule, subject: Subject, raw: str | None, value: Value | None) -> bool:
    """A key that has no value breaks nothing but `required`. One that cannot be read (None) breaks every condition."""
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
        except ValueError:  # nor can the other key that it is compared with, or follows
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
    """A number to compare by: no limit is above everything, and local retention may be that of the whole."""
    assert isinstance(value, (int, float))
    if value == -1 and key.name in UNLIMITED:
        return inf
    if value == -2 and key.name in FOLLOWS:
        whole = values.get(FOLLOWS[key.name])
        return inf if whole is None or int(whole) == -1 else int(whole)
    return value


def read_value(key: ConfigKey, raw: str) -> Value:
    value = parse(key.type, raw)
    return collapse(value) if key.validator is not None and key.validator.distinct else value


def _same(value: Value, other: Value) -> bool:
    """Lists are the same in any order."""
    if isinstance(value, tuple) and isinstance(other, tuple):
        return set(value) == set(other)
    return value == other


_WORDS: Final = {
    Operator.MIN: "at least {}",
    Operator.MAX: "at most {}",
    Operator.EQUALS: "{}",
    Operator.ONE_OF: "one of {}",
    Operator.NOT_ONE_OF: "none of {}",
    Operator.MATCHES: "a match of {}",
    Operator.CONTAINS: "a list with {}",
    Operator.EXCLUDES: "a list without {}",
    Operator.AT_LEAST: "at least {}",
    Operator.AT_MOST: "at most {}",
    Operator.ABOVE: "above {}",
    Operator.BELOW: "below {}",
}


def _sentence(rule: Rule, broken: Condition, subject: Subject) -> str:
    key, operator = rule.key, broken.operator
    if operator in ABOUT_OVERRIDES:
        fact = f"{key.name} must {'' if operator is Operator.REQUIRED else 'not '}be set on {subject.resource}"
    else:
        wanted = _WORDS[operator].format(broken.text)
        if operator in RELATIONS:
            other = rule.others[str(broken.operands[0])]
            wanted += f" ({_shown(subject.value(other))})"
        value = "[hidden]" if key.sensitive else _shown(subject.value(key))
        fact = f"{key.name} is {value} but must be {wanted}"
    return f"{rule.message}: {fact} (rule {rule.id})" if rule.message else f"{fact} (rule {rule.id})"


def _shown(raw: str | None) -> str:
    if not raw:
        return "empty" if raw == "" else "not set"
    return raw if len(raw) <= _LONGEST_SHOWN else raw[:_LONGEST_SHOWN] + "…"
