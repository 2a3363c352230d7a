"""What CreateTopics, DeleteTopics and CreatePartitions would do. Decides; touches nothing.

The order of the checks is Kafka's (docs/protocol.md, "Order of checks"). A topic's replicas are spread over the brokers
in turn; partition p begins at broker p, so that leaders are spread too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.configs.validation import check_topic
from kconf.engine.policy.hooks import NO_POLICY, PolicyHooks
from kconf.engine.topics.names import check_topic_name
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
    PolicyViolation,
    ThrottlingQuotaExceeded,
    TopicExists,
    TopicNotAuthorized,
    UnknownTopic,
)
from kconf.model.acl import CLUSTER_NAME, AclType, Authorize, Operation, allow_all
from kconf.model.alteration import NewTopic
from kconf.model.journal import Change, ChangeKind
from kconf.model.plan import Plan
from kconf.model.resource import NO_OVERRIDES, Overrides, Resource, Topic
from kconf.model.snapshot import Snapshot, topic_to_json

Charge = Callable[[str, int], bool]
"""May so many partitions be made or deleted for the topic of that name? controller_mutation_rate asks."""

METADATA_TOPIC = "__cluster_metadata"
MOST_PARTITIONS = 10_000  # in one request, as in Kafka


@dataclass(frozen=True, slots=True)
class Created:
    """A topic that would come into being, with its overrides."""

    topic: Topic
    overrides: Overrides


@dataclass(frozen=True, slots=True)
class ClusterDefaults:
    """What a decision about topics needs to know: the broker ids, and the ladder of the node that decides."""

    brokers: Sequence[int]
    ladder: ConfigResolver
    new_id: Callable[[], UUID]


def plan_create_topics(
    snapshot: Snapshot,
    wishes: Sequence[NewTopic],
    cluster: ClusterDefaults,
    *,
    authorize: Authorize = allow_all,
    charge: Charge | None = None,
    gate: PolicyHooks = NO_POLICY,
) -> Plan[dict[str, Created | ApiError]]:
    """Topics by name, in the order of the request; names that stand in it twice come last and fail once.

    Raises PolicyViolation where the request as a whole is too large, before it looks at any topic, as in Kafka.
    """
    repeated = repeated_names(wish.name for wish in wishes)
    outcomes: dict[str, Created | ApiError] = {}
    changes: list[Change] = []
    guards: dict[Resource, int] = {}
    everywhere = authorize(Operation.CREATE, AclType.CLUSTER, CLUSTER_NAME)
    total = 0
    asked: list[NewTopic] = []
    for wish in wishes:
        if wish.name in repeated:
            continue
        if wish.name == METADATA_TOPIC:
            outcomes[wish.name] = ApiError(ErrorCode.INVALID_REQUEST, f"{METADATA_TOPIC} cannot be created")
        elif not everywhere and not authorize(Operation.CREATE, AclType.TOPIC, wish.name):
            outcomes[wish.name] = TopicNotAuthorized(TopicNotAuthorized.stock).failure()
        else:
            asked.append(wish)
            total += _partitions(wish, cluster)
    if total > MOST_PARTITIONS:
        raise _too_many()
    for wish in asked:
        try:
            made = _create(snapshot, wish, cluster, gate)
            if charge is not None and not charge(wish.name, made.topic.partitions):
                raise ThrottlingQuotaExceeded
        except KafkaError as error:
            outcomes[wish.name] = error.failure()
            continue
        outcomes[wish.name] = made
        resource = Resource.topic(wish.name)
        guards[resource] = snapshot.changed.get(resource, 0)
        changes.append(Change(ChangeKind.TOPIC, resource, "", None, topic_to_json(made.topic), "create"))
        changes += [
            Change(ChangeKind.CONFIG, resource, key, None, value, "set") for key, value in made.overrides.items()
        ]
    for name in dict.fromkeys(wish.name for wish in wishes if wish.name in repeated):
        outcomes[name] = ApiError(ErrorCode.INVALID_REQUEST, "the topic stands in the request more than once")
    return Plan(outcomes, changes, guards)


def repeated_names(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def _too_many() -> PolicyViolation:
    return PolicyViolation(f"one request may create {MOST_PARTITIONS} partitions")


def _partitions(wish: NewTopic, cluster: ClusterDefaults) -> int:
    """How many partitions a wish is for, right or wrong."""
    if wish.assignment:
        return len(wish.assignment)
    return cluster.ladder.number("num.partitions") if wish.partitions == -1 else max(wish.partitions, 0)


def _create(snapshot: Snapshot, wish: NewTopic, cluster: ClusterDefaults, gate: PolicyHooks) -> Created:
    if wish.name in snapshot.topics:
        raise TopicExists(f"topic {wish.name} exists already")
    check_topic_name(wish.name)
    twin = snapshot.colliding_topic(wish.name)
    if twin is not None:
        raise InvalidTopic(f"topic {wish.name} would collide with {twin}: '.' and '_' are the same in metric names")
    overrides = _overrides(wish, cluster.ladder)
    gate.creation_configs(wish.name, overrides, cluster.ladder)
    topic = Topic(wish.name, cluster.new_id(), _replicas(wish, cluster))
    gate.creation(topic, overrides, cluster.ladder, assigned=bool(wish.assignment))
    return Created(topic, overrides)


def _overrides(wish: NewTopic, ladder: ConfigResolver) -> Overrides:
    if not wish.configs:
        return NO_OVERRIDES
    nulls = [name for name, value in wish.configs if value is None]
    if nulls:
        raise InvalidConfig(f"a value is needed for {','.join(nulls)}")
    overrides = {name: value for name, value in wish.configs if value is not None}
    check_topic(overrides, NO_OVERRIDES, ladder)
    return overrides


def _replicas(wish: NewTopic, cluster: ClusterDefaults) -> tuple[tuple[int, ...], ...]:
    if wish.assignment:
        if wish.partitions != -1 or wish.replication_factor != -1:
            raise InvalidRequest("with an assignment, partitions and replication factor must both be -1")
        return _assigned(wish.assignment, cluster.brokers)
    factor, partitions = wish.replication_factor, wish.partitions
    if factor == 0 or factor < -1:
        raise InvalidReplicationFactor(f"the replication factor must be at least 1, or -1 for the default: {factor}")
    if partitions == 0 or partitions < -1:
        raise InvalidPartitions(f"the number of partitions must be at least 1, or -1 for the default: {partitions}")
    factor = cluster.ladder.number("default.replication.factor") if factor == -1 else factor
    return _spread(0, _partitions(wish, cluster), factor, cluster.brokers)


def _spread(first: int, count: int, factor: int, brokers: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    if factor > len(brokers):
        raise InvalidReplicationFactor(
            f"a replication factor of {factor} needs as many brokers; there are {len(brokers)}"
        )
    size = len(brokers)
    return tuple(
        tuple(brokers[(partition + each) % size] for each in range(factor)) for partition in range(first, first + count)
    )


def _assigned(assignment: Sequence[tuple[int, Sequence[int]]], brokers: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    given: dict[int, tuple[int, ...]] = {}
    for partition, replicas in assignment:
        if partition in given:
            raise InvalidAssignment(f"partition {partition} is assigned twice")
        given[partition] = check_replicas(replicas, brokers, partition)
    if sorted(given) != list(range(len(given))):
        raise InvalidAssignment("partitions must be numbered from 0 without a gap")
    if len({len(replicas) for replicas in given.values()}) > 1:
        raise InvalidAssignment("every partition needs the same number of replicas")
    return tuple(given[partition] for partition in range(len(given)))


def check_replicas(replicas: Sequence[int], brokers: Sequence[int], partition: int) -> tuple[int, ...]:
    if not replicas:
        raise InvalidAssignment(f"partition {partition} has no replicas")
    if len(set(replicas)) < len(replicas):
        raise InvalidAssignment(f"partition {partition} has a broker twice")
    for broker in replicas:
        if broker not in brokers:
            raise InvalidAssignment(f"partition {partition} names broker {broker}, which is not there")
    return tuple(replicas)


def deletion(snapshot: Snapshot, topic: Topic) -> list[Change]:
    """The lines of a topic's end: its overrides go with it."""
    resource = topic.resource
    overrides = snapshot.overrides(resource)
    lines = [
        Change(ChangeKind.CONFIG, resource, key, value, None, "delete") for key, value in sorted(overrides.items())
    ]
    return [*lines, Change(ChangeKind.TOPIC, resource, "", topic_to_json(topic), None, "delete")]


