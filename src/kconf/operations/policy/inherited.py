"""Evaluates rules about topics on values inherited from brokers: rules apply to defaults as well as overrides."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kconf.configdef.lookup import known_key
from kconf.errors import ApiError, ErrorCode, KafkaError
from kconf.model.entry import Source
from kconf.model.resource import Resource, ResourceType
from kconf.operations.policy.verdicts import PolicyFindings, verdict_of
from kconf.operations.risks.inheritance import Inheritance, InheritedValue, topic_keys_of

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.policy.conditions import Subject
    from kconf.engine.policy.rules import Finding, Rules
    from kconf.operations.planned_change import ChangePlan, PlannedChange

_UNKNOWN = ApiError(
    ErrorCode.POLICY_VIOLATION,
    "cannot evaluate the policy: inherited values are unknown, because not all brokers and topics can be read",
)


def check_inherited(rules: Rules, admin: SyncAdminClient, plan: ChangePlan) -> dict[Resource, PolicyFindings]:
    """The results for broker-level changes that affect topics."""
    brokers: dict[Resource, set[str]] = {}
    for each in plan.changes:
        if each.resource.type is ResourceType.BROKER and not each.unchanged and each.resource not in plan.failures:
            keys = {key.name for key in topic_keys_of(each.key)}
            brokers.setdefault(each.resource, set()).update(keys)
    verdicts: dict[Resource, PolicyFindings] = {}
    inherited = InheritedSubjects(admin, rules, plan.changes)
    for resource, keys in brokers.items():
        if rules.about_inherited(keys):
            found = inherited.evaluate(resource, keys)
            verdicts[resource] = PolicyFindings(_UNKNOWN) if found is None else verdict_of(found)
    return verdicts


def evaluate_defaults(rules: Rules, admin: SyncAdminClient) -> Iterator[tuple[Resource, list[Finding]]]:
    """Check the values that new topics would inherit from dynamic broker configs, broker by broker."""
    keys = {name for rule in rules.rules if ResourceType.TOPIC in rule.types for name in rule.keys}
    inherited = InheritedSubjects(admin, rules, ())
    by_node: dict[int, list[str]] = {}
    for name in sorted(keys):
        for each in inherited.values(name) or ():
            if each.is_dynamic:
                by_node.setdefault(each.node, []).append(name)
    for node, names in sorted(by_node.items()):
        yield Resource.broker(node), rules.evaluate_inherited(Resource.broker(node), names, inherited.at(node, names))


class InheritedSubjects:
    """The values that topics inherit from each broker after the changes, and the topics themselves."""

    def __init__(self, admin: SyncAdminClient, rules: Rules, changes: Sequence[PlannedChange]) -> None:
        self._admin, self._rules, self._changes = admin, rules, changes
        self._inheritance = Inheritance(admin)

    def values(self, name: str) -> list[InheritedValue] | None:
        key = known_key(ResourceType.TOPIC, name)
        if key is None or not key.fallbacks:
            return []
        return self._inheritance.of_topics(key, self._changes)

    def at(self, node: int, keys: Collection[str]) -> dict[str, str]:
        """The values that topics inherit from a broker, for all keys used by rules about topics."""
        names = {name for rule in self._rules.about_inherited(keys) for name in rule.keys}
        found = {name: each for name in names for each in self.values(name) or () if each.node == node}
        return {name: each.new for name, each in found.items() if each.new is not None}

    def evaluate(self, resource: Resource, keys: Collection[str]) -> list[Finding] | None:
        """The findings; None if brokers or topics cannot be read."""
        findings: dict[str, Finding] = {}
        try:
            if any(self.values(name) is None for name in keys):
                return None
            for node in self._inheritance.nodes:
                if resource.name not in ("", str(node)):
                    continue
                inherited = self.at(node, keys)

                def topics(inherited: Mapping[str, str] = inherited) -> Iterator[Subject]:
                    return self._topics(keys, inherited)

                for each in self._rules.evaluate_inherited(resource, keys, inherited, topics):
                    findings.setdefault(each.rule.id, each)
        except KafkaError:
            return None
        return list(findings.values())

    def _topics(self, keys: Collection[str], inherited: Mapping[str, str]) -> Iterator[Subject]:
        """The topics with the values that they would have. Raises KafkaError if one cannot be read."""
        from kconf.engine.policy.conditions import Subject

        listed = self._admin.list_topics(internal=True)
        names = sorted({name for rule in self._rules.about_inherited(keys) for name in rule.keys})
        resources = [each.resource for each in listed.values()]
        described = self._admin.describe_configs(resources, keys=dict.fromkeys(resources, names))
        planned = {(each.resource, each.key): each.after for each in self._changes}
        for each in listed.values():
            entries = described[each.resource].entries  # raises an error if it cannot be read
            own = {one.name: one.value for one in entries if one.source is Source.TOPIC}
            own.update({name: planned[each.resource, name] for name in names if (each.resource, name) in planned})
            overrides = {name: value for name, value in own.items() if value is not None}
            yield Subject(each.resource, {**inherited, **overrides}, overrides, each.partitions, each.replication)
