"""CreateTopics: cases where the differential tests found differences between kconf and Kafka."""

from __future__ import annotations

import pytest

from kconf.engine.topics.create import Created, plan_create_topics
from kconf.errors import ErrorCode, PolicyViolation
from kconf.model.alteration import NewTopic
from kconf.model.snapshot import Snapshot
from tests.unit.engine.topics.topics import CLUSTER


def test_a_request_for_too_many_partitions_fails_before_names_are_checked() -> None:
    with pytest.raises(PolicyViolation):
        plan_create_topics(Snapshot.EMPTY, [NewTopic("a", 10_000, 1), NewTopic("b c", 1, 1)], CLUSTER)


def test_refused_topics_do_not_count_towards_the_partition_limit() -> None:
    requests = [NewTopic("a", 10_000, 1), NewTopic("b", 9, 1), NewTopic("b", 9, 1), NewTopic("c", -5, 1)]

    outcomes = plan_create_topics(Snapshot.EMPTY, requests, CLUSTER).outcome

    assert isinstance(outcomes["a"], Created)
    assert {name: getattr(outcomes[name], "code", 0) for name in "bc"} == {
        "b": ErrorCode.INVALID_REQUEST,
        "c": ErrorCode.INVALID_PARTITIONS,
    }
