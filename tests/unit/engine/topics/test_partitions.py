"""CreatePartitions: cases where the differential tests found differences between kconf and Kafka."""

from __future__ import annotations

from kconf.engine.topics.partitions import plan_create_partitions
from kconf.errors import ErrorCode
from kconf.model.alteration import NewPartitions
from tests.unit.engine.topics.topics import CLUSTER, snapshot


def test_growth_by_too_much_fails_that_topic_and_leaves_room_for_the_others() -> None:
    requests = [NewPartitions("a", 9_000), NewPartitions("b", 9_000), NewPartitions("c", 2)]

    outcomes = plan_create_partitions(snapshot("a", "b", "c"), requests, CLUSTER).outcome

    assert {name: each.code if each else 0 for name, each in outcomes.items()} == {
        "a": 0,
        "b": ErrorCode.POLICY_VIOLATION,
        "c": 0,
    }
