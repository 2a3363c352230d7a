"""All rules of a file: which of them apply to a resource, and the message if one does not hold.

One rule and its conditions are in conditions.py. Syntax: parser.py and docs/how-to/write-a-policy.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.policy.conditions import (
    ABOUT_OVERRIDES,
    PARTITIONS,
    RELATIONS,
    Condition,
    Operator,
    Rule,
    Subject,
)
from kconf.engine.policy.hooks import AlterProposal, Effective, GrowthProposal, TopicProposal
from kconf.engine.policy.proposed_risks import alter_risks, creation_risks
from kconf.engine.policy.risk_rules import RiskRule, forbidding
from kconf.engine.policy.selectors import Labelled, Severity
from kconf.engine.policy.topic_defaults import TopicDefaults
from kconf.engine.risks import Risk
from kconf.errors import PolicyViolation
from kconf.model.resource import Resource, ResourceType

_MOST_SHOWN = 5  # violations in one sentence
_LONGEST_SHOWN = 200  # characters of a value
_MOST_REMEMBERED = 256  # sets of keys


class Finding(NamedTuple):
    """A rule that does not hold on a resource."""

    rule: Rule | RiskRule
    resource: Resource
    text: str


@dataclass(frozen=True)
class Rules:
    """All rules of a file, and the labels they use. As a policy, they refuse changes that violate an `error` rule."""

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

    def evaluate(self, subject: Subject, touched: Iterable[str] | None = None) -> list[Finding]:
        """The violations. `touched` are the keys that a request changes; None: all, as for a new topic."""
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
        findings = self.evaluate(subject, proposal.touched)
        if proposal.defaults is not None:
            findings += self._evaluate_defaults(proposal.resource, proposal.touched, proposal.defaults)
        if self.risk_rules:
            findings += self.evaluate_risks(proposal.resource, alter_risks(proposal))
        return _verdict(findings)

    def check_create(self, proposal: TopicProposal) -> list[str]:
        subject = Subject(proposal.resource, proposal.effective, proposal.configs, *proposal.shape)
        findings = self.evaluate(subject)
        if self.risk_rules:
            findings += self.evaluate_risks(proposal.resource, creation_risks(proposal))
        return _verdict(findings)

    def check_growth(self, proposal: GrowthProposal) -> list[str]:
        topic = proposal.topic
        shape = topic.partitions, topic.replication_factor
        subject = Subject(topic.resource, proposal.effective, proposal.overrides, *shape)
        return _verdict(self.evaluate(subject, [PARTITIONS.name]))

    def evaluate_risks(self, resource: Resource, risks: Iterable[Risk]) -> list[Finding]:
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

    def evaluate_inherited(
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
                    text = f"topics without an override inherit this value from {source}: "
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

    def _evaluate_defaults(self, source: Resource, touched: Collection[str], defaults: TopicDefaults) -> list[Finding]:
        keys = defaults.keys(touched)
        findings: dict[str, Finding] = {}
        for _, after in defaults.levels if keys else ():

            def topics(after: ConfigResolver = after) -> Iterator[Subject]:
                for topic, overrides in defaults.inheriting(keys):
                    shape = topic.partitions, topic.replication_factor
                    yield Subject(topic.resource, Effective(topic.resource, overrides, after), overrides, *shape)

            inherited = Effective(Resource.topic(""), {}, after)
            for each in self.evaluate_inherited(source, keys, inherited, topics):
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
        """Cached, because a request for many topics usually changes the same keys of each."""
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
    """The warnings. Raises `PolicyViolation` if an `error` rule is violated."""
    errors = [each.text for each in findings if each.rule.severity is Severity.ERROR]
    if errors:
        more = [f"and {len(errors) - _MOST_SHOWN} more"] if len(errors) > _MOST_SHOWN else []
        raise PolicyViolation("; ".join(errors[:_MOST_SHOWN] + more))
    return [each.text for each in findings]


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
