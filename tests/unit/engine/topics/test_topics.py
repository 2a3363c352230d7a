"""Topics made, grown and deleted, where the differential lab found kconf and Kafka apart."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.topics.create import ClusterDefaults, Created, Growth, plan_create_partitions, plan_create_topics
from kconf.engine.topics.delete import TopicDeletion, plan_delete_topics, well_formed
from kconf.errors import ErrorCode, PolicyViolation
from kconf.model.alteration import NewTopic
from kconf.model.snapshot import Snapshot

CLUSTER = ClusterDefaults((1,), ConfigResolver(kafka_43(), {}, {}, {}), uuid4)
ONE, TWO = UUID(int=1), UUID(int=2)


def snapshot(*names: str) -> Snapshot:
    planned = plan_create_topics(Snapshot.EMPTY, [NewTopic(name, 1, 1) for name in names], CLUSTER)
    return Snapshot.EMPTY.apply(planned.changes, 1)


def test_a_request_for_too_many_partitions_fails_as_a_whole_before_names_are_looked_at() -> None:
    with pytest.raises(PolicyViolation):
        plan_create_topics(Snapshot.EMPTY, [NewTopic("a", 10_000, 1), NewTopic("b c", 1, 1)], CLUSTER)


def test_what_is_refused_anyway_does_not_count_towards_too_many() -> None:
    wishes = [NewTopic("a", 10_000, 1), NewTopic("b", 9, 1), NewTopic("b", 9, 1), NewTopic("c", -5, 1)]

    outcomes = plan_create_topics(Snapshot.EMPTY, wishes, CLUSTER).outcome

    assert isinstance(outcomes["a"], Created)
    assert {name: getattr(outcomes[name], "code", 0) for name in "bc"} == {
        "b": ErrorCode.INVALID_REQUEST,
        "c": ErrorCode.INVALID_PARTITIONS,
    }


def test_growth_by_too_much_fails_that_topic_and_leaves_room_for_the_others() -> None:
    wishes = [Growth("a", 9_000), Growth("b", 9_000), Growth("c", 2)]

    outcomes = plan_create_partitions(snapshot("a", "b", "c"), wishes, CLUSTER).outcome

    assert {name: each.code if each else 0 for name, each in outcomes.items()} == {
        "a": 0,
        "b": ErrorCode.POLICY_VIOLATION,
        "c": 0,
    }


def test_a_name_with_an_id_is_refused_as_often_as_it_stands_there() -> None:
    wishes = [TopicDeletion("a", ONE), TopicDeletion("a", ONE)]

    results = plan_delete_topics(snapshot("a"), wishes).outcome

    assert [each.failure.code for each in results if each.failure] == [ErrorCode.INVALID_REQUEST] * 2


def test_a_name_with_an_id_is_no_repetition_of_the_name_alone() -> None:
    results = plan_delete_topics(snapshot("a"), [TopicDeletion("a", ONE), TopicDeletion("a")]).outcome

    assert {(each.name, each.failure is None) for each in results} == {("a", False), ("a", True)}


def test_well_formed_are_those_that_name_one_topic_once() -> None:
    wishes = [
        TopicDeletion("a"),
        TopicDeletion("b"),
        TopicDeletion("b"),
        TopicDeletion(None, TWO),
        TopicDeletion("c", TWO),
        TopicDeletion(),
    ]

    assert [*well_formed(wishes)] == [TopicDeletion("a"), TopicDeletion(None, TWO)]
