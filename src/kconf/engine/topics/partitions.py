"""Plans CreatePartitions. Has no side effects."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.engine.policy.hooks import NO_POLICY, PolicyHooks
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
    InvalidPartitions,
    KafkaError,
    ThrottlingQuotaExceeded,
    TopicNotAuthorized,
    UnknownTopic,
)
from kconf.model.acl import AclType, Authorize, Operation, allow_all
from kconf.model.alteration import NewPartitions
from kconf.model.journal import Change, ChangeKind
from kconf.model.plan import Plan, Refusals
from kconf.model.resource import Resource, Topic
from kconf.model.snapshot import Snapshot, topic_to_json
from kconf.util.slices import in_slices

_REFUSED = TopicNotAuthorized().failure()


def plan_create_partitions(
    snapshot: Snapshot,
    requested: Sequence[NewPartitions],
    cluster: ClusterDefaults,
    *,
    authorize: Authorize = allow_all,
    charge: Charge | None = None,
    gate: PolicyHooks = NO_POLICY,
) -> Plan[dict[str, ApiError | None]]:
    """Results by topic name; a name that occurs twice in the request fails once."""
    repeated = repeated_names(wanted.name for wanted in in_slices(requested))
    outcomes: dict[str, ApiError | None] = {}
    changes: list[Change] = []
    guards: dict[Resource, int] = {}
    granted: list[NewPartitions] = []
    left = MOST_PARTITIONS
    for wanted in in_slices(requested):
        if wanted.name in repeated:
            continue
        if not authorize(Operation.ALTER, AclType.TOPIC, wanted.name):
            outcomes[wanted.name] = _REFUSED
            continue
        try:
            old, new = _grow(snapshot, wanted, cluster, left)
            gate.growth(old, new, snapshot.overrides(old.resource), cluster.resolver)
            if charge is not None and not charge(wanted.name, new.partitions - old.partitions):
                raise ThrottlingQuotaExceeded
        except KafkaError as error:
            outcomes[wanted.name] = error.failure()
            continue
        outcomes[wanted.name] = None
        left -= new.partitions - old.partitions
        guards[old.resource] = snapshot.changed.get(old.resource, 0)
        changes.append(Change(ChangeKind.TOPIC, old.resource, "", topic_to_json(old), topic_to_json(new), "grow"))
        granted.append(wanted)
    for name in sorted(repeated):
        outcomes[name] = ApiError(ErrorCode.INVALID_REQUEST, "the topic occurs more than once in the request")
    return Plan(outcomes, changes, guards, granted, _with_refusals)


def _with_refusals(
    outcomes: dict[str, ApiError | None], refusals: Refusals, _after: Snapshot
) -> dict[str, ApiError | None]:
    return {name: failure or refusals.get(Resource.topic(name)) for name, failure in outcomes.items()}


def _grow(snapshot: Snapshot, wanted: NewPartitions, cluster: ClusterDefaults, most: int) -> tuple[Topic, Topic]:
    old = snapshot.topics.get(wanted.name)
    if old is None:
        raise UnknownTopic
    added = wanted.partitions - old.partitions
    if added == 0:
        raise InvalidPartitions(f"topic {wanted.name} already has {old.partitions} partitions")
    if added < 0:
        raise InvalidPartitions(
            f"topic {wanted.name} has {old.partitions} partitions; {wanted.partitions} is not an increase"
        )
    if added > most:
        raise too_many_partitions()
    if wanted.assignment is not None:
        if len(wanted.assignment) != added:
            raise InvalidAssignment(
                f"the request adds {added} partitions, but its assignment has {len(wanted.assignment)}"
            )
        new = tuple(
            check_replicas(each, cluster.brokers, old.partitions + index)
            for index, each in enumerate(wanted.assignment)
        )
        if any(len(each) != old.replication_factor for each in new):
            raise InvalidAssignment(f"each new partition of {wanted.name} must have {old.replication_factor} replicas")
    else:
        new = spread_replicas(old.partitions, added, old.replication_factor, cluster.brokers)
    return old, Topic(old.name, old.id, old.replicas + new)
