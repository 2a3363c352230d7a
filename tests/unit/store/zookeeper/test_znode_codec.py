"""Znode documents are read and written like Kafka's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconf.engine.access.acls import ResourcePattern, key_of
from kconf.model.acl import AclBinding, AclType, Operation, PatternType, Permission
from kconf.store.zookeeper import paths, znode_codec
from tests.unit.store.zookeeper.golden import GOLDEN, golden, unstamped


@pytest.mark.parametrize(("path", "data"), golden(paths.TOPICS, paths.CLIENTS, paths.USERS, paths.BROKERS, paths.IPS))
def test_an_entity_written_by_kafka_is_read_and_written_unchanged(path: str, data: str) -> None:
    resources = paths.resources_of(path)
    document = znode_codec.read_config(path, resources, data.encode())

    assert (document.stamps, document.problems) == ((), [])
    assert {paths.config_path(each) for each in resources} == {path}
    stamps = [7] * len(resources)
    written = znode_codec.write_config(document.overrides.values(), stamps)
    assert unstamped(written) == json.loads(data)
    assert znode_codec.read_config(path, resources, written) == (document.overrides, tuple(stamps), [])


@pytest.mark.parametrize(("path", "data"), golden(paths.LITERAL_ACLS, paths.PREFIXED_ACLS))
def test_acls_written_by_kafka_are_read_and_written_unchanged(path: str, data: str) -> None:
    (resource,) = paths.resources_of(path)
    document = znode_codec.read_acls(path, resource, data.encode())

    assert (document.stamps, document.problems) == ((), [])
    assert paths.config_path(resource) == path
    written = znode_codec.write_acls(document.overrides[resource], [7])
    assert unstamped(written) == json.loads(data)
    assert znode_codec.read_acls(path, resource, written) == (document.overrides, (7,), [])


@pytest.mark.parametrize(
    ("path", "data"), [each for each in golden(paths.TOPIC_NODES) if "/partitions" not in each.values[0]]
)
def test_a_topic_written_by_kafka_is_read_and_written_unchanged(path: str, data: str) -> None:
    name = paths.topic_of(path)
    assert name is not None
    topic, stamp, problems = znode_codec.read_topic(path, name, data.encode())

    assert topic is not None
    assert (stamp, problems, paths.topic_path(name)) == (None, (), path)
    written = znode_codec.write_topic(topic, 7)
    assert unstamped(written) == json.loads(data)
    assert znode_codec.read_topic(path, name, written) == (topic, 7, ())


@pytest.mark.parametrize("case", GOLDEN["entity_data_acceptance"], ids=lambda case: case["path"] + case["data"][:60])
def test_values_that_would_stop_a_broker_from_starting_are_left_out(case: dict[str, Any]) -> None:
    path, data = case["path"], case["data"].encode()
    resources = paths.resources_of(path)
    read = znode_codec.read_acls(path, resources[0], data) if path.startswith("/kafka-acl") else None
    document = read or znode_codec.read_config(path, resources, data)
    taken = [value for overrides in document.overrides.values() for value in overrides.values()]

    assert all(isinstance(value, str) for value in taken)
    unresolvable = path == "/config/ips/no.such.host.zz"  # only name resolution can tell
    if case["at_start"] == "fatal" and not unresolvable:
        assert document.problems
    if case["running"].startswith(("applied", "accepted")):
        assert not document.problems
        assert taken == list(json.loads(data)["config"].values())
    assert "garbage" not in str(document.problems)


def test_every_operation_of_an_acl_has_kafkas_spelling() -> None:
    keys = [
        key_of(AclBinding(AclType.TOPIC, "t", "User:a", operation, Permission.DENY))
        for operation in Operation
        if operation > Operation.ANY
    ]
    written = znode_codec.write_acls(keys, [1])

    words = [each["operation"] for each in json.loads(written)["acls"]]
    assert words[:4] == ["All", "Read", "Write", "Create"]
    assert {"ClusterAction", "DescribeConfigs", "IdempotentWrite"} < set(words)
    resource = ResourcePattern(AclType.TOPIC, PatternType.LITERAL, "t").resource
    assert list(znode_codec.read_acls("/kafka-acl/Topic/t", resource, written).overrides[resource]) == keys


def test_writing_a_topic_preserves_a_reassignment_in_progress() -> None:
    found = (
        b'{"partitions":{"0":[1]},"topic_id":"EBAQEBAQEBAQEBAQEBAQAQ",'
        b'"adding_replicas":{"0":[2]},"removing_replicas":{"0":[1]},"version":3}'
    )
    topic, _, _ = znode_codec.read_topic("/brokers/topics/t", "t", found)
    assert topic is not None

    grown = json.loads(znode_codec.write_topic(topic._replace(replicas=((1,), (1,))), 7, found))

    assert (grown["adding_replicas"], grown["removing_replicas"]) == ({"0": [2]}, {"0": [1]})
    assert grown["partitions"] == {"0": [1], "1": [1]}


@pytest.mark.parametrize(
    "data", [b"", b"x", b"[]", b"{}", b'{"partitions":[1]}', b'{"partitions":{"7":[1]},"topic_id":"x"}']
)
def test_an_unreadable_topic_document_is_reported(data: bytes) -> None:
    topic, stamp, problems = znode_codec.read_topic("/brokers/topics/t", "t", data)

    assert (topic, stamp, len(problems)) == (None, None, 1)


def test_a_topic_without_an_id_is_ignored() -> None:
    assert znode_codec.read_topic("/brokers/topics/t", "t", b'{"version":1,"partitions":{"0":[1]}}') == (None, None, ())
