"""What a Python policy gets on a running server: Kafka's map, and what Kafka's policies do not get."""

from __future__ import annotations

from typing import Any

import pytest

from kconf.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig
from kconf.protocol.messages.metadata import MetadataRequestTopic
from tests.policies.conftest import Asked, classes
from tests.support.admin import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    Admin,
    codes,
    new_topic,
)


def said(question: dict[str, Any]) -> tuple[Any, ...]:
    """(changed, previous, resulting)"""
    return question["changed"], question["previous"], question["resulting"]


def test_an_incremental_change_shows_the_resulting_values_of_changed_keys_only(
    admin: Admin, asked: Asked, topic: str
) -> None:
    """3.21: resulting values, DELETE as null, unchanged and untouched keys left out."""
    admin.create(topic, configs={"retention.ms": "5000", "flush.ms": "7", "segment.ms": "9", "max.message.bytes": "8"})
    asked()

    admin.alter(
        (TOPIC, topic),
        ("cleanup.policy", APPEND, "compact"),
        ("retention.ms", DELETE, None),
        ("segment.ms", SET, "9"),
        ("flush.ms", SET, "8"),
        ("index.interval.bytes", DELETE, None),
    )

    (question,) = asked()
    assert question["changed"] == {"cleanup.policy": "delete,compact", "retention.ms": None, "flush.ms": "8"}
    assert question["previous"] == {
        "retention.ms": "5000", "flush.ms": "7", "segment.ms": "9", "max.message.bytes": "8"
    }  # fmt: skip
    assert question["resulting"] == {
        "cleanup.policy": "delete,compact", "flush.ms": "8", "segment.ms": "9", "max.message.bytes": "8"
    }  # fmt: skip
    assert question["retention"] == "7200000"  # inherited again
    assert question["partitions"] == 3
    assert question["principal"] == "User:ANONYMOUS"
    assert question["resource"] == f"topic:{topic}"
    assert question["validate_only"] is False


def test_a_list_without_any_item_left_is_shown_as_empty(admin: Admin, asked: Asked, topic: str) -> None:
    admin.create(topic, configs={"cleanup.policy": "compact"})
    asked()

    admin.alter((TOPIC, topic), ("cleanup.policy", SUBTRACT, "compact"))

    assert said(asked()[0]) == ({"cleanup.policy": ""}, {"cleanup.policy": "compact"}, {"cleanup.policy": ""})


def test_a_replacement_does_not_show_what_it_drops(admin: Admin, asked: Asked, topic: str) -> None:
    """KAFKA-14195: implicit deletions are not in the map; in kconf they are in `previous` and not in `resulting`."""
    admin.create(topic, configs={"retention.ms": "5000", "flush.ms": "7"})
    asked()

    admin.replace([((TOPIC, topic), {"flush.ms": "7", "segment.ms": "9"})])

    assert said(asked()[0]) == (
        {"segment.ms": "9"},
        {"retention.ms": "5000", "flush.ms": "7"},
        {"flush.ms": "7", "segment.ms": "9"},
    )


@pytest.mark.parametrize("requested", [[], [("retention.ms", SET, "5000")], [("flush.ms", DELETE, None)]])
def test_a_change_without_effect_is_passed_to_policies_with_an_empty_map(
    admin: Admin, asked: Asked, topic: str, requested: list[tuple[str, int, str | None]]
) -> None:
    """broker-semantics 14.13"""
    admin.create(topic, configs={"retention.ms": "5000"})
    asked()

    assert admin.alter((TOPIC, topic), *requested).error_code == 0

    (question,) = asked()
    assert said(question) == ({}, {"retention.ms": "5000"}, {"retention.ms": "5000"})


@pytest.mark.parametrize("name", ["1", ""])
def test_an_unchanged_broker_value_is_shown(admin: Admin, asked: Asked, name: str) -> None:
    """3.21: on a BROKER with the unchanged value; KAFKA-14136, brokers reload then."""
    for _ in range(2):
        assert admin.alter((BROKER, name), ("log.cleaner.backoff.ms", SET, "111")).error_code == 0
    assert admin.alter((BROKER, name), ("background.threads", DELETE, None)).error_code == 0

    first, second, third = asked()
    place = "broker:1" if name else "brokers"
    assert [each["resource"] for each in (first, second, third)] == [place] * 3
    key = {"log.cleaner.backoff.ms": "111"}
    assert said(first) == (key, {}, key)
    assert said(second) == (key, key, key)
    assert said(third) == ({"background.threads": None}, key, key)
    admin.alter((BROKER, name), ("log.cleaner.backoff.ms", DELETE, None))


@pytest.mark.parametrize("name", ["1", "01", "+1"])
def test_a_broker_is_passed_to_policies_by_its_own_name(admin: Admin, asked: Asked, name: str) -> None:
    """So that another spelling cannot bypass a rule about broker:1."""
    assert admin.alter((BROKER, name), ("log.cleaner.backoff.ms", SET, "112"), dry=True).error_code == 0

    assert [each["resource"] for each in asked()] == ["broker:1"]


