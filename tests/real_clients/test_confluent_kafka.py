"""confluent-kafka (librdkafka) administers a real kconf process. It uses versions from the middle of the ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import confluent_kafka.admin
import pytest
from confluent_kafka import KafkaException, TopicCollection

from tests.support.process import KconfProcess

library: Any = confluent_kafka.admin  # its names are not exported to type checkers
AdminClient, NewTopic, NewPartitions = library.AdminClient, library.NewTopic, library.NewPartitions
ConfigResource, ConfigEntry, ConfigSource = library.ConfigResource, library.ConfigEntry, library.ConfigSource
AlterConfigOpType = library.AlterConfigOpType
SET, DELETE = AlterConfigOpType.SET, AlterConfigOpType.DELETE
APPEND, SUBTRACT = AlterConfigOpType.APPEND, AlterConfigOpType.SUBTRACT


@pytest.fixture
def admin(server: KconfProcess) -> Any:
    return AdminClient({"bootstrap.servers": server.bootstrap})


@pytest.fixture
def own_admin(own_server: KconfProcess) -> Any:
    return AdminClient({"bootstrap.servers": own_server.bootstrap})


def outcomes(futures: Mapping[Any, Any]) -> dict[str, int]:
    """Code by name; 0 is success."""
    found = {}
    for name, future in futures.items():
        try:
            future.result(60)
        except KafkaException as error:
            found[getattr(name, "name", name)] = error.args[0].code()
        else:
            found[getattr(name, "name", name)] = 0
    return found


def entries(admin: Any, kind: str, name: str) -> dict[str, Any]:
    (future,) = admin.describe_configs([ConfigResource(kind, name)]).values()
    found: dict[str, Any] = future.result(60)
    return found


def chosen(admin: Any, topic: str) -> dict[str, str]:
    """The topic's own overrides."""
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {name: each.value for name, each in entries(admin, "topic", topic).items() if each.source == own}


def altered(kind: str, name: str, *operations: tuple[str, str | None, Any]) -> Any:
    return ConfigResource(
        kind,
        name,
        incremental_configs=[ConfigEntry(key, value, incremental_operation=op) for key, value, op in operations],
    )


def create(admin: Any, *topics: Any, **options: Any) -> dict[str, int]:
    return outcomes(admin.create_topics(list(topics), **options))


def test_the_cluster_has_one_broker_which_is_the_controller(admin: Any, server: KconfProcess) -> None:
    cluster = admin.describe_cluster(include_authorized_operations=True).result(60)
    metadata = admin.list_topics(timeout=60)

    assert [(each.id, each.host, each.port) for each in cluster.nodes] == [(1, server.host, server.port)]
    assert cluster.controller.id == metadata.controller_id == 1
    assert cluster.cluster_id == metadata.cluster_id
    assert "ALTER_CONFIGS" in [each.name for each in cluster.authorized_operations]


def test_a_topic_is_created_with_partitions_and_configs(admin: Any, topic: str) -> None:
    made = create(admin, NewTopic(topic, 3, 1, config={"retention.ms": "5000"}))

    assert made == {topic: 0}
    assert len(admin.list_topics(topic, timeout=60).topics[topic].partitions) == 3
    assert chosen(admin, topic) == {"retention.ms": "5000"}


def test_a_topic_without_counts_gets_the_defaults(admin: Any, topic: str) -> None:
    assert create(admin, NewTopic(topic)) == {topic: 0}

    assert len(admin.list_topics(topic, timeout=60).topics[topic].partitions) == 1


def test_an_assignment_of_replicas_determines_the_partitions(admin: Any, topic: str) -> None:
    assert create(admin, NewTopic(topic, num_partitions=2, replica_assignment=[[1], [1]])) == {topic: 0}

    assert len(admin.list_topics(topic, timeout=60).topics[topic].partitions) == 2


