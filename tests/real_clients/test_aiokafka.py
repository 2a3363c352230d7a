"""aiokafka administers a real kconf process. It uses old versions, and does not have IncrementalAlterConfigs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.support.process import KconfProcess

TOPIC, BROKER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER


class Admin:
    """aiokafka's client with blocking calls: `admin.list_topics()` waits for the response."""

    def __init__(self, address: str) -> None:
        self._runner = asyncio.Runner()
        self._client = self._runner.run(self._open(address))

    @staticmethod
    async def _open(address: str) -> Any:
        client: Any = AIOKafkaAdminClient(bootstrap_servers=address)
        await client.start()
        return client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)
        return lambda *args, **options: self._runner.run(method(*args, **options))

    def end(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()


@pytest.fixture
def admin(server: KconfProcess) -> Iterator[Admin]:
    yield from _admin(server)


@pytest.fixture
def own_admin(own_server: KconfProcess) -> Iterator[Admin]:
    yield from _admin(own_server)


def _admin(server: KconfProcess) -> Iterator[Admin]:
    client = Admin(server.bootstrap)
    yield client
    client.end()


def create(admin: Admin, *topics: Any, **options: Any) -> dict[str, int]:
    """Code by topic; 0 is success."""
    answer = admin.create_topics(list(topics), **options)
    return {name: code for name, code, _ in answer.topic_errors}


def described(admin: Admin, *resources: Any) -> dict[str, Any]:
    """The error code and the entries of each resource in DescribeConfigs."""
    answers = admin.describe_configs(list(resources), include_synonyms=True)
    results = [each for answer in answers for each in answer.to_object()["resources"]]
    return {
        each["resource_name"]: (each["error_code"], {one["config_names"]: one for one in each["config_entries"]})
        for each in results
    }


def entries(admin: Admin, kind: Any, name: str) -> dict[str, Any]:
    code, found = described(admin, ConfigResource(kind, name))[name]
    assert code == 0
    assert isinstance(found, dict)
    return found


def chosen(admin: Admin, topic: str) -> dict[str, str]:
    """The topic's own overrides."""
    return {
        name: each["config_value"] for name, each in entries(admin, TOPIC, topic).items() if each["config_source"] == 1
    }


def alter(admin: Admin, *resources: Any) -> dict[str, int]:
    """Code by resource. aiokafka always sends a request for topics, even an empty one."""
    answers = admin.alter_configs(list(resources))
    return {name: code for answer in answers for code, _, _, name in answer.resources}


def test_the_cluster_has_one_broker_which_is_the_controller(admin: Admin, server: KconfProcess) -> None:
    cluster = admin.describe_cluster()

    assert cluster["brokers"] == [{"node_id": 1, "host": server.host, "port": server.port, "rack": None}]
    assert cluster["controller_id"] == 1
    assert len(cluster["cluster_id"]) == 22


def test_a_topic_is_created_with_partitions_and_configs(admin: Admin, topic: str) -> None:
    made = create(admin, NewTopic(topic, 3, 1, topic_configs={"retention.ms": "5000"}))

    (found,) = admin.describe_topics([topic])
    assert made == {topic: 0}
    assert topic in admin.list_topics()
    assert [(each["partition"], each["leader"], each["isr"]) for each in found["partitions"]] == [
        (0, 1, [1]),
        (1, 1, [1]),
        (2, 1, [1]),
    ]
    assert chosen(admin, topic) == {"retention.ms": "5000"}


def test_an_assignment_of_replicas_determines_the_partitions(admin: Admin, topic: str) -> None:
    assert create(admin, NewTopic(topic, -1, -1, replica_assignments={0: [1], 1: [1]})) == {topic: 0}

    assert len(admin.describe_topics([topic])[0]["partitions"]) == 2


def test_validate_only_creates_nothing(admin: Admin, topic: str) -> None:
    assert create(admin, NewTopic(topic, 2, 1), validate_only=True) == {topic: 0}

    assert topic not in admin.list_topics()


def test_each_topic_of_a_request_has_its_own_outcome(admin: Admin, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1))

    said = create(
        admin,
        NewTopic(topic, 1, 1),
        NewTopic("bad name", 1, 1),
        NewTopic(f"{topic}-key", 1, 1, topic_configs={"no.such.key": "1"}),
        NewTopic(f"{topic}-value", 1, 1, topic_configs={"retention.ms": "soon"}),
        NewTopic(f"{topic}-replicas", 1, 3),
        NewTopic(f"{topic}-good", 1, 1),
    )

    assert {name: errors.for_code(code) for name, code in said.items()} == {
        topic: errors.TopicAlreadyExistsError,
        "bad name": errors.InvalidTopicError,
        f"{topic}-key": errors.InvalidConfigurationError,
        f"{topic}-value": errors.InvalidConfigurationError,
        f"{topic}-replicas": errors.InvalidReplicationFactorError,
        f"{topic}-good": errors.NoError,
    }


