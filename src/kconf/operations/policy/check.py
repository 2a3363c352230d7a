"""A context's policy file, evaluated on the client, so that its rules apply to any cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kconf.errors import ApiError, ConfigurationError, KafkaError
from kconf.model.resource import Resource, ResourceType
from kconf.operations.planned_change import CONFIG
from kconf.operations.policy.inherited import check_inherited
from kconf.operations.policy.verdicts import PolicyFindings, verdict_of

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.policy.conditions import Subject
    from kconf.engine.policy.rules import Finding, Rules
    from kconf.model.alteration import NewTopic
    from kconf.model.cluster import CreatedTopic, TopicDescription
    from kconf.model.entry import View
    from kconf.operations.planned_change import ChangePlan, PlannedChange

TopicCounts = tuple[int | None, int | None]
"""The partitions and replicas of a topic; None if no rule needs them."""
NO_COUNTS: Final[TopicCounts] = (None, None)


def load_policy(path: str) -> Rules:
    from kconf.configdef.releases.catalogs import every_release
    from kconf.engine.policy.parser import read_rules

    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"cannot read the policy {path}: {reason}") from None
    return read_rules(text, every_release(), path)


def with_verdicts(plan: ChangePlan, verdicts: Mapping[Resource, PolicyFindings]) -> ChangePlan:
    """The plan with the policy's warnings, and failures for resources that it refuses."""
    failures = {each: verdict.failure for each, verdict in verdicts.items() if verdict.failure is not None}
    warnings = tuple(warning for verdict in verdicts.values() for warning in verdict.warnings)
    return plan._replace(failures={**plan.failures, **failures}, warnings=(*plan.warnings, *warnings))


def check_policy(policy: str | None, admin: SyncAdminClient, plan: ChangePlan) -> ChangePlan:
    """Check the config changes of a plan. Without a policy, returns it unchanged."""
    if policy is None:
        return plan
    rules = load_policy(policy)
    plan = _check_risks(rules, plan)
    plan = with_verdicts(plan, check_inherited(rules, admin, plan))
    by_resource = _checked_changes(rules, plan)
    if not by_resource:
        return plan
    described = admin.describe_configs(by_resource)
    shapes = _shapes(admin, rules, list(by_resource))
    verdicts: dict[Resource, PolicyFindings] = {}
    for resource, changes in by_resource.items():
        shape = shapes.get(resource.name, NO_COUNTS) if resource.type is ResourceType.TOPIC else NO_COUNTS
        if resource in described.failures:
            verdicts[resource] = PolicyFindings(described.failures[resource])
        elif isinstance(shape, ApiError):
            verdicts[resource] = PolicyFindings(shape)
        else:
            subject = _changed(resource, described[resource], changes, shape)
            verdicts[resource] = verdict_of(rules.evaluate(subject, [each.key for each in changes]))
    return with_verdicts(plan, verdicts)


def _check_risks(rules: Rules, plan: ChangePlan) -> ChangePlan:
    """The plan with failures for resources whose risk a rule forbids. An allowed risk needs no `--allow-…`."""
    if not rules.risk_rules:
        return plan
    from kconf.engine.policy.risk_rules import is_allowed

    findings: dict[Resource, list[Finding]] = {}
    changes = []
    for change in plan.changes:
        found = [] if change.unchanged else rules.evaluate_risks(change.resource, change.risks)
        findings.setdefault(change.resource, []).extend(found)
        allowed = [is_allowed(rules.risk_rules, change.resource, each, rules.labels) for each in change.risks]
        risks = tuple(each._replace(allowed=is_) for each, is_ in zip(change.risks, allowed, strict=True))
        changes.append(change._replace(risks=risks))
    verdicts = {each: verdict_of(found) for each, found in findings.items() if found and each not in plan.failures}
    return with_verdicts(plan._replace(changes=changes), verdicts)


def _checked_changes(rules: Rules, plan: ChangePlan) -> dict[Resource, list[PlannedChange]]:
    """The config changes that a rule may apply to."""
    kinds = frozenset(kind for rule in rules.rules for kind in rule.types)
    found: dict[Resource, list[PlannedChange]] = {}
    for change in plan.changes:
        if change.kind == CONFIG and change.resource.type in kinds and not change.unchanged:
            found.setdefault(change.resource, []).append(change)
    return {each: changes for each, changes in found.items() if each not in plan.failures}


def subject_of(resource: Resource, view: View, shape: TopicCounts) -> Subject:
    """A resource for rules: its effective values, and which of them are set on the resource itself."""
    from kconf.engine.policy.conditions import Subject
    from kconf.model.entry import own_source

    own = own_source(resource)
    values = {entry.name: entry.value for entry in view.entries if entry.value is not None}
    return Subject(resource, values, frozenset(entry.name for entry in view.entries if entry.source == own), *shape)


def _changed(resource: Resource, view: View, changes: Sequence[PlannedChange], shape: TopicCounts) -> Subject:
    """A resource for rules, after the changes."""
    from kconf.engine.policy.conditions import Subject

    now = subject_of(resource, view, shape)
    values, overrides = dict(now.values), set(now.overrides)
    for change in changes:
        (overrides.discard if change.after is None else overrides.add)(change.key)
        if change.new is None:
            values.pop(change.key, None)
        else:
            values[change.key] = change.new
    return Subject(resource, values, overrides, *shape)


def _shapes(admin: SyncAdminClient, rules: Rules, resources: Sequence[Resource]) -> dict[str, TopicCounts | ApiError]:
    """Partitions and replication factors of topics if a rule needs them, or why they cannot be read."""
    from kconf.engine.policy.conditions import PARTITIONS, REPLICATION_FACTOR

    counted = {PARTITIONS.name, REPLICATION_FACTOR.name}
    if not any(counted & rule.keys for rule in rules.rules):
        return {}
    names = [each.name for each in resources if each.type is ResourceType.TOPIC]
    try:
        found = admin.describe_topics(names)
    except KafkaError as error:
        return dict.fromkeys(names, error.failure())  # a rule that cannot be evaluated refuses
    return {name: found.failures[name] if name in found.failures else _shape(found[name]) for name in names}


def _shape(topic: TopicDescription) -> TopicCounts:
    return len(topic.partitions), len(topic.partitions[0].replicas) if topic.partitions else None


def check_creation(rules: Rules, topic: NewTopic, created: CreatedTopic) -> PolicyFindings:
    """Check a topic that would be created, with the values that it would get from the cluster."""
    from kconf.engine.policy.conditions import Subject

    configs = {key: value for key, value in topic.configs if value is not None}
    shape: TopicCounts = None, None
    values = configs
    if not isinstance(created.details, ApiError):
        shape = created.num_partitions, created.replication_factor
        values = {**{each.name: each.value for each in created.config.entries if each.value}, **configs}
    return verdict_of(rules.evaluate(Subject(Resource.topic(topic.name), values, configs, *shape)))


def check_growth(
    rules: Rules, admin: SyncAdminClient, grown: Mapping[Resource, tuple[int, int]]
) -> dict[Resource, PolicyFindings]:
    """Check topics by their future partitions and replication factor."""
    from kconf.engine.policy.conditions import PARTITIONS

    described = admin.describe_configs(grown)
    verdicts = {each: PolicyFindings(failure) for each, failure in described.failures.items()}
    for resource, shape in grown.items():
        if resource not in verdicts:
            subject = subject_of(resource, described[resource], shape)
            verdicts[resource] = verdict_of(rules.evaluate(subject, [PARTITIONS.name]))
    return verdicts
