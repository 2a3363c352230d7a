"""kafka-python administers a real kconf process. It uses the newest version of every API it knows."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import errors
from kafka.admin import ACLFilter, ConfigResource, KafkaAdminClient, ResourcePatternFilter
from kafka.admin import ACLOperation as Operation
from kafka.admin import ACLPermissionType as Permission
from kafka.admin import ACLResourcePatternType as PatternType
from kafka.admin import ResourceType as AclResourceType

from tests.support.process import KconfProcess


@pytest.fixture
def admin(server: KconfProcess) -> Iterator[Any]:
    yield from _client(server)


@pytest.fixture
def own_admin(own_server: KconfProcess) -> Iterator[Any]:
    yield from _client(own_server)


def _client(server: KconfProcess) -> Iterator[Any]:
    client: Any = KafkaAdminClient(bootstrap_servers=server.bootstrap)
    yield client
    client.close()


def topic_entries(admin: Any, topic: str, *, which: str = "all", synonyms: bool = False) -> dict[str, Any]:
    found = admin.describe_configs([ConfigResource("topic", topic)], include_synonyms=synonyms, config_filter=which)
    entries: dict[str, Any] = found["topic"][topic]
    return entries


def chosen(admin: Any, topic: str) -> dict[str, str]:
    """The topic's own overrides."""
    entries = topic_entries(admin, topic)
    return {name: each["value"] for name, each in entries.items() if each["config_source"] == "DYNAMIC_TOPIC_CONFIG"}


def test_the_cluster_has_one_broker_which_is_the_controller(admin: Any, server: KconfProcess) -> None:
    cluster = admin.describe_cluster()

    assert cluster["controller_id"] == 1
    assert [(each["broker_id"], each["host"], each["port"]) for each in cluster["brokers"]] == [
        (1, server.host, server.port)
    ]
    assert len(cluster["cluster_id"]) == 22
    assert "ALTER_CONFIGS" in cluster["authorized_operations"]


def test_a_created_topic_is_answered_with_its_id_and_its_whole_configuration(admin: Any, topic: str) -> None:
    requested = {"num_partitions": 3, "replication_factor": 1, "configs": {"retention.ms": "5000"}}

    (made,) = admin.create_topics({topic: requested})["topics"]

    assert (made["error_code"], made["num_partitions"], made["replication_factor"]) == (0, 3, 1)
    assert uuid.UUID(made["topic_id"])
    assert len(made["configs"]) == 33
    assert made["configs"]["retention.ms"] == {
        "value": "5000",
        "read_only": False,
        "config_source": "DYNAMIC_TOPIC_CONFIG",
        "is_sensitive": False,
    }
    assert made["configs"]["cleanup.policy"]["config_source"] == "DEFAULT_CONFIG"


def test_a_topic_without_counts_gets_the_defaults(admin: Any, topic: str) -> None:
    (made,) = admin.create_topics([topic])["topics"]

    assert (made["num_partitions"], made["replication_factor"]) == (1, 1)
    assert made["configs"]["retention.ms"]["value"] == "3600000"
    assert made["configs"]["retention.ms"]["config_source"] == "STATIC_BROKER_CONFIG"


def test_an_assignment_of_replicas_determines_the_partitions(admin: Any, topic: str) -> None:
    (made,) = admin.create_topics({topic: {"assignments": {0: [1], 1: [1]}}})["topics"]

    assert made["num_partitions"] == 2


def test_validate_only_returns_the_result_and_creates_nothing(admin: Any, topic: str) -> None:
    (planned,) = admin.create_topics({topic: {"num_partitions": 4}}, validate_only=True)["topics"]

    assert (planned["error_code"], planned["num_partitions"]) == (0, 4)
    assert topic not in admin.list_topics()