def test_describing_an_unknown_topic_returns_its_error(admin: Admin, topic: str) -> None:
    (missing,) = admin.describe_topics([topic])

    assert (missing["error_code"], missing["partitions"]) == (3, [])


def test_a_topics_entries_have_values_sources_and_synonyms(admin: Admin, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1, topic_configs={"retention.ms": "5000"}))

    found = entries(admin, TOPIC, topic)

    assert len(found) == 33
    assert found["retention.ms"] == {
        "config_names": "retention.ms",
        "config_value": "5000",
        "read_only": False,
        "config_source": 1,
        "is_sensitive": False,
        "config_synonyms": [
            {"config_name": "retention.ms", "config_value": "5000", "config_source": 1},
            {"config_name": "log.retention.ms", "config_value": "3600000", "config_source": 4},
            {"config_name": "log.retention.hours", "config_value": "168", "config_source": 5},
        ],
    }
    assert found["segment.bytes"]["config_source"] == 5


def test_only_the_requested_keys_are_returned(admin: Admin, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1))

    said = described(admin, ConfigResource(TOPIC, topic, {"segment.ms": None, "no.such.key": None}))

    assert list(said[topic][1]) == ["segment.ms"]


def test_sensitive_values_of_a_broker_are_hidden(admin: Admin) -> None:
    found = entries(admin, BROKER, "1")

    assert len(found) == 340
    password = found["ssl.truststore.password"]
    assert (password["config_value"], password["is_sensitive"], password["config_source"]) == (None, True, 4)
    assert [each["config_value"] for each in password["config_synonyms"]] == [None]


def test_describing_an_unknown_topic_fails_that_topic_only(admin: Admin, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1))

    said = described(admin, ConfigResource(TOPIC, topic), ConfigResource(TOPIC, f"{topic}-missing"))

    assert (said[topic][0], said[f"{topic}-missing"]) == (0, (3, {}))


def test_alter_configs_replaces_all_overrides(admin: Admin, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1, topic_configs={"retention.ms": "1", "segment.ms": "2"}))

    assert alter(admin, ConfigResource(TOPIC, topic, {"segment.ms": "3"})) == {topic: 0}
    assert chosen(admin, topic) == {"segment.ms": "3"}


def test_an_error_of_one_resource_affects_no_other(admin: Admin, topic: str) -> None:
    other = f"{topic}-other"
    create(admin, NewTopic(topic, 1, 1), NewTopic(other, 1, 1))

    said = alter(
        admin,
        ConfigResource(TOPIC, topic, {"flush.ms": "7", "retention.ms": "soon"}),
        ConfigResource(TOPIC, f"{topic}-missing", {"flush.ms": "7"}),
        ConfigResource(TOPIC, other, {"flush.ms": "7"}),
        ConfigResource(BROKER, "1", {"broker.id": "6"}),
    )

    assert said == {topic: 40, f"{topic}-missing": 3, other: 0, "1": 42}
    assert (chosen(admin, topic), chosen(admin, other)) == ({}, {"flush.ms": "7"})


def test_topics_inherit_a_broker_config(own_admin: Admin, topic: str) -> None:
    create(own_admin, NewTopic(topic, 1, 1))

    assert alter(own_admin, ConfigResource(BROKER, "1", {"log.retention.ms": "60000"})) == {"1": 0}
    retention = entries(own_admin, TOPIC, topic)["retention.ms"]
    assert (retention["config_value"], retention["config_source"]) == ("60000", 2)
    assert alter(own_admin, ConfigResource(BROKER, "1", {})) == {"1": 0}
    retention = entries(own_admin, TOPIC, topic)["retention.ms"]
    assert (retention["config_value"], retention["config_source"]) == ("3600000", 4)


def test_partitions_can_be_added_but_not_removed(admin: Admin, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1))

    admin.create_partitions({topic: NewPartitions(3)})

    assert len(admin.describe_topics([topic])[0]["partitions"]) == 3
    with pytest.raises(errors.InvalidPartitionsError):
        admin.create_partitions({topic: NewPartitions(2)})
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        admin.create_partitions({f"{topic}-missing": NewPartitions(2)})


def test_topics_are_deleted_and_deleting_unknown_ones_fails(admin: Admin, topic: str) -> None:
    create(admin, NewTopic(topic, 1, 1))

    answer = admin.delete_topics([topic, f"{topic}-missing"])

    assert dict(answer.topic_error_codes) == {topic: 0, f"{topic}-missing": 3}
    assert topic not in admin.list_topics()


def test_there_are_no_live_groups(admin: Admin) -> None:
    assert admin.list_consumer_groups() == []