def test_validate_only_creates_nothing(admin: Any, topic: str) -> None:
    good, bad = NewTopic(topic, 2, 1), NewTopic(f"{topic}-bad", 2, 9)

    said = create(admin, good, bad, validate_only=True)

    assert said == {topic: 0, f"{topic}-bad": 38}
    assert topic not in admin.list_topics(timeout=60).topics


def test_each_topic_of_a_request_has_its_own_outcome(admin: Any, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1))

    said = create(
        admin,
        NewTopic(topic, 1, 1),
        NewTopic("bad name", 1, 1),
        NewTopic(f"{topic}-key", 1, 1, config={"no.such.key": "1"}),
        NewTopic(f"{topic}-value", 1, 1, config={"retention.ms": "soon"}),
        NewTopic(f"{topic}-replicas", 1, 3),
        NewTopic(f"{topic}-good", 1, 1),
    )

    assert said == {
        topic: 36,
        "bad name": 17,
        f"{topic}-key": 40,
        f"{topic}-value": 40,
        f"{topic}-replicas": 38,
        f"{topic}-good": 0,
    }


def test_topics_are_described(admin: Any, topic: str) -> None:
    create(admin, NewTopic(topic, 2, 1))

    futures = admin.describe_topics(TopicCollection([topic, f"{topic}-missing"]))
    found = futures[topic].result(60)

    assert [(each.id, each.leader.id, [node.id for node in each.isr]) for each in found.partitions] == [
        (0, 1, [1]),
        (1, 1, [1]),
    ]
    assert not found.is_internal
    assert outcomes(futures) == {topic: 0, f"{topic}-missing": 3}


def test_a_topics_entries_have_values_sources_and_synonyms(admin: Any, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1, config={"retention.ms": "5000"}))

    found = entries(admin, "topic", topic)

    assert len(found) == 33
    retention = found["retention.ms"]
    assert (retention.value, retention.source, retention.is_read_only) == ("5000", 1, False)
    assert [(each.name, each.value, each.source) for each in retention.synonyms.values()] == [
        ("retention.ms", "5000", 1),
        ("log.retention.ms", "3600000", 4),
        ("log.retention.hours", "168", 5),
    ]
    assert found["segment.bytes"].source == ConfigSource.DEFAULT_CONFIG.value


def test_sensitive_values_of_a_broker_are_hidden(admin: Any) -> None:
    found = entries(admin, "broker", "1")

    assert len(found) == 340
    password = found["ssl.truststore.password"]
    assert (password.value, password.is_sensitive, password.source) == (None, True, 4)
    assert [each.value for each in password.synonyms.values()] == [None]
    assert found["node.id"].is_read_only


def test_describing_an_unknown_topic_fails_that_topic_only(admin: Any, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1))

    said = outcomes(
        admin.describe_configs([ConfigResource("topic", topic), ConfigResource("topic", f"{topic}-missing")])
    )

    assert said == {topic: 0, f"{topic}-missing": 3}


def test_set_append_subtract_and_delete_change_only_the_named_keys(admin: Any, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1, config={"retention.ms": "1", "segment.ms": "2"}))
    first = altered(
        "topic", topic, ("cleanup.policy", "compact", APPEND), ("retention.ms", None, DELETE), ("flush.ms", "7", SET)
    )
    second = altered("topic", topic, ("cleanup.policy", "delete", SUBTRACT))

    assert outcomes(admin.incremental_alter_configs([first])) == {topic: 0}
    assert chosen(admin, topic) == {"cleanup.policy": "delete,compact", "flush.ms": "7", "segment.ms": "2"}
    assert outcomes(admin.incremental_alter_configs([second])) == {topic: 0}
    assert chosen(admin, topic)["cleanup.policy"] == "compact"


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated")
def test_alter_configs_replaces_all_overrides(admin: Any, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1, config={"retention.ms": "1", "segment.ms": "2"}))

    said = outcomes(admin.alter_configs([ConfigResource("topic", topic, set_config={"segment.ms": "3"})]))

    assert said == {topic: 0}
    assert chosen(admin, topic) == {"segment.ms": "3"}


