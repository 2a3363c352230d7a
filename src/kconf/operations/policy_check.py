"""A context's policy file, evaluated here, so that its rules hold on any cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kconf.errors import ApiError, ConfigurationError, ErrorCode, KafkaError
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.cli.common.target import Target
    from kconf.cli.output.result import CommandResult
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.policy.rules import Finding, Rules
    from kconf.model.alteration import NewTopic
    from kconf.model.cluster import CreatedTopic, TopicDescription
    from kconf.model.entry import View
    from kconf.operations.planned_change import ChangePlan, PlannedChange


_Shape = tuple[int | None, int | None]
"""How many partitions a topic has, and how many replicas each; None: no rule asks."""
_NO_SHAPE: Final[_Shape] = (None, None)


def check_policy(target: Target, admin: SyncAdminClient, plan: ChangePlan, answer: CommandResult) -> ChangePlan:
    """The plan, with the failures of those whom a rule refuses; warnings become notes."""
    from kconf.operations.planned_change import CONFIG

    if target.context.policy is None:
        return plan
    rules = load_policy(target.context.policy)
    kinds = frozenset(kind for rule in rules.rules for kind in rule.types)
    by_resource: dict[Resource, list[PlannedChange]] = {}
    for edit in plan.edits:
        if (
            edit.resource not in plan.failures
            and edit.resource.type in kinds
            and edit.kind == CONFIG
            and not edit.unchanged
        ):
            by_resource.setdefault(edit.resource, []).append(edit)
    if not by_resource:
        return plan
    failures = dict(plan.failures)
    described = admin.describe_configs(by_resource)
    shapes = _shapes(admin, rules, list(by_resource))
    for resource, edits in by_resource.items():
        shape = shapes.get(resource.name, _NO_SHAPE) if resource.type is ResourceType.TOPIC else _NO_SHAPE
        verdict: ApiError | None
        if resource in described.failures:
            verdict = described.failures[resource]
        elif isinstance(shape, ApiError):
            verdict = shape
        else:
            verdict = _verdict(rules, resource, edits, described[resource], shape, answer)
        if verdict is not None:
            failures[resource] = verdict
    return plan._replace(failures=failures)


def load_policy(path: str) -> Rules:
    from kconf.configdef.catalog import kafka_43
    from kconf.engine.policy.parser import read_rules

    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise ConfigurationError(f"the policy {path} cannot be read: {reason}") from None
    return read_rules(text, kafka_43(), path)


def _verdict(
    rules: Rules,
    resource: Resource,
    edits: Sequence[PlannedChange],
    view: View,
    shape: _Shape,
    answer: CommandResult,
) -> ApiError | None:
    from kconf.engine.policy.rules import Subject
    from kconf.model.entry import own_source

    values = {entry.name: entry.value for entry in view.entries if entry.value is not None}
    overrides = {entry.name for entry in view.entries if entry.source == own_source(resource)}
    for edit in edits:
        (overrides.discard if edit.after is None else overrides.add)(edit.key)
        if edit.new is None:
            values.pop(edit.key, None)
        else:
            values[edit.key] = edit.new
    return _told(rules.judge(Subject(resource, values, overrides, *shape), [each.key for each in edits]), answer)


def _shapes(admin: SyncAdminClient, rules: Rules, resources: Sequence[Resource]) -> dict[str, _Shape | ApiError]:
    """Partitions and replication factors of topics, where a rule asks for them; why not, where they may not be read."""
    from kconf.engine.policy.rules import PARTITIONS, REPLICATION_FACTOR

    counted = {PARTITIONS.name, REPLICATION_FACTOR.name}
    if not any(counted & rule.keys for rule in rules.rules):
        return {}
    names = [each.name for each in resources if each.type is ResourceType.TOPIC]
    try:
        found = admin.describe_topics(names)
    except KafkaError as error:
        return dict.fromkeys(names, error.failure())  # a rule that cannot be judged is not taken for kept
    shapes: dict[str, _Shape | ApiError] = {}
    for name in names:
        shapes[name] = found.failures[name] if name in found.failures else _shape(found[name])
    return shapes


def _shape(topic: TopicDescription) -> _Shape:
    return len(topic.partitions), len(topic.partitions[0].replicas) if topic.partitions else None


def judge_creation(policy: str, wish: NewTopic, made: CreatedTopic, answer: CommandResult) -> ApiError | None:
    """What a policy says of a topic that would be made, with the values that it would have."""
    from kconf.engine.policy.rules import Subject

    rules = load_policy(policy)
    configs = {key: value for key, value in wish.configs if value is not None}
    values = {each.name: each.value for each in made.config.entries if each.value} if made.config is not None else {}
    resource = Resource.topic(wish.name)
    subject = Subject(resource, {**values, **configs}, configs, made.num_partitions, made.replication_factor)
    return _told(rules.judge(subject), answer)


def judge_growth(
    policy: str, admin: SyncAdminClient, grown: Mapping[Resource, tuple[int, int]], answer: CommandResult
) -> dict[Resource, ApiError]:
    """What a policy says of topics that would have so many partitions, by topic; the second count is of replicas."""
    from kconf.engine.policy.rules import PARTITIONS, Subject
    from kconf.model.entry import own_source

    rules = load_policy(policy)
    described = admin.describe_configs(grown)
    verdicts: dict[Resource, ApiError | None] = dict(described.failures)
    for resource, shape in grown.items():
        if resource not in verdicts:
            entries = described[resource].entries
            values = {each.name: each.value for each in entries if each.value is not None}
            overrides = [each.name for each in entries if each.source == own_source(resource)]
            findings = rules.judge(Subject(resource, values, overrides, *shape), [PARTITIONS.name])
            verdicts[resource] = _told(findings, answer)
    return {resource: verdict for resource, verdict in verdicts.items() if verdict is not None}


def _told(findings: Sequence[Finding], answer: CommandResult) -> ApiError | None:
    """Warnings become notes; what an `error` rule says is a failure."""
    from kconf.engine.policy.rules import Severity

    said = {severity: [each for each in findings if each.rule.severity is severity] for severity in Severity}
    answer.notes += [f"{each.resource}: warning: {each.text}" for each in said[Severity.WARN]]
    errors = [each.text for each in said[Severity.ERROR]]
    return ApiError(ErrorCode.POLICY_VIOLATION, "; ".join(errors)) if errors else None
