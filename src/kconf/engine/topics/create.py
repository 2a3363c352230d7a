"""Plans CreateTopics. Has no side effects.

The order of the checks is Kafka's (docs/protocol.md, "Order of checks").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.configs.validation import check_topic
from kconf.engine.policy.hooks import NO_POLICY, PolicyHooks
from kconf.engine.topics.names import check_topic_name
from kconf.engine.topics.placement import (
    MOST_PARTITIONS,
    Charge,
    ClusterDefaults,
    check_replicas,
    repeated_names,
    spread_replicas,
    too_many_partitions,
)
from kconf.errors import (
    ApiError,
    ErrorCode,
    InvalidAssignment,
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    ThrottlingQuotaExceeded,
    TopicExists,
    TopicNotAuthorized,
)
from kconf.model.acl import CLUSTER_NAME, AclType, Authorize, Operation, allow_all
from kconf.model.alteration import NewTopic
from kconf.model.journal import Change, ChangeKind
from kconf.model.plan import Plan, Refusals
from kconf.model.resource import NO_OVERRIDES, Overrides, Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot, topic_to_json
from kconf.util.slices import in_slices

METADATA_TOPIC = "__cluster_metadata"
_REFUSED = TopicNotAuthorized(TopicNotAuthorized.stock).failure()


@dataclass(frozen=True, slots=True)
class Created:
    """A topic that would be created, with its overrides."""

    topic: Topic
    overrides: Overrides


def plan_create_topics(
    snapshot: Snapshot,
    new_topics: Sequence[NewTopic],
    cluster: ClusterDefaults,
    *,
    authorize: Authorize = allow_all,
    charge: Charge | None = None,
    gate: PolicyHooks = NO_POLICY,
) -> Plan[dict[str, Created | ApiError]]:
    """Topics by name, in the order of the request; duplicate names come last and fail once.

    Raises PolicyViolation if the whole request is too large, before any topic is checked, as in Kafka.
    """
    repeated = repeated_names(new_topic.name for new_topic in in_slices(new_topics))
    outcomes: dict[str, Created | ApiError] = {}
    changes: list[Change] = []
    guards: dict[Resource, int] = {}
    granted: list[NewTopic] = []
    sensitive = cluster.resolver.sensitive_keys(ResourceType.TOPIC)
    everywhere = authorize(Operation.CREATE, AclType.CLUSTER, CLUSTER_NAME)
    total = 0
    allowed: list[NewTopic] = []
    for new_topic in in_slices(new_topics):
        if new_topic.name in repeated:
            continue
        if new_topic.name == METADATA_TOPIC:
            outcomes[new_topic.name] = ApiError(ErrorCode.INVALID_REQUEST, f"{METADATA_TOPIC} cannot be created")
        elif not everywhere and not authorize(Operation.CREATE, AclType.TOPIC, new_topic.name):
            outcomes[new_topic.name] = _REFUSED
        else:
            allowed.append(new_topic)
            total += _partitions(new_topic, cluster)
    if total > MOST_PARTITIONS:
        raise too_many_partitions()
    for new_topic in in_slices(allowed):
        try:
            made = _create(snapshot, new_topic, cluster, gate)
            if charge is not None and not charge(new_topic.name, made.topic.partitions):
                raise ThrottlingQuotaExceeded
        except KafkaError as error:
            outcomes[new_topic.name] = error.failure()
            continue
        outcomes[new_topic.name] = made
        granted.append(new_topic)
        resource = Resource.topic(new_topic.name)
        guards[resource] = snapshot.changed.get(resource, 0)
        changes.append(Change(ChangeKind.TOPIC, resource, "", None, topic_to_json(made.topic), "create"))
        changes += [
            Change(ChangeKind.CONFIG, resource, key, None, value, "set", sensitive(key))
            for key, value in made.overrides.items()
        ]
    for name in dict.fromkeys(new_topic.name for new_topic in in_slices(new_topics) if new_topic.name in repeated):
        outcomes[name] = ApiError(ErrorCode.INVALID_REQUEST, "the topic occurs more than once in the request")
    return Plan(outcomes, changes, guards, granted, _as_created)


def _as_created(
    outcomes: dict[str, Created | ApiError], refusals: Refusals, after: Snapshot
) -> dict[str, Created | ApiError]:
    """The result of the upstream cluster, which assigns topic ids and places replicas."""
    return {
        name: made
        if isinstance(made, ApiError)
        else refusals.get(Resource.topic(name)) or Created(after.topics.get(name, made.topic), made.overrides)
        for name, made in outcomes.items()
    }


def _partitions(new_topic: NewTopic, cluster: ClusterDefaults) -> int:
    """How many partitions are requested, valid or not."""
    if new_topic.assignment:
        return len(new_topic.assignment)
    return cluster.resolver.number("num.partitions") if new_topic.partitions == -1 else max(new_topic.partitions, 0)


def _create(snapshot: Snapshot, new_topic: NewTopic, cluster: ClusterDefaults, gate: PolicyHooks) -> Created:
    if new_topic.name in snapshot.topics:
        raise TopicExists(f"topic {new_topic.name} already exists")
    check_topic_name(new_topic.name)
    twin = snapshot.colliding_topic(new_topic.name)
    if twin is not None:
        raise InvalidTopic(
            f"topic {new_topic.name} would collide with {twin}: '.' and '_' are the same in metric names"
        )
    overrides = _overrides(new_topic, cluster.resolver)
    gate.creation_configs(new_topic.name, overrides, cluster.resolver)
    topic = Topic(new_topic.name, cluster.new_id(), _replicas(new_topic, cluster))
    gate.creation(topic, overrides, cluster.resolver, assigned=bool(new_topic.assignment))
    return Created(topic, overrides)


def _overrides(new_topic: NewTopic, resolver: ConfigResolver) -> Overrides:
    if not new_topic.configs:
        return NO_OVERRIDES
    nulls = [name for name, value in new_topic.configs if value is None]
    if nulls:
        raise InvalidConfig(f"missing value for {','.join(nulls)}")
    overrides = {name: value for name, value in new_topic.configs if value is not None}
    check_topic(overrides, NO_OVERRIDES, resolver)
    return overrides


def _replicas(new_topic: NewTopic, cluster: ClusterDefaults) -> tuple[tuple[int, ...], ...]:
    if new_topic.assignment:
        if new_topic.partitions != -1 or new_topic.replication_factor != -1:
            raise InvalidRequest("with an assignment, partitions and replication factor must both be -1")
        return _assigned(new_topic.assignment, cluster.brokers)
    factor, partitions = new_topic.replication_factor, new_topic.partitions
    if factor == 0 or factor < -1:
        raise InvalidReplicationFactor(f"the replication factor must be at least 1, or -1 for the default: {factor}")
    if partitions == 0 or partitions < -1:
        raise InvalidPartitions(f"the number of partitions must be at least 1, or -1 for the default: {partitions}")
    factor = cluster.resolver.number("default.replication.factor") if factor == -1 else factor
    return spread_replicas(0, _partitions(new_topic, cluster), factor, cluster.brokers)


def _assigned(assignment: Sequence[tuple[int, Sequence[int]]], brokers: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    given: dict[int, tuple[int, ...]] = {}
    for partition, replicas in in_slices(assignment):
        if partition in given:
            raise InvalidAssignment(f"partition {partition} is assigned twice")
        given[partition] = check_replicas(replicas, brokers, partition)
    if sorted(given) != list(range(len(given))):
        raise InvalidAssignment("partitions must be numbered from 0 without a gap")
    if len({len(replicas) for replicas in given.values()}) > 1:
        raise InvalidAssignment("every partition needs the same number of replicas")
    return tuple(given[partition] for partition in range(len(given)))