@pytest.mark.parametrize(
    ("name", "requested", "error"),
    [
        ("bad name", {}, errors.InvalidTopicError),
        ("..", {}, errors.InvalidTopicError),
        ("unknown-key", {"configs": {"no.such.key": "1"}}, errors.InvalidConfigurationError),
        ("bad-value", {"configs": {"retention.ms": "soon"}}, errors.InvalidConfigurationError),
        ("many-replicas", {"replication_factor": 3}, errors.InvalidReplicationFactorError),
        ("no-partitions", {"num_partitions": 0}, errors.InvalidPartitionsError),
        ("unknown-broker", {"assignments": {0: [9]}}, errors.InvalidReplicationAssignmentError),
        ("__cluster_metadata", {}, errors.InvalidRequestError),
    ],
)
def test_an_invalid_topic_is_refused(admin: Any, name: str, requested: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        admin.create_topics({name: requested})

    assert name not in admin.list_topics()


def test_each_topic_of_a_request_has_its_own_outcome(admin: Any, topic: str) -> None:
    admin.create_topics([topic])

    outcomes = admin.create_topics([topic, f"{topic}-new"], raise_errors=False)["topics"]

    assert [(each["name"], each["error_code"]) for each in outcomes] == [(topic, 36), (f"{topic}-new", 0)]
    with pytest.raises(errors.TopicAlreadyExistsError):
        admin.create_topics([topic])


def test_topics_are_listed_and_described_by_name_and_by_id(admin: Any, topic: str) -> None:
    (made,) = admin.create_topics({topic: {"num_partitions": 2}})["topics"]

    (by_name,) = admin.describe_topics([topic])
    (by_id,) = admin.describe_topics([uuid.UUID(made["topic_id"])])

    assert topic in admin.list_topics()
    assert by_name == by_id
    assert [(each["partition_index"], each["leader_id"], each["isr_nodes"]) for each in by_name["partitions"]] == [
        (0, 1, [1]),
        (1, 1, [1]),
    ]
    assert not by_name["is_internal"]


def test_describing_an_unknown_topic_returns_its_error(admin: Any, topic: str) -> None:
    (missing,) = admin.describe_topics([topic])

    assert (missing["name"], missing["error_code"], missing["partitions"]) == (topic, 3, [])


def test_a_topics_entries_have_values_sources_types_and_synonyms(admin: Any, topic: str) -> None:
    admin.create_topics({topic: {"configs": {"retention.ms": " 5000 "}}})

    entries = topic_entries(admin, topic, synonyms=True)

    assert len(entries) == 33
    retention = entries["retention.ms"]
    assert (retention["value"], retention["config_type"], retention["read_only"]) == ("5000", "LONG", False)
    assert retention["synonyms"] == [
        {"name": "retention.ms", "value": "5000", "source": "DYNAMIC_TOPIC_CONFIG"},
        {"name": "log.retention.ms", "value": "3600000", "source": "STATIC_BROKER_CONFIG"},
        {"name": "log.retention.hours", "value": "168", "source": "DEFAULT_CONFIG"},
    ]
    assert entries["segment.bytes"]["config_source"] == "DEFAULT_CONFIG"


def test_only_the_requested_keys_are_returned(admin: Any, topic: str) -> None:
    admin.create_topics([topic])
    wanted = ConfigResource("topic", topic, ["segment.ms", "segment.bytes", "no.such.key"])

    found = admin.describe_configs([wanted], config_filter="all")["topic"][topic]

    assert set(found) == {"segment.ms", "segment.bytes"}


def test_sensitive_values_of_a_broker_are_hidden(admin: Any) -> None:
    found = admin.describe_configs([ConfigResource("broker", "1")], include_synonyms=True, config_filter="all")
    entries = found["broker"]["1"]

    assert len(entries) == 340
    password = entries["ssl.truststore.password"]
    assert (password["value"], password["is_sensitive"]) == (None, True)
    assert password["synonyms"] == [
        {"name": "ssl.truststore.password", "value": None, "source": "STATIC_BROKER_CONFIG"}
    ]
    assert entries["node.id"]["read_only"]
    assert not entries["log.retention.ms"]["read_only"]


def test_set_append_subtract_and_delete_change_only_the_named_keys(admin: Any, topic: str) -> None:
    admin.create_topics({topic: {"configs": {"retention.ms": "1", "segment.ms": "2"}}})
    requests = {
        "cleanup.policy": ("append", "compact"),
        "retention.ms": ("delete", None),
        "max.message.bytes": ("set", "77"),
    }

    assert admin.alter_configs([ConfigResource("topic", topic, requests)]) == {"topic": {topic: "OK"}}
    assert chosen(admin, topic) == {
        "cleanup.policy": "delete,compact",
        "max.message.bytes": "77",
        "segment.ms": "2",
    }
    admin.alter_configs([ConfigResource("topic", topic, {"cleanup.policy": ("subtract", "delete")})])
    assert chosen(admin, topic)["cleanup.policy"] == "compact"


def test_reset_configs_restores_the_default(admin: Any, topic: str) -> None:
    admin.create_topics({topic: {"configs": {"segment.ms": "2"}}})

    admin.reset_configs([ConfigResource("topic", topic, ["segment.ms"])])

    assert chosen(admin, topic) == {}
    assert topic_entries(admin, topic)["segment.ms"]["value"] == "604800000"


def test_alter_configs_replaces_all_overrides(admin: Any, topic: str) -> None:
    """kafka-python itself repeats the other overrides, so the replacing request is sent directly."""
    admin.create_topics({topic: {"configs": {"retention.ms": "1", "segment.ms": "2"}}})
    requested = [ConfigResource("topic", topic, {"segment.ms": "3"})]

    kept = admin.alter_configs(requested, incremental=False)
    assert (kept, chosen(admin, topic)) == ({"topic": {topic: "OK"}}, {"retention.ms": "1", "segment.ms": "3"})

    admin._manager.run(admin._send_alter_configs_requests, [ConfigResource("topic", topic, {"segment.ms": "4"})])
    assert chosen(admin, topic) == {"segment.ms": "4"}


def test_an_error_of_one_resource_affects_no_other(admin: Any, topic: str) -> None:
    other = f"{topic}-other"
    admin.create_topics([topic, other])
    requests = [
        ConfigResource("topic", topic, {"compression.type": "zip"}),
        ConfigResource("topic", f"{topic}-missing", {"compression.type": "gzip"}),
        ConfigResource("topic", other, {"compression.type": "gzip"}),
    ]

    outcomes = admin.alter_configs(requests, raise_on_unknown=False)["topic"]

    assert "InvalidConfigurationError" in outcomes[topic]
    assert "UnknownTopicOrPartitionError" in outcomes[f"{topic}-missing"]
    assert outcomes[other] == "OK"
    assert (chosen(admin, topic), chosen(admin, other)) == ({}, {"compression.type": "gzip"})


def test_a_dry_run_is_validated_and_changes_nothing(admin: Any, topic: str) -> None:
    admin.create_topics([topic])
    good, bad = {"segment.ms": "5"}, {"segment.ms": "0"}

    said = admin.alter_configs([ConfigResource("topic", topic, good)], validate_only=True)
    refused = admin.alter_configs([ConfigResource("topic", topic, bad)], validate_only=True)

    assert said == {"topic": {topic: "OK"}}
    assert "InvalidConfigurationError" in refused["topic"][topic]
    assert chosen(admin, topic) == {}


def test_topics_inherit_a_broker_config_until_it_is_deleted(own_admin: Any, topic: str) -> None:
    own_admin.create_topics([topic])
    broker = {"log.retention.ms": "60000"}

    assert own_admin.alter_configs([ConfigResource("broker", "1", broker)]) == {"broker": {"1": "OK"}}
    retention = topic_entries(own_admin, topic)["retention.ms"]
    assert (retention["value"], retention["config_source"]) == ("60000", "DYNAMIC_BROKER_CONFIG")

    own_admin.reset_configs([ConfigResource("broker", "1", ["log.retention.ms"])])
    retention = topic_entries(own_admin, topic)["retention.ms"]
    assert (retention["value"], retention["config_source"]) == ("3600000", "STATIC_BROKER_CONFIG")


def test_a_read_only_broker_key_is_refused(admin: Any) -> None:
    outcome = admin.alter_configs([ConfigResource("broker", "1", {"broker.id": "6"})], raise_on_unknown=False)

    assert "InvalidRequestError" in outcome["broker"]["1"]


def test_groups_and_client_metrics_are_altered_described_and_listed(admin: Any) -> None:
    group = ConfigResource("group", "payments", {"consumer.session.timeout.ms": "50000"})
    metrics = ConfigResource("client_metrics", "slow-clients", {"interval.ms": "1000"})

    said = admin.alter_configs([group, metrics])
    seen = admin.describe_configs(
        [ConfigResource("group", "payments"), ConfigResource("client_metrics", "slow-clients")]
    )

    assert said == {"group": {"payments": "OK"}, "client_metrics": {"slow-clients": "OK"}}
    assert seen["group"]["payments"]["consumer.session.timeout.ms"]["config_source"] == "DYNAMIC_GROUP_CONFIG"
    assert seen["client_metrics"]["slow-clients"]["interval.ms"]["value"] == "1000"
    listed = admin.list_config_resources()
    assert (listed["group"], listed["client_metrics"]) == (["payments"], ["slow-clients"])
    assert (listed["broker"], listed["broker_logger"]) == (["1"], ["1"])


def test_logger_levels_are_described_and_set(admin: Any) -> None:
    before = admin.describe_configs([ConfigResource("broker_logger", "1")])["broker_logger"]["1"]

    said = admin.alter_configs([ConfigResource("broker_logger", "1", {"kconf.service": "WARN"})])
    after = admin.describe_configs([ConfigResource("broker_logger", "1")])["broker_logger"]["1"]

    assert before["root"]["value"] == "INFO"
    assert said == {"broker_logger": {"1": "OK"}}
    assert after["kconf.service"]["value"] == "WARN"
    assert after["kconf.service"]["config_source"] == "DYNAMIC_BROKER_LOGGER_CONFIG"


def test_partitions_can_be_added_but_not_removed(admin: Any, topic: str) -> None:
    admin.create_topics([topic])

    admin.create_partitions({topic: 3})

    assert len(admin.describe_topics([topic])[0]["partitions"]) == 3
    for count in (3, 2):
        with pytest.raises(errors.InvalidPartitionsError):
            admin.create_partitions({topic: count})
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        admin.create_partitions({f"{topic}-missing": 2})


def test_topics_are_deleted_with_their_configs(admin: Any, topic: str) -> None:
    (made,) = admin.create_topics({topic: {"configs": {"segment.ms": "5"}}})["topics"]

    (gone,) = admin.delete_topics([topic])["topics"]
    (again,) = admin.create_topics([topic])["topics"]

    assert (gone["name"], gone["topic_id"], gone["error_code"]) == (topic, made["topic_id"], 0)
    assert again["topic_id"] != made["topic_id"]
    assert chosen(admin, topic) == {}


def test_topics_are_deleted_by_id_and_deleting_unknown_ones_fails(admin: Any, topic: str) -> None:
    (made,) = admin.create_topics([topic])["topics"]

    (gone,) = admin.delete_topics([uuid.UUID(made["topic_id"])])["topics"]

    assert (gone["name"], gone["error_code"]) == (topic, 0)
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        admin.delete_topics([topic])
    with pytest.raises(errors.UnknownTopicIdError):
        admin.delete_topics([uuid.UUID(made["topic_id"])])


def test_there_are_no_acls_without_an_authorizer(admin: Any) -> None:
    everything = ACLFilter(
        principal=None,
        host="*",
        operation=Operation.ANY,
        permission_type=Permission.ANY,
        resource_pattern=ResourcePatternFilter(AclResourceType.ANY, None, PatternType.ANY),
    )

    with pytest.raises(errors.SecurityDisabledError):
        admin.describe_acls(everything)


def test_there_are_no_live_groups(admin: Any) -> None:
    assert admin.list_groups() == []