@dataclass(frozen=True, slots=True)
class Growth:
    """A topic to be grown to `count` partitions; `assignment` lists the replicas of the new ones."""

    name: str
    count: int
    assignment: Sequence[Sequence[int]] | None = None


def plan_create_partitions(
    snapshot: Snapshot,
    wishes: Sequence[Growth],
    cluster: ClusterDefaults,
    *,
    authorize: Authorize = allow_all,
    charge: Charge | None = None,
    gate: PolicyHooks = NO_POLICY,
) -> Plan[dict[str, ApiError | None]]:
    """Growths by topic name; names that stand in the request twice fail once."""
    repeated = repeated_names(wish.name for wish in wishes)
    outcomes: dict[str, ApiError | None] = {}
    changes: list[Change] = []
    guards: dict[Resource, int] = {}
    left = MOST_PARTITIONS
    for wish in wishes:
        if wish.name in repeated:
            continue
        try:
            if not authorize(Operation.ALTER, AclType.TOPIC, wish.name):
                raise TopicNotAuthorized
            old, new = _grow(snapshot, wish, cluster, left)
            gate.growth(old, new, snapshot.overrides(old.resource), cluster.ladder)
            if charge is not None and not charge(wish.name, new.partitions - old.partitions):
                raise ThrottlingQuotaExceeded
        except KafkaError as error:
            outcomes[wish.name] = error.failure()
            continue
        outcomes[wish.name] = None
        left -= new.partitions - old.partitions
        guards[old.resource] = snapshot.changed.get(old.resource, 0)
        changes.append(Change(ChangeKind.TOPIC, old.resource, "", topic_to_json(old), topic_to_json(new), "grow"))
    for name in sorted(repeated):
        outcomes[name] = ApiError(ErrorCode.INVALID_REQUEST, "the topic stands in the request more than once")
    return Plan(outcomes, changes, guards)


def _grow(snapshot: Snapshot, wish: Growth, cluster: ClusterDefaults, most: int) -> tuple[Topic, Topic]:
    old = snapshot.topics.get(wish.name)
    if old is None:
        raise UnknownTopic
    added = wish.count - old.partitions
    if added == 0:
        raise InvalidPartitions(f"topic {wish.name} has {old.partitions} partitions already")
    if added < 0:
        raise InvalidPartitions(f"topic {wish.name} has {old.partitions} partitions, and {wish.count} is no increase")
    if added > most:
        raise _too_many()
    if wish.assignment is not None:
        if len(wish.assignment) != added:
            raise InvalidAssignment(f"{added} partitions are to be added, but {len(wish.assignment)} are assigned")
        new = tuple(
            check_replicas(each, cluster.brokers, old.partitions + index) for index, each in enumerate(wish.assignment)
        )
        if any(len(each) != old.replication_factor for each in new):
            raise InvalidAssignment(f"every partition of {wish.name} has {old.replication_factor} replicas")
    else:
        new = _spread(old.partitions, added, old.replication_factor, cluster.brokers)
    return old, Topic(old.name, old.id, old.replicas + new)
