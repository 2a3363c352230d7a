"""Replicas that a request assigns, and how they are spread if it assigns none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kconf.engine.topics.create import Created, plan_create_topics
from kconf.engine.topics.partitions import plan_create_partitions
from kconf.engine.topics.placement import ClusterDefaults
from kconf.errors import ApiError, ErrorCode
from kconf.model.alteration import NewPartitions, NewTopic
from kconf.model.snapshot import Snapshot
from tests.unit.engine.topics.topics import CLUSTER

THREE = ClusterDefaults((1, 2, 5), CLUSTER.resolver, CLUSTER.new_id)


def created(*topics: NewTopic) -> tuple[Any, Snapshot]:
    """The outcome of the first topic, and the state after the request."""
    planned = plan_create_topics(Snapshot.EMPTY, topics, THREE)
    return planned.outcome[topics[0].name], Snapshot.EMPTY.apply(planned.changes, 1)


def grown(before: Snapshot, wanted: NewPartitions) -> tuple[ApiError | None, Any]:
    planned = plan_create_partitions(before, [wanted], THREE)
    return planned.outcome[wanted.name], before.apply(planned.changes, 2).topics[wanted.name].replicas


def test_a_topic_has_the_replicas_that_were_assigned_in_the_order_of_its_partitions() -> None:
    outcome, state = created(NewTopic("a", assignment=[(1, [5, 1]), (0, [2, 5])]))

    assert isinstance(outcome, Created)
    assert state.topics["a"].replicas == ((2, 5), (5, 1))


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ([(0, [])], "partition 0 has no replicas"),
        ([(0, [1, 1])], "partition 0 is assigned to the same broker twice"),
        ([(0, [1]), (1, [3])], "partition 1 is assigned to unknown broker 3"),
        ([(0, [1]), (0, [2])], "partition 0 is assigned twice"),
        ([(1, [1]), (2, [2])], "partitions must be numbered from 0 without a gap"),
        ([(0, [1]), (1, [1, 2])], "every partition needs the same number of replicas"),
    ],
)
def test_an_assignment_that_is_impossible_is_refused(
    assignment: Sequence[tuple[int, Sequence[int]]], message: str
) -> None:
    outcome, state = created(NewTopic("a", assignment=assignment))

    assert outcome == ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    assert "a" not in state.topics


@pytest.mark.parametrize("counts", [(1, -1), (-1, 1), (2, 1)])
def test_an_assignment_excludes_counts(counts: tuple[int, int]) -> None:
    outcome, _ = created(NewTopic("a", *counts, assignment=[(0, [1]), (1, [2])]))

    assert outcome == ApiError(
        ErrorCode.INVALID_REQUEST, "with an assignment, partitions and replication factor must both be -1"
    )


def test_replicas_are_spread_over_the_brokers_in_turn() -> None:
    _, state = created(NewTopic("a", 4, 2))
    assert state.topics["a"].replicas == ((1, 2), (2, 5), (5, 1), (1, 2))

    assert grown(state, NewPartitions("a", 6)) == (None, ((1, 2), (2, 5), (5, 1), (1, 2), (2, 5), (5, 1)))


def test_more_replicas_than_brokers_are_refused() -> None:
    outcome, _ = created(NewTopic("a", 1, 4))

    assert outcome == ApiError(
        ErrorCode.INVALID_REPLICATION_FACTOR, "a replication factor of 4 needs that many brokers; the cluster has 3"
    )


def test_new_partitions_have_the_replicas_that_were_assigned() -> None:
    _, state = created(NewTopic("a", 1, 2))

    assert grown(state, NewPartitions("a", 3, [[5, 2], [2, 1]])) == (None, ((1, 2), (5, 2), (2, 1)))


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        (
            (3, [[5, 2]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "the request adds 2 partitions, but its assignment has 1",
        ),
        ((2, [[5]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "each new partition of a must have 2 replicas"),
        ((2, [[5, 3]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partition 1 is assigned to unknown broker 3"),
        ((1, None), ErrorCode.INVALID_PARTITIONS, "topic a already has 1 partitions"),
        ((0, None), ErrorCode.INVALID_PARTITIONS, "topic a has 1 partitions; 0 is not an increase"),
    ],
)
def test_growth_that_is_impossible_is_refused(
    wanted: tuple[int, list[list[int]] | None], code: ErrorCode, message: str
) -> None:
    _, state = created(NewTopic("a", 1, 2))

    assert grown(state, NewPartitions("a", *wanted)) == (ApiError(code, message), ((1, 2),))


def test_growth_of_a_missing_topic_is_refused() -> None:
    planned = plan_create_partitions(Snapshot.EMPTY, [NewPartitions("a", 2)], THREE)

    assert planned.outcome["a"] is not None
    assert planned.outcome["a"].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
