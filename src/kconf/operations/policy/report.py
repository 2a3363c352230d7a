"""Evaluates a policy on the current state of a whole cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from kconf.client.cluster_reader import PARTS
from kconf.engine.risks import STATE_KEYS, Risk, state_risks
from kconf.errors import ApiError, UnsupportedVersion
from kconf.model.resource import Resource, ResourceType
from kconf.operations.policy.check import NO_COUNTS, subject_of
from kconf.operations.policy.inherited import evaluate_defaults

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.policy.conditions import Subject
    from kconf.engine.policy.rules import Finding, Rules
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.policy.check import TopicCounts

T = TypeVar("T")
_BATCH: Final = 200  # resources per request


class Evaluation(NamedTuple):
    """The findings on a resource, or why it cannot be read."""

    resource: Resource
    findings: Sequence[Finding] = ()
    failure: ApiError | None = None


class NotListed(NamedTuple):
    """Resource types that the cluster cannot list (KIP-1142) and that are therefore not evaluated."""

    types: Sequence[ResourceType]


def evaluate_cluster(admin: SyncAdminClient, rules: Rules) -> Iterator[Evaluation | NotListed]:
    """Evaluate the rules on all resources of their types."""
    kinds = rules.types
    if ResourceType.TOPIC in kinds:
        for names in _batches(sorted(admin.list_topics(internal=True))):
            yield from _evaluate(admin, rules, [Resource.topic(name) for name in names], _shapes(admin, names))
        yield from (Evaluation(each, findings) for each, findings in evaluate_defaults(rules, admin) if findings)
    if ResourceType.BROKER in kinds:
        nodes = [Resource.broker(number) for number in sorted(admin.describe_cluster().nodes)]
        yield from _evaluate(admin, rules, [Resource.brokers(), *nodes])
    others = sorted(kinds & {ResourceType.GROUP, ResourceType.CLIENT_METRICS})
    if others:
        try:
            found = sorted(admin.list_config_resources(others))
        except UnsupportedVersion:
            yield NotListed(others)
            return
        for resources in _batches(found):
            yield from _evaluate(admin, rules, resources)


def _shapes(admin: SyncAdminClient, names: Sequence[str]) -> dict[Resource, TopicCounts]:
    described = admin.describe_topics(names)
    topics = {name: described[name] for name in names if name not in described.failures}
    return {
        Resource.topic(name): (len(topic.partitions), len(topic.partitions[0].replicas))
        for name, topic in topics.items()
        if topic.partitions
    }


def _evaluate(
    admin: SyncAdminClient,
    rules: Rules,
    resources: Sequence[Resource],
    shapes: Mapping[Resource, TopicCounts] | None = None,
) -> Iterator[Evaluation]:
    described = admin.describe_configs(resources)
    for resource in resources:
        failure = described.failures.get(resource)
        if failure is not None:
            yield Evaluation(resource, failure=failure)
        else:
            shape = (shapes or {}).get(resource, NO_COUNTS)
            yield Evaluation(resource, _findings(rules, subject_of(resource, described[resource], shape)))


def _findings(rules: Rules, subject: Subject) -> list[Finding]:
    return [*rules.evaluate(subject), *rules.evaluate_risks(subject.resource, _risks(subject))]


def evaluate_state(
    state: ClusterState, rules: Rules, remember_as: str | None = None
) -> Iterator[Evaluation | NotListed]:
    """Evaluate the rules on a state that was read before: values set on resources and inherited values.

    Values that new topics would inherit from brokers are not part of a state. With `remember_as`, a name for these
    rules, results are cached: a resource whose values have not changed is not evaluated again.
    """
    kinds = rules.types
    unread = {each.what: each.failure for each in state.missing}
    hidden = sorted(kind for part, kind in PARTS.items() if kind in kinds and part in unread)
    if hidden:
        yield NotListed(hidden)
    for resource, view in state.configs.items():
        if resource.type in kinds:
            topic = state.topics.get(resource.name) if resource.type is ResourceType.TOPIC else None
            shape = NO_COUNTS if topic is None else (topic.partitions, topic.replication)
            memo = ("policy", remember_as, resource, shape)
            found = None if remember_as is None else view.memo.get(memo)
            if found is None:
                found = _findings(rules, subject_of(resource, view, shape))
                if remember_as is not None:
                    view.memo[memo] = found
            yield Evaluation(resource, found)
    words = {kind.word: kind for kind in kinds}
    for what, failure in unread.items():
        word, colon, name = what.partition(":")
        if colon and word in words:
            yield Evaluation(Resource(words[word], name), failure=failure)


def _risks(subject: Subject) -> list[Risk]:
    """The risks of a topic's current state, without those of changes."""
    if subject.resource.type is not ResourceType.TOPIC:
        return []
    return [
        risk for key in STATE_KEYS for risk in state_risks(key, subject.values.get(key), subject.replication_factor)
    ]


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[first : first + _BATCH] for first in range(0, len(items), _BATCH))
