"""Versions that no current client library sends, down to 0, on a plain socket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kconf.protocol.apis import APIS, BY_NAME
from kconf.protocol.codec.serde import decode
from kconf.protocol.messages.api_versions import ApiVersionsResponse
from kconf.protocol.messages.metadata import MetadataRequestTopic
from kconf.protocol.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.admin import APPEND, BROKER, CLIENT_METRICS, GROUP, SET, TOPIC, Admin, codes
from tests.support.process import KconfProcess

HARMLESS: dict[str, dict[str, object]] = {
    "Produce": {"topic_data": (), "acks": 1},
    "Fetch": {},
    "ListOffsets": {"replica_id": -1},
    "Metadata": {"topics": ()},
    "OffsetFetch": {"group_id": "g"},
    "FindCoordinator": {"key": "g"},
    "DescribeGroups": {"groups": ("g",)},
    "ListGroups": {},
    "ApiVersions": {"client_software_name": "wire", "client_software_version": "1"},
    "CreateTopics": {"topics": ()},
    "DeleteTopics": {},
    "DeleteRecords": {"topics": (), "timeout_ms": 1000},
    "DescribeAcls": {"resource_type_filter": 1, "resource_name_filter": None},
    "CreateAcls": {"creations": ()},
    "DeleteAcls": {"filters": ()},
    "DescribeConfigs": {"resources": ()},
    "AlterConfigs": {"resources": ()},
    "DescribeLogDirs": {"topics": None},
    "CreatePartitions": {"topics": ()},
    "DescribeDelegationToken": {"owners": None},
    "DeleteGroups": {"groups_names": ("g",)},
    "ElectLeaders": {"topic_partitions": None},
    "IncrementalAlterConfigs": {"resources": ()},
    "AlterPartitionReassignments": {},
    "ListPartitionReassignments": {},
    "OffsetDelete": {"group_id": "g", "topics": ()},
    "DescribeCluster": {"include_cluster_authorized_operations": False},
    "DescribeProducers": {"topics": ()},
    "DescribeTransactions": {"transactional_ids": ("t",)},
    "ListTransactions": {"state_filters": (), "producer_id_filters": ()},
    "ConsumerGroupDescribe": {"group_ids": ("g",), "include_authorized_operations": False},
    "ListConfigResources": {},
    "DescribeTopicPartitions": {"topics": ()},
}
EVERY_VERSION = [(name, version) for name in HARMLESS for version in range(BY_NAME[name].min, BY_NAME[name].max + 1)]


@pytest.fixture
def admin(server: KconfProcess) -> Iterator[Admin]:
    with Admin(server.bootstrap) as connection:
        yield connection


@pytest.mark.parametrize(("api", "version"), EVERY_VERSION)
def test_every_version_of_every_api_is_answered(admin: Admin, api: str, version: int) -> None:
    answer = admin.ask(api, version, **HARMLESS[api])

    assert isinstance(answer, BY_NAME[api].response)


def test_all_versions_of_api_versions_return_the_same(admin: Admin) -> None:
    answers = [admin.ask("ApiVersions", version, **HARMLESS["ApiVersions"]) for version in range(5)]
    served = {(each.api_key, each.min_version, each.max_version) for each in answers[0].api_keys}

    assert all({(e.api_key, e.min_version, e.max_version) for e in answer.api_keys} == served for answer in answers)
    assert {APIS[key].name for key, _, _ in served} >= set(HARMLESS)
    assert all((low, high) == (APIS[key].min, APIS[key].max) for key, low, high in served)


def test_api_versions_of_a_future_version_is_answered_in_version_0(admin: Admin) -> None:
    answer = decode(ApiVersionsResponse, 0, False, admin.say(18, 99, b"\x00\x01\x02"))

    assert answer.error_code == 35
    assert [(each.api_key, each.min_version, each.max_version) for each in answer.api_keys] == [(18, 0, 5)]


@pytest.mark.parametrize(
    ("key", "version"), [(32, BY_NAME["DescribeConfigs"].max + 1), (19, 8), (0, 14), (8, 2), (9999, 0)]
)
def test_an_unsupported_api_closes_the_connection(admin: Admin, key: int, version: int) -> None:
    with pytest.raises(ConnectionError):
        admin.say(key, version)


@pytest.mark.parametrize("version", [2, 7, 12])
def test_a_producer_is_refused_or_loses_its_connection(admin: Admin, topic: str, version: int) -> None:
    admin.create(topic)
    data = [TopicProduceData(topic, bytes(16), [PartitionProduceData(0, b"records")])]

    answer = admin.ask("Produce", version, acks=-1, timeout_ms=1000, topic_data=data)
    with pytest.raises(ConnectionError):
        admin.ask("Produce", version, acks=0, timeout_ms=1000, topic_data=data)

    assert [each.error_code for each in answer.responses[0].partition_responses] == [42]


def test_a_broker_shows_the_listener_on_which_it_listens(admin: Admin, server: KconfProcess) -> None:
    entries = admin.entries((BROKER, "1"))

    for key in ("listeners", "advertised.listeners"):
        assert (entries[key].value, entries[key].config_source) == (f"PLAINTEXT://{server.bootstrap}", 4)


def test_a_dry_run_returns_a_topic_id_that_no_topic_gets(admin: Admin, topic: str) -> None:
    (planned,) = admin.create(topic, dry=True)
    (made,) = admin.create(topic)

    assert any(planned.topic_id)
    assert planned.topic_id != made.topic_id


def test_create_topics_v0_returns_only_an_error_code(admin: Admin, topic: str) -> None:
    first = admin.create(topic, partitions=2, factor=1, configs={"segment.ms": "5"}, version=0)
    second = admin.create(topic, partitions=2, factor=1, version=0)

    assert (codes(first), codes(second)) == ([0], [36])
    assert (second[0].error_message, second[0].num_partitions) == (None, -1)
    assert admin.overrides(topic) == {"segment.ms": "5"}


def test_create_topics_v1_has_validate_only_and_a_message(admin: Admin, topic: str) -> None:
    planned = admin.create(topic, version=1, dry=True)
    refused = admin.create(topic, factor=9, version=1, dry=True)

    assert (codes(planned), codes(refused)) == ([0], [38])
    assert "9" in refused[0].error_message
    assert admin.describe((TOPIC, topic))[0].error_code == 3


def test_create_topics_returns_the_configs_from_v5_and_the_id_from_v7(admin: Admin, topic: str) -> None:
    made = {version: admin.create(f"{topic}-{version}", version=version)[0] for version in range(8)}

    assert codes(made.values()) == [0] * 8
    assert [version for version, each in made.items() if each.num_partitions == 1] == [5, 6, 7]
    assert [version for version, each in made.items() if each.configs] == [5, 6, 7]
    assert [version for version, each in made.items() if any(each.topic_id)] == [7]


def test_in_metadata_v0_an_empty_list_means_all_topics(admin: Admin, topic: str) -> None:
    admin.create(topic, partitions=2)

    everything = admin.ask("Metadata", 0, topics=[])
    found = admin.ask("Metadata", 0, topics=[MetadataRequestTopic(name=topic)])

    assert topic in [each.name for each in everything.topics]
    (only,) = found.topics
    assert [(each.partition_index, each.leader_id, list(each.replica_nodes)) for each in only.partitions] == [
        (0, 1, [1]),
        (1, 1, [1]),
    ]


def test_in_metadata_from_v1_null_means_all_topics_and_an_empty_list_none(admin: Admin, topic: str) -> None:
    admin.create(topic)

    for version in range(1, 14):
        everything = admin.ask("Metadata", version, topics=None)
        assert topic in [each.name for each in everything.topics]
        assert everything.controller_id == 1
        assert admin.ask("Metadata", version, topics=[]).topics == []


def test_describe_configs_v0_marks_defaults(admin: Admin, topic: str) -> None:
    """v0 has a flag where later versions have a source. Kafka stopped filling it in 2.7; kconf fills it."""
    admin.create(topic, configs={"segment.ms": "5"})

    entries = admin.entries((TOPIC, topic), version=0)

    assert len(entries) == 33
    assert (entries["segment.ms"].value, entries["segment.ms"].is_default) == ("5", False)
    assert (entries["retention.ms"].value, entries["retention.ms"].is_default) == ("3600000", False)
    assert (entries["cleanup.policy"].value, entries["cleanup.policy"].is_default) == ("delete", True)


def test_describe_configs_v0_hides_sensitive_values(admin: Admin) -> None:
    entries = admin.entries((BROKER, "1"), version=0)

    password = entries["ssl.truststore.password"]
    assert (password.value, password.is_sensitive, password.is_default) == (None, True, False)
    assert entries["node.id"].read_only


def test_describe_configs_gains_sources_in_v1_and_types_and_documentation_in_v3(admin: Admin, topic: str) -> None:
    admin.create(topic, configs={"segment.ms": "5"})

    def seen(version: int) -> Any:
        (result,) = admin.describe((TOPIC, topic), keys=["segment.ms"], version=version, documentation=True)
        return result.configs[0]

    entries = {version: seen(version) for version in range(5)}

    assert [entries[version].config_source for version in range(1, 5)] == [1] * 4
    assert all([each.name for each in entries[version].synonyms] == ["segment.ms"] for version in range(1, 5))
    assert [entries[version].config_type for version in range(5)] == [0, 0, 0, 5, 5]
    assert [bool(entries[version].documentation) for version in range(5)] == [False, False, False, True, True]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_alter_configs_replaces_in_every_version(admin: Admin, topic: str, version: int) -> None:
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    said = admin.replace([((TOPIC, topic), {"segment.ms": "7"}), ((TOPIC, "missing"), {})], version=version)

    assert codes(said) == [0, 3]
    assert admin.overrides(topic) == {"segment.ms": "7"}


@pytest.mark.parametrize("version", [0, 1])
def test_incremental_alter_configs_keeps_other_values_in_every_version(admin: Admin, topic: str, version: int) -> None:
    admin.create(topic, configs={"segment.ms": "5"})

    said = admin.alter((TOPIC, topic), ("flush.ms", SET, "6"), ("cleanup.policy", APPEND, "compact"), version=version)

    assert (said.error_code, said.error_message) == (0, None)
    assert admin.overrides(topic) == {"cleanup.policy": "delete,compact", "flush.ms": "6", "segment.ms": "5"}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_create_partitions_works_in_every_version(admin: Admin, topic: str, version: int) -> None:
    admin.create(topic)

    assert admin.grow(topic, 3, version=version).error_code == 0
    assert admin.grow(topic, 3, version=version).error_code == 37


@pytest.mark.parametrize("version", range(7))
def test_delete_topics_works_in_every_version(admin: Admin, topic: str, version: int) -> None:
    admin.create(topic)

    said = admin.delete(topic, "missing", version=version)

    assert {each.name: each.error_code for each in said} == {topic: 0, "missing": 3}


def test_deleting_topics_while_deletion_is_disabled_has_an_older_code_before_v3() -> None:
    with KconfProcess(properties={"delete.topic.enable": "false"}) as server, Admin(server.bootstrap) as admin:
        admin.create("kept")

        assert [admin.delete("kept", version=version)[0].error_code for version in range(7)] == [42] * 3 + [73] * 4


def test_list_config_resources_v0_lists_client_metrics_only(admin: Admin, topic: str) -> None:
    admin.create(topic)
    admin.alter((CLIENT_METRICS, "slow"), ("interval.ms", SET, "1000"))
    admin.alter((GROUP, "payments"), ("consumer.session.timeout.ms", SET, "50000"))

    old = admin.ask("ListConfigResources", 0)
    new = admin.ask("ListConfigResources", 1, resource_types=[])

    assert [each.resource_name for each in old.config_resources] == ["slow"]
    listed = {(each.resource_type, each.resource_name) for each in new.config_resources}
    assert listed >= {(TOPIC, topic), (CLIENT_METRICS, "slow"), (GROUP, "payments"), (BROKER, "1")}


def test_a_request_without_a_client_id_is_answered(server: KconfProcess) -> None:
    with Admin(server.bootstrap, client_id=None) as admin:
        assert admin.ask("Metadata", 0, topics=[]).brokers[0].node_id == 1
