"""Policies: the rules of the context's policy file, and the resources that violate them now, with owners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kconf.console.changes.form import CHANGEABLE
from kconf.console.links import change_path, page_path
from kconf.console.page import Page, PageRequest, PageRoute
from kconf.console.pages.parameters import Paging, paging
from kconf.engine.policy.conditions import FACTS, Rule
from kconf.engine.policy.selectors import Severity
from kconf.errors import ConfigurationError
from kconf.model.resource import ResourceType
from kconf.operations.policy.check import load_policy
from kconf.operations.policy.report import NotListed, evaluate_state

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.console.console import Console
    from kconf.engine.policy.risk_rules import RiskRule
    from kconf.engine.policy.rules import Finding, Rules
    from kconf.engine.policy.selectors import RuleSelector
    from kconf.model.resource import Resource

SIZE: Final = 100
FIELDS: Final = ("q", "rule", "severity", "owner")
NO_POLICY: Final = (
    "This context has no policy; add a `policy:` file to it. A server may enforce rules of its own, which it does not "
    "show."
)
ONLY_NOW: Final = (
    "Broker values that new topics would inherit are not checked here; `kconf policy test` also checks them."
)
MOST_OWNERS: Final = 20
_MOST_FAILURES: Final = 5
_PATIENCE: Final = 60.0  # seconds


@dataclass(frozen=True)
class RuleRow:
    """A rule of the file. `key` is None for a rule about risks."""

    id: str
    severity: str
    applies_to: Sequence[str]
    key: str | None
    conditions: Sequence[str]
    message: str
    violations: int
    path: str


@dataclass(frozen=True)
class ViolationRow:
    """`owner` is None if unknown."""

    resource: str
    path: str | None
    owner: str | None
    severity: str
    rule: str
    key: str | None
    finding: str
    change: str | None


@dataclass(frozen=True)
class OwnerCount:
    """The number of violations of an owner; `path` is the page that lists them. The owner is None if unknown."""

    owner: str | None
    violations: int
    path: str | None


@dataclass(frozen=True)
class PoliciesPage:
    """`evaluated` and `total` are None if nothing could be evaluated."""

    file: str | None
    rules: Sequence[RuleRow]
    owners: Sequence[OwnerCount]
    fields: dict[str, str]
    rows: Sequence[ViolationRow]
    matching: int
    total: int | None
    errors: int
    evaluated: int | None
    paging: Paging
    error: str | None
    notes: Sequence[str]


@dataclass(frozen=True)
class PolicyReview:
    """The violations in a state, the number of resources checked, and what could not be checked. `owners` is sorted by
    count.
    """

    findings: Sequence[Finding]
    owners: Sequence[tuple[str | None, int]]
    evaluated: int
    notes: Sequence[str]


def policies(request: PageRequest) -> Page:
    cluster = request.cluster
    path, snapshot = cluster.target.context.policy, cluster.snapshot
    rules, verdict, error = None, None, None
    if path is not None:
        try:
            rules = _loaded(path, _stamp(path))
            verdict = _verdict(path, snapshot) if snapshot.is_read else None
        except ConfigurationError as failure:
            error = str(failure)
    return Page("policies.html", _page(request, path, rules, verdict, error), "Policies", "policies")


def warm(console: Console) -> None:
    """Evaluate everything once in advance. Later, only what has changed is evaluated again."""
    for name in () if console.settings.login else console.contexts:
        monitor = console.monitors.monitor(name, None)
        path, snapshot = monitor.target.context.policy, monitor.wait(_PATIENCE)
        if path is not None and snapshot.is_read:
            with suppress(ConfigurationError):  # the page shows the error
                _verdict(path, snapshot)


def _verdict(path: str, snapshot: ClusterSnapshot) -> PolicyReview:
    stamp = _stamp(path)
    rules = _loaded(path, stamp)
    return snapshot.derived(("policy", stamp), lambda each: _evaluated(each, rules, stamp))


def _stamp(path: str) -> str:
    """A value that changes when the file changes."""
    try:
        found = Path(path).stat()
    except OSError as error:
        raise ConfigurationError(f"cannot read the policy {path}: {error.strerror}") from None
    return f"{path} {found.st_mtime_ns} {found.st_size}"


@lru_cache(maxsize=16)
def _loaded(path: str, _stamp: str) -> Rules:
    return load_policy(path)


def _evaluated(snapshot: ClusterSnapshot, rules: Rules, stamp: str) -> PolicyReview:
    findings: list[Finding] = []
    failures: list[str] = []
    evaluated, notes = 0, []
    for each in evaluate_state(snapshot.state, rules, stamp):
        if isinstance(each, NotListed):
            words = " and ".join(kind.word for kind in each.types)
            notes.append(f"Not all {words} resources can be read; whether they violate a rule is unknown.")
        elif each.failure is not None:
            failures.append(f"{each.resource} ({each.failure.code.name})")
        else:
            evaluated += 1
            findings += each.findings
    if failures:
        more = f" and {len(failures) - _MOST_FAILURES:,} more" if len(failures) > _MOST_FAILURES else ""
        notes.append(f"Unknown, because not readable: {', '.join(failures[:_MOST_FAILURES])}{more}.")
    findings.sort(key=lambda each: (each.rule.severity, str(each.resource)))
    owners = Counter(_owner(snapshot, rules, each.resource) for each in findings)
    return PolicyReview(findings, owners.most_common(), evaluated, notes)


def _page(
    request: PageRequest, path: str | None, rules: Rules | None, verdict: PolicyReview | None, error: str | None
) -> PoliciesPage:
    fields = {each: request.query.get(each, "").strip() for each in FIELDS}
    findings = [] if verdict is None else verdict.findings
    all_rules: list[Rule | RiskRule] = [] if rules is None else [*rules.rules, *rules.risk_rules]
    chosen = [] if rules is None else _chosen(request, rules, findings, fields)
    place, part = paging(request, len(chosen), SIZE)
    shown = chosen[part]
    counts = Counter(each.rule.id for each in findings)
    notes = [NO_POLICY] if path is None else [*(verdict.notes if verdict else ()), ONLY_NOW] if rules else []
    if rules is not None and verdict is None:
        notes.append("The cluster has not been read yet: violations are unknown.")
    return PoliciesPage(
        file=path,
        rules=[_rule(request, each, counts) for each in all_rules],
        owners=[
            OwnerCount(owner, count, None if owner is None else request.url(owner=owner, page=None))
            for owner, count in (() if verdict is None else verdict.owners[:MOST_OWNERS])
        ],
        fields=fields,
        rows=[] if rules is None else [_row(request, rules, each) for each in shown],
        matching=len(chosen),
        total=None if verdict is None else len(findings),
        errors=sum(each.rule.severity is Severity.ERROR for each in findings),
        evaluated=None if verdict is None else verdict.evaluated,
        paging=place,
        error=error,
        notes=notes,
    )


def _chosen(
    request: PageRequest, rules: Rules, findings: Sequence[Finding], fields: dict[str, str]
) -> Sequence[Finding]:
    rule, severity, owner, word = (fields[each] for each in ("rule", "severity", "owner", "q"))
    found = [each for each in findings if rule in ("", each.rule.id) and severity in ("", each.rule.severity)]
    snapshot = request.cluster.snapshot
    if owner:
        found = [each for each in found if _owner(snapshot, rules, each.resource) == owner]
    return [each for each in found if word.lower() in f"{each.resource} {each.text}".lower()] if word else found


def _rule(request: PageRequest, rule: Rule | RiskRule, counts: Counter[str]) -> RuleRow:
    if isinstance(rule, Rule):
        key: str | None = rule.key.name
        conditions = [f"{each.operator} {each.text}".strip() for each in rule.conditions]
    else:
        key, conditions = None, [f"{'allows' if rule.allows else 'forbids'} {', '.join(sorted(rule.risks))}"]
    return RuleRow(
        rule.id,
        str(rule.severity),
        [_selected(each) for each in rule.selectors],
        key,
        conditions,
        rule.message,
        counts[rule.id],
        request.url(rule=rule.id, page=None),
    )


def _selected(selector: RuleSelector) -> str:
    """A selector as text, such as `topic orders.*, except orders.test, team=payments`."""
    names = ", ".join(each.text for each in selector.names.patterns)
    parts = [f"{selector.type.word} {names or '(all)'}"]
    if selector.excepted:
        parts.append(f"except {', '.join(each.text for each in selector.excepted)}")
    return ", ".join([*parts, *(f"{name}={value}" for name, value in selector.labels)])


def _row(request: PageRequest, rules: Rules, finding: Finding) -> ViolationRow:
    resource, rule = finding.resource, finding.rule
    key = rule.key.name if isinstance(rule, Rule) else None
    can_change = resource.type in CHANGEABLE and key not in FACTS and request.cluster.can_change
    context = str(request.context)
    return ViolationRow(
        str(resource),
        page_path(context, resource),
        _owner(request.cluster.snapshot, rules, resource),
        str(rule.severity),
        rule.id,
        key,
        finding.text,
        change_path(context, [resource]) if can_change else None,
    )


def _owner(snapshot: ClusterSnapshot, rules: Rules, resource: Resource) -> str | None:
    """The owner, from the lake of the context or a label of the policy file."""
    lake = snapshot.lake
    if resource.type is ResourceType.TOPIC and lake is not None and resource.name in lake.owners:
        return lake.owners[resource.name]
    return rules.labels(resource).get("owner")


PAGES = (PageRoute("/{context}/policies", policies),)