@pytest.mark.parametrize(
    ("kind", "key", "word"),
    [(GROUP, "consumer.session.timeout.ms", "group"), (CLIENT_METRICS, "interval.ms", "client-metrics")],
)
def test_groups_and_client_metrics_are_passed_to_policies(
    admin: Admin, asked: Asked, kind: int, key: str, word: str, topic: str
) -> None:
    assert admin.alter((kind, topic), (key, SET, "50000")).error_code == 0
    assert codes(admin.replace([((kind, topic), {key: "50000"})])) == [0]
    assert admin.alter((kind, topic), (key, DELETE, None)).error_code == 0

    first, second, third = asked()
    assert first["resource"] == f"{word}:{topic}"
    assert said(first) == ({key: "50000"}, {}, {key: "50000"})
    assert said(second) == ({}, {key: "50000"}, {key: "50000"})
    assert said(third) == ({key: None}, {key: "50000"}, {})
    assert first["partitions"] is None


def test_loggers_are_never_passed_to_policies(admin: Admin, asked: Asked) -> None:
    assert admin.alter((BROKER_LOGGER, "1"), ("kconf.service", SET, "INFO")).error_code == 0
    assert admin.alter((BROKER_LOGGER, "1"), ("kconf.service", DELETE, None)).error_code == 0

    assert asked() == []


def test_a_dry_run_is_passed_to_policies_like_a_real_change(admin: Admin, asked: Asked, topic: str) -> None:
    admin.create(topic)
    asked()

    admin.alter((TOPIC, topic), ("flush.ms", SET, "8"), dry=True)
    admin.replace([((TOPIC, topic), {"flush.ms": "8"})], dry=True)
    admin.alter((TOPIC, topic), ("flush.ms", SET, "8"))

    dry, also_dry, wet = asked()
    assert [each["validate_only"] for each in (dry, also_dry, wet)] == [True, True, False]
    assert said(dry) == said(also_dry) == said(wet) == ({"flush.ms": "8"}, {}, {"flush.ms": "8"})


# -- new topics ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dry", [False, True])
def test_a_new_topics_configs_go_to_the_alter_policy_first(admin: Admin, asked: Asked, topic: str, dry: bool) -> None:
    """3.21, as in Kafka 4.3.1; defaults are filled in before the create policy is called."""
    assert codes(admin.create(topic, configs={"flush.ms": "8", "retention.ms": " 9 "}, dry=dry)) == [0]

    alter, create = asked()
    assert said(alter) == ({"flush.ms": "8", "retention.ms": " 9 "}, {}, {"flush.ms": "8", "retention.ms": " 9 "})
    assert (alter["kind"], alter["resource"], alter["partitions"]) == ("alter", f"topic:{topic}", None)
    assert create == {
        "kind": "create",
        "resource": f"topic:{topic}",
        "partitions": 3,
        "factor": 1,
        "assignments": None,
        "configs": {"flush.ms": "8", "retention.ms": " 9 "},
        "principal": "User:ANONYMOUS",
        "validate_only": dry,
    }


def test_without_configs_only_the_create_policy_is_called(admin: Admin, asked: Asked, topic: str) -> None:
    admin.create(topic, partitions=4, factor=1)

    (question,) = asked()
    assert (question["kind"], question["partitions"], question["factor"]) == ("create", 4, 1)
    assert question["configs"] == {}


def test_a_topic_with_assignments_is_shown_without_counts(admin: Admin, asked: Asked, topic: str) -> None:
    assignments = [CreatableReplicaAssignment(index, [1]) for index in (1, 0)]
    requested = CreatableTopic(topic, -1, -1, assignments, [CreatableTopicConfig("flush.ms", "8")])

    assert codes(admin.create_topics([requested])) == [0]

    _, question = asked()
    assert (question["partitions"], question["factor"]) == (None, None)
    assert question["assignments"] == {"0": [1], "1": [1]}
    assert question["configs"] == {"flush.ms": "8"}


def test_a_topic_created_by_a_metadata_request_is_passed_to_policies() -> None:
    with classes(None, "Create", **{"auto.create.topics.enable": "true"}) as server, Admin(server.bootstrap) as admin:
        asked = Asked(server)
        names = [MetadataRequestTopic(name=name) for name in ("auto.create.REFUSE", "auto-fine")]
        admin.ask("Metadata", 9, topics=names, allow_auto_topic_creation=True)
        asked.wait()
        while (said := admin.describe((TOPIC, "auto-fine"))[0]).error_code:
            assert said.error_code == 3
        assert admin.describe((TOPIC, "auto.create.REFUSE"))[0].error_code == 3


def test_added_partitions_are_passed_only_to_a_class_with_check_growth() -> None:
    """Kafka calls no policy for this."""
    with classes(None, "Growth") as server, Admin(server.bootstrap) as admin:
        asked = Asked(server)
        admin.create_topics([new_topic("orders", 2, 1)])
        asked()
        assert admin.grow("orders", 6).error_code == 44
        assert admin.grow("orders", 6, dry=True).error_code == 44
        assert admin.grow("orders", 5).error_code == 0
        questions = asked()
        assert [(each["kind"], each["had"], each["has"]) for each in questions] == [
            ("growth", 2, 6), ("growth", 2, 6), ("growth", 2, 5)
        ]  # fmt: skip


def test_growth_is_not_passed_to_kafkas_two_policies(admin: Admin, asked: Asked, topic: str) -> None:
    admin.create(topic)
    asked()

    assert admin.grow(topic, 6).error_code == 0
    assert asked() == []