def test_an_error_of_one_resource_affects_no_other(admin: Any, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1), NewTopic(f"{topic}-other", 1, 1))

    said = outcomes(
        admin.incremental_alter_configs(
            [
                altered("topic", topic, ("flush.ms", "7", SET), ("retention.ms", "soon", SET)),
                altered("topic", f"{topic}-missing", ("flush.ms", "7", SET)),
                altered("topic", f"{topic}-other", ("flush.ms", "7", SET)),
            ]
        )
    )

    assert said == {topic: 40, f"{topic}-missing": 3, f"{topic}-other": 0}
    assert (chosen(admin, topic), chosen(admin, f"{topic}-other")) == ({}, {"flush.ms": "7"})


def test_a_dry_run_is_validated_and_changes_nothing(admin: Any, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1))
    good, bad = ("flush.ms", "7", SET), ("flush.ms", "-1", SET)

    assert outcomes(admin.incremental_alter_configs([altered("topic", topic, good)], validate_only=True)) == {topic: 0}
    assert outcomes(admin.incremental_alter_configs([altered("topic", topic, bad)], validate_only=True)) == {topic: 40}
    assert chosen(admin, topic) == {}


def test_topics_inherit_a_broker_config_until_it_is_deleted(own_admin: Any, topic: str) -> None:
    create(own_admin, NewTopic(topic, 1, 1))
    change = altered("broker", "1", ("log.retention.ms", "60000", SET))
    undo = altered("broker", "1", ("log.retention.ms", None, DELETE))

    assert outcomes(own_admin.incremental_alter_configs([change])) == {"1": 0}
    retention = entries(own_admin, "topic", topic)["retention.ms"]
    assert (retention.value, retention.source) == ("60000", ConfigSource.DYNAMIC_BROKER_CONFIG.value)
    outcomes(own_admin.incremental_alter_configs([undo]))
    retention = entries(own_admin, "topic", topic)["retention.ms"]
    assert (retention.value, retention.source) == ("3600000", ConfigSource.STATIC_BROKER_CONFIG.value)


def test_a_read_only_broker_key_is_refused(admin: Any) -> None:
    said = outcomes(admin.incremental_alter_configs([altered("broker", "1", ("log.retention.hours", "5", SET))]))

    assert said == {"1": 42}


def test_groups_are_altered_and_described(admin: Any) -> None:
    change = altered("group", "payments", ("consumer.session.timeout.ms", "50000", SET))

    assert outcomes(admin.incremental_alter_configs([change])) == {"payments": 0}
    session = entries(admin, "group", "payments")["consumer.session.timeout.ms"]
    assert (session.value, session.source) == ("50000", ConfigSource.GROUP_CONFIG.value)


def test_partitions_can_be_added_but_not_removed(admin: Any, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1), NewTopic(f"{topic}-same", 2, 1))

    said = outcomes(
        admin.create_partitions(
            [NewPartitions(topic, 3), NewPartitions(f"{topic}-same", 2), NewPartitions(f"{topic}-missing", 4)]
        )
    )

    assert said == {topic: 0, f"{topic}-same": 37, f"{topic}-missing": 3}
    assert len(admin.list_topics(topic, timeout=60).topics[topic].partitions) == 3


def test_topics_are_deleted_and_deleting_unknown_ones_fails(admin: Any, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1))

    said = outcomes(admin.delete_topics([topic, f"{topic}-missing"]))

    assert said == {topic: 0, f"{topic}-missing": 3}
    assert topic not in admin.list_topics(timeout=60).topics


def test_there_are_no_live_groups(admin: Any) -> None:
    listed = admin.list_consumer_groups().result(60)

    assert (listed.valid, listed.errors) == ([], [])
