"""Builds change requests that create or delete topics, or add partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kconf.errors import ApiError, ErrorCode
from kconf.model.resource import INTERNAL_TOPICS, Resource
from kconf.operations.execute import ChangeRequest
from kconf.operations.planned_change import TOPIC, ChangePlan, PlannedChange
from kconf.operations.policy.check import check_creation, check_growth, load_policy, with_verdicts
from kconf.operations.risks.data_loss import TOPIC_DELETED
from kconf.operations.selection.selectors import Selector, is_one_resource, parse_selector, resolve

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.alteration import NewTopic
    from kconf.model.cluster import TopicDescription
    from kconf.model.results import Results
    from kconf.operations.execute import Send, SendResult
    from kconf.operations.selection.selectors import ReadText


def topic_selectors(arguments: Sequence[str], stdin: ReadText | None = None) -> list[Selector]:
    """Names and patterns, with or without `topic:` before them."""
    return [parse_selector(each if each.startswith("topic:") else f"topic:{each}", stdin) for each in arguments]


def replication_factor(topic: TopicDescription) -> int:
    return len(topic.partitions[0].replicas) if topic.partitions else 0


# -- create ----------------------------------------------------------------------------------------------------------


def create_request(
    admin: SyncAdminClient, topics: Mapping[str, NewTopic], policy: str | None, *, reason: str | None, confirm: bool
) -> ChangeRequest:
    return ChangeRequest(
        command="topic create",
        plan=_creation_plan(admin, topics, policy),
        send=_by_name(
            lambda names, trial: admin.create_topics([topics[e] for e in names], validate_only=trial, reason=reason)
        ),
        summary=f"create {_count(list(topics))}",
        confirm=confirm,
    )


def _creation_plan(admin: SyncAdminClient, topics: Mapping[str, NewTopic], policy: str | None) -> ChangePlan:
    """Validate the topics on the cluster, which returns the topics it would create (KIP-525), and check the policy."""
    validated = admin.create_topics(topics.values(), validate_only=True)
    failures = {Resource.topic(name): failure for name, failure in validated.failures.items()}
    changes = []
    for name, topic in topics.items():
        counts = (topic.partitions, topic.replication_factor)
        if Resource.topic(name) not in failures:
            created = validated[name]
            if not isinstance(created.details, ApiError):
                counts = (created.num_partitions, created.replication_factor)
        changes.append(_creation(topic, *counts))
    plan = ChangePlan(changes, failures)
    if policy is None:
        return plan
    rules = load_policy(policy)
    accepted = [topic for name, topic in topics.items() if Resource.topic(name) not in failures]
    verdicts = {Resource.topic(each.name): check_creation(rules, each, validated[each.name]) for each in accepted}
    return with_verdicts(plan, verdicts)


def _creation(topic: NewTopic, partitions: int, replicas: int) -> PlannedChange:
    configs = ", ".join(f"{key}={value}" for key, value in topic.configs)
    new = ", ".join(filter(None, (_counts_text(partitions, replicas), configs)))
    shown = {"partitions": partitions, "replication_factor": replicas, "configs": dict(topic.configs)}
    return PlannedChange(Resource.topic(topic.name), "", None, new, "create", None, new, kind=TOPIC, shown=shown)


# -- delete ----------------------------------------------------------------------------------------------------------


def delete_request(admin: SyncAdminClient, selectors: Sequence[Selector], reason: str | None) -> ChangeRequest:
    resources = resolve(admin, selectors)
    described = admin.describe_topics([each.name for each in resources])
    failures = {Resource.topic(str(name)): failure for name, failure in described.failures.items()}
    for each in resources:
        if each.name in INTERNAL_TOPICS:
            failures[each] = ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, "kconf does not delete internal topics")
    changes = [_deletion(each, described[each.name]) for each in resources if each not in failures]
    return ChangeRequest(
        command="topic delete",
        plan=ChangePlan(changes, failures),
        send=_by_name(lambda names, _: admin.delete_topics(names, reason=reason)),
        summary=f"delete {_count([each.name for each in resources])}",
        confirm=not is_one_resource(selectors),
        validates=False,
    )


def _deletion(resource: Resource, topic: TopicDescription) -> PlannedChange:
    old = _counts_text(len(topic.partitions), replication_factor(topic))
    before = _journal_text(topic)
    return PlannedChange(resource, "", before, None, "delete", old, None, risks=TOPIC_DELETED, kind=TOPIC)


def _journal_text(topic: TopicDescription) -> str:
    """A topic in the format of the journal."""
    from kconf.model.resource import Topic
    from kconf.model.snapshot import topic_to_json

    return topic_to_json(Topic(topic.name, topic.topic_id, tuple(each.replicas for each in topic.partitions)))


# -- add partitions --------------------------------------------------------------------------------------------------


def grow_request(
    admin: SyncAdminClient,
    selectors: Sequence[Selector],
    count: Callable[[int], int],
    policy: str | None,
    reason: str | None,
) -> ChangeRequest:
    """`count` returns the new number of partitions, given the current number."""
    resources = resolve(admin, selectors)
    described = admin.describe_topics([each.name for each in resources])
    topics = {each: described[each.name] for each in resources if each.name not in described.failures}
    counts = {each: count(len(topic.partitions)) for each, topic in topics.items()}
    plan = ChangePlan(
        [_growth(each, topic, counts[each]) for each, topic in topics.items()],
        {Resource.topic(str(name)): failure for name, failure in described.failures.items()},
    )
    if policy is not None:
        shapes = {each: (counts[each], replication_factor(topic)) for each, topic in topics.items()}
        plan = with_verdicts(plan, check_growth(load_policy(policy), admin, shapes))
    return ChangeRequest(
        command="topic grow",
        plan=plan,
        send=_by_name(
            lambda names, trial: admin.create_partitions(
                {name: counts[Resource.topic(name)] for name in names}, validate_only=trial, reason=reason
            )
        ),
        summary=f"grow {_count([each.name for each in counts])}",
        confirm=not is_one_resource(selectors),
    )


def _growth(resource: Resource, topic: TopicDescription, count: int) -> PlannedChange:
    old, new = _partitions(len(topic.partitions)), _partitions(count)
    return PlannedChange(resource, "", _journal_text(topic), new, "grow", old, new, kind=TOPIC)


# -- shared ----------------------------------------------------------------------------------------------------------


def _by_name(call: Callable[[Sequence[str], bool], Results[Any, Any]]) -> Send:
    def send(resources: Sequence[Resource], validate_only: bool) -> SendResult:
        failures = call([each.name for each in resources], validate_only).failures
        return {each: failures.get(each.name) for each in resources}

    return send


def _partitions(count: int) -> str:
    return f"{count} partition{'' if count == 1 else 's'}"


def _counts_text(partitions: int, replicas: int) -> str:
    """For example `1 partition, 3 replicas`; -1 is the cluster's default."""
    counts = ((partitions, "partition"), (replicas, "replica"))
    return ", ".join(f"{'default' if count < 0 else count} {what}{'' if count == 1 else 's'}" for count, what in counts)


def _count(names: Sequence[str]) -> str:
    return f"topic {names[0]}" if len(names) == 1 else f"{len(names)} topics"
