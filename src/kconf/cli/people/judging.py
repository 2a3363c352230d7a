"""A context's policy file, evaluated here, so that its rules hold on any cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError, ErrorCode, Failure, KafkaError
from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.cli.people.answers import Answer
    from kconf.cli.people.edits import Edit, Plan
    from kconf.cli.people.target import Target
    from kconf.client.sync import SyncAdminClient
    from kconf.engine.policy_rules import Rules
    from kconf.model.entry import View
    from kconf.model.resource import Resource


def judged(target: Target, admin: SyncAdminClient, plan: Plan, answer: Answer) -> Plan:
    """The plan, with the failures of those whom a rule refuses; warnings become notes."""
    if target.context.policy is None:
        return plan
    rules = load_policy(target.context.policy)
    kinds = frozenset(kind for rule in rules.rules for kind in rule.types)
    by_resource: dict[Resource, list[Edit]] = {}
    for edit in plan.edits:
        if edit.resource not in plan.failures and edit.resource.type in kinds and not edit.unchanged:
            by_resource.setdefault(edit.resource, []).append(edit)
    if not by_resource:
        return plan
    failures = dict(plan.failures)
    described = admin.describe_configs(by_resource)
    shapes = _shapes(admin, rules, list(by_resource))
    for resource, edits in by_resource.items():
        unread = described.failures.get(resource)
        verdict = unread or _verdict(rules, resource, edits, described[resource], shapes, answer)
        if verdict is not None:
            failures[resource] = verdict
    return plan._replace(failures=failures)


def load_policy(path: str) -> Rules:
    from kconf.engine.policy_yaml import read_rules
    from kconf.keys.catalogue import kafka_43

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
    edits: Sequence[Edit],
    view: View,
    shapes: Mapping[str, tuple[int, int]],
    answer: Answer,
) -> Failure | None:
    from kconf.cli.people.edits import own_source
    from kconf.engine.policy_rules import Severity, Subject

    values = {entry.name: entry.value for entry in view.entries if entry.value is not None}
    overrides = {entry.name for entry in view.entries if entry.source == own_source(resource)}
    for edit in edits:
        (overrides.discard if edit.after is None else overrides.add)(edit.key)
        if edit.new is None:
            values.pop(edit.key, None)
        else:
            values[edit.key] = edit.new
    shape = shapes.get(resource.name, (None, None)) if resource.type is ResourceType.TOPIC else (None, None)
    findings = rules.judge(Subject(resource, values, overrides, *shape), [each.key for each in edits])
    answer.notes += [f"{resource}: warning: {each.text}" for each in findings if each.rule.severity is Severity.WARN]
    errors = [each.text for each in findings if each.rule.severity is Severity.ERROR]
    return Failure(ErrorCode.POLICY_VIOLATION, "; ".join(errors)) if errors else None


def _shapes(admin: SyncAdminClient, rules: Rules, resources: Sequence[Resource]) -> dict[str, tuple[int, int]]:
    """Partitions and replication factors of topics, where a rule asks for them."""
    from kconf.engine.policy_rules import PARTITIONS, REPLICATION_FACTOR

    counted = {PARTITIONS.name, REPLICATION_FACTOR.name}
    if not any(counted & rule.keys for rule in rules.rules):
        return {}
    names = [each.name for each in resources if each.type is ResourceType.TOPIC]
    try:
        found = admin.describe_topics(names)
    except KafkaError:
        return {}  # then a rule about counts finds none
    return {
        name: (len(found[name].partitions), len(found[name].partitions[0].replicas))
        for name in names
        if name not in found.failures and found[name].partitions
    }
