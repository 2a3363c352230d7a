"""CreatePartitions: cases where the differential tests found differences between kconf and Kafka."""

from __future__ import annotations

from kconf.engine.topics.partitions import plan_create_partitions
from kconf.errors import ErrorCode
from kconf.model.alteration import NewPartitions
from tests.unit.engine.topics.topics import CLUSTER, snapshot


def test_adding_too_many_partitions_fails_only_that_topic() -> None:
    requests = [NewPartitions("a", 9_000), NewPartitions("b", 9_000), NewPartitions("c", 2)]

    outcomes = plan_create_partitions(snapshot("a", "b", "c"), requests, CLUSTER).outcome

    assert {name: each.code if each else 0 for name, each in outcomes.items()} == {
        "a": 0,
        "b": ErrorCode.POLICY_VIOLATION,
        "c": 0,
    }
