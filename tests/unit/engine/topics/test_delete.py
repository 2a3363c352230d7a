"""DeleteTopics: cases where the differential tests found differences between kconf and Kafka."""

from __future__ import annotations

from uuid import UUID

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.topics.delete import TopicDeletion, plan_delete_topics, well_formed
from kconf.errors import ErrorCode
from tests.unit.engine.topics.topics import snapshot

RESOLVER = ConfigResolver(kafka_43(), {}, {}, {})
ONE, TWO = UUID(int=1), UUID(int=2)


def test_a_deletion_with_both_name_and_id_is_refused_at_every_occurrence() -> None:
    requests = [TopicDeletion("a", ONE), TopicDeletion("a", ONE)]

    results = plan_delete_topics(snapshot("a"), requests, RESOLVER).outcome

    assert [each.failure.code for each in results if each.failure] == [ErrorCode.INVALID_REQUEST] * 2


def test_a_deletion_by_name_is_no_duplicate_of_one_with_name_and_id() -> None:
    results = plan_delete_topics(snapshot("a"), [TopicDeletion("a", ONE), TopicDeletion("a")], RESOLVER).outcome

    assert {(each.name, each.failure is None) for each in results} == {("a", False), ("a", True)}


def test_a_deletion_is_well_formed_if_it_names_one_topic_once() -> None:
    requests = [
        TopicDeletion("a"),
        TopicDeletion("b"),
        TopicDeletion("b"),
        TopicDeletion(None, TWO),
        TopicDeletion("c", TWO),
        TopicDeletion(),
    ]

    assert [*well_formed(requests)] == [TopicDeletion("a"), TopicDeletion(None, TWO)]
