"""Rules about risks: `forbid` refuses a change with the risk, `allow` accepts it without confirmation.

If several rules about a risk match a resource, the last one decides. A risk of a broker config is a risk for the topics
that inherit the value, so rules about topics apply to it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kconf.engine.policy.selectors import RuleSelector, Severity
from kconf.engine.risks import Risk, RiskName
from kconf.model.resource import Resource, ResourceType

Labels = Callable[[Resource], Mapping[str, str]]


@dataclass(frozen=True)
class RiskRule:
    """A rule that forbids or allows risks of the resources that one of its selectors selects."""

    id: str
    selectors: tuple[RuleSelector, ...]
    risks: frozenset[RiskName]
    allows: bool = False
    message: str = ""
    severity: Severity = Severity.ERROR

    @property
    def types(self) -> frozenset[ResourceType]:
        return frozenset(each.type for each in self.selectors)

    def selects(self, resource: Resource, labels: Labels) -> bool:
        return any(each.selects(resource, labels(resource) if each.labels else {}) for each in self.selectors)

    def sentence(self, risk: Risk) -> str:
        fact = f"{risk.name} is forbidden: {risk.why} (rule {self.id})"
        return f"{self.message}: {fact}" if self.message else fact


def forbidding(rules: Sequence[RiskRule], resource: Resource, risk: Risk, labels: Labels) -> RiskRule | None:
    """The rule that forbids a risk of a change, if there is one."""
    decided = (_deciding(rules, each, risk.name, labels) for each in _concerned(resource, risk))
    return next((rule for rule in decided if rule is not None and not rule.allows), None)


def is_allowed(rules: Sequence[RiskRule], resource: Resource, risk: Risk, labels: Labels) -> bool:
    """Whether rules allow a risk of a change: for the resource, or for every topic that inherits the value."""
    if forbidding(rules, resource, risk, labels) is not None:
        return False
    own, *topics = (_deciding(rules, each, risk.name, labels) for each in _concerned(resource, risk))
    return own is not None or (bool(topics) and all(each is not None for each in topics))


def _concerned(resource: Resource, risk: Risk) -> Iterable[Resource]:
    return (resource, *(Resource.topic(name) for name in risk.topics))


def _deciding(rules: Sequence[RiskRule], resource: Resource, name: RiskName, labels: Labels) -> RiskRule | None:
    found = (each for each in reversed(rules) if name in each.risks and each.selects(resource, labels))
    return next(found, None)
