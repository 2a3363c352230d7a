"""What CreateTopics and CreatePartitions share: the cluster they are planned for, and where replicas are placed.

Replicas are spread over the brokers in turn; partition p starts at broker p, so that leaders are spread too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import InvalidAssignment, InvalidReplicationFactor, PolicyViolation
from kconf.util.slices import in_slices

Charge = Callable[[str, int], bool]
"""Whether controller_mutation_rate allows so many partitions to be created or deleted for the topic of that name."""

MOST_PARTITIONS = 10_000  # in one request, as in Kafka


@dataclass(frozen=True, slots=True)
class ClusterDefaults:
    """What a plan for topics needs to know: the broker ids, and the resolver of the node that plans."""

    brokers: Sequence[int]
    resolver: ConfigResolver
    new_id: Callable[[], UUID]


def repeated_names(names: Iterable[str]) -> set[str]:
    return {name for name, count in in_slices(Counter(names).items()) if count > 1}


def too_many_partitions() -> PolicyViolation:
    return PolicyViolation(f"one request may create at most {MOST_PARTITIONS} partitions")


def spread_replicas(first: int, count: int, factor: int, brokers: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    if factor > len(brokers):
        raise InvalidReplicationFactor(
            f"a replication factor of {factor} needs that many brokers; the cluster has {len(brokers)}"
        )
    size = len(brokers)
    return tuple(
        tuple(brokers[(partition + each) % size] for each in range(factor)) for partition in range(first, first + count)
    )


def check_replicas(replicas: Sequence[int], brokers: Sequence[int], partition: int) -> tuple[int, ...]:
    if not replicas:
        raise InvalidAssignment(f"partition {partition} has no replicas")
    if len(set(replicas)) < len(replicas):
        raise InvalidAssignment(f"partition {partition} is assigned to the same broker twice")
    for broker in replicas:
        if broker not in brokers:
            raise InvalidAssignment(f"partition {partition} is assigned to unknown broker {broker}")
    return tuple(replicas)
