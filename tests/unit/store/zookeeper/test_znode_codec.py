"""Kafka's own znodes, as a real 3.9.2 and its tools wrote them (zookeeper_golden.json), read and written the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kconf.engine.access.acls import ResourcePattern, key_of
from kconf.model.acl import AclBinding, AclType, Operation, PatternType, Permission
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.store.zookeeper import paths
from kconf.store.zookeeper import znode_codec as layout

GOLDEN = json.loads((Path(__file__).parent / "zookeeper_golden.json").read_text())
ZNODES: list[tuple[str, str, str]] = [
    (step["step"], znode["path"], znode["data"])
    for step in GOLDEN["steps"]
    for znode in step["znodes"]
    if znode["op"] != "delete" and znode["data"]
]


def golden(*roots: str) -> list[Any]:
    return [
        pytest.param(path, data, id=f"{step}-{path}")
        for step, path, data in ZNODES
        if any(path.startswith(f"{root}/") for root in roots)
    ]


def unstamped(data: bytes) -> Any:
    """What is left for Kafka to see."""
    facts = json.loads(data)
    assert facts.pop("kconf")
    return facts


@pytest.mark.parametrize(("path", "data"), golden(paths.TOPICS, paths.CLIENTS, paths.USERS, paths.BROKERS, paths.IPS))
def test_an_entity_of_kafka_is_read_and_written_as_it_is(path: str, data: str) -> None:
    holders = paths.owners(path)
    document = layout.read_config(path, holders, data.encode())

    assert (document.stamps, document.problems) == ((), [])
    assert {paths.config_path(each) for each in holders} == {path}
    stamps = [7] * len(holders)
    written = layout.write_config(document.overrides.values(), stamps)
    assert unstamped(written) == json.loads(data)
    assert layout.read_config(path, holders, written) == (document.overrides, tuple(stamps), [])


@pytest.mark.parametrize(("path", "data"), golden(paths.LITERAL_ACLS, paths.PREFIXED_ACLS))
def test_acls_of_kafka_are_read_and_written_as_they_are(path: str, data: str) -> None:
    (holder,) = paths.owners(path)
    document = layout.read_acls(path, holder, data.encode())

    assert (document.stamps, document.problems) == ((), [])
    assert paths.config_path(holder) == path
    written = layout.write_acls(document.overrides[holder], [7])
    assert unstamped(written) == json.loads(data)
    assert layout.read_acls(path, holder, written) == (document.overrides, (7,), [])


@pytest.mark.parametrize(
    ("path", "data"), [each for each in golden(paths.TOPIC_NODES) if "/partitions" not in each.values[0]]
)
def test_a_topic_of_kafka_is_read_and_written_as_it_is(path: str, data: str) -> None:
    name = paths.topic_of(path)
    assert name is not None
    topic, stamp, problems = layout.read_topic(path, name, data.encode())

    assert topic is not None
    assert (stamp, problems, paths.topic_path(name)) == (None, (), path)
    written = layout.write_topic(topic, 7)
    assert unstamped(written) == json.loads(data)
    assert layout.read_topic(path, name, written) == (topic, 7, ())


@pytest.mark.parametrize(
    ("path", "data"),
    golden(paths.CONFIG_CHANGES, paths.LITERAL_ACL_CHANGES, paths.PREFIXED_ACL_CHANGES),
)
def test_a_notification_of_kafka_leads_to_the_znode_and_is_written_the_same(path: str, data: str) -> None:
    directory, _, name = path.rpartition("/")
    if directory == paths.CONFIG_CHANGES:
        found = paths.read_notice(data.encode())
        assert found is not None
        meant, ours = found
        assert not ours
    else:
        meant = paths.read_acl_notice(directory, data.encode())

    notice = paths.notice(meant)
    assert notice is not None
    assert (notice.directory, name.startswith(notice.prefix)) == (directory, True)
    if directory == paths.CONFIG_CHANGES:
        assert unstamped(notice.data) == json.loads(data)
        assert paths.read_notice(notice.data) == (meant, True)
    else:
        assert notice.data == data.encode()


@pytest.mark.parametrize("case", GOLDEN["notification_acceptance"], ids=lambda case: case["data"][:60] or "empty")
def test_a_notification_is_followed_where_a_broker_follows_it(case: dict[str, Any]) -> None:
    try:
        found = paths.read_notice(case["data"].encode())
    except paths.MalformedNotification:
        outcome = "error logged"
    else:
        outcome = "silent" if found is None else "applied"

    assert outcome == ("applied" if case["applied"] else case["note"])


@pytest.mark.parametrize("case", GOLDEN["entity_data_acceptance"], ids=lambda case: case["path"] + case["data"][:60])
def test_what_would_keep_a_broker_from_starting_is_left_out(case: dict[str, Any]) -> None:
    path, data = case["path"], case["data"].encode()
    holders = paths.owners(path)
    read = layout.read_acls(path, holders[0], data) if path.startswith("/kafka-acl") else None
    document = read or layout.read_config(path, holders, data)
    taken = [value for overrides in document.overrides.values() for value in overrides.values()]

    assert all(isinstance(value, str) for value in taken)
    unresolvable = path == "/config/ips/no.such.host.zz"  # which only a resolver can tell
    if case["at_start"] == "fatal" and not unresolvable:
        assert document.problems
    assert "garbage" not in str(document.problems)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("alice", "alice"),
        ("CN=foo, O=bar/x", "CN%3Dfoo%2C%20O%3Dbar%2Fx"),
        ("<default>", "%3Cdefault%3E"),
        ("~*+", "%7E%2A%2B"),
        (".", "%2E"),
        ("..", "%2E%2E"),
        ("", "<empty>"),
        ("a\x00b", "a%00b"),
    ],
)
def test_a_name_becomes_a_part_of_a_path_and_back(name: str, part: str) -> None:
    assert paths.sanitised(name) == part
    assert paths.restored(part) == name


def test_a_raw_plus_is_a_space() -> None:
    assert paths.restored("a+b") == "a b"


@pytest.mark.parametrize(
    ("resource", "path"),
    [
        (Resource.brokers(), "/config/brokers/<default>"),
        (QuotaEntity.of({"user": None}).resource, "/config/users/<default>"),
        (QuotaEntity.of({"ip": "::1"}).resource, "/config/ips/::1"),
        (Resource(ResourceType.SCRAM, "<default>"), "/config/users/%3Cdefault%3E"),
        (Resource.group("a/b"), "/kconf/config/group/a%2Fb"),
        (Resource.client_metrics("all"), "/kconf/config/client-metrics/all"),
        (Resource.topic("é"), "/kconf/config/topic/%C3%A9"),
        (ResourcePattern(AclType.GROUP, PatternType.LITERAL, "a/b").resource, "/kconf/config/acl/3%3A3%3Aa%2Fb"),
    ],
)
def test_each_resource_has_its_znode(resource: Resource, path: str) -> None:
    assert paths.config_path(resource) == path
    assert resource in paths.owners(path)


@pytest.mark.parametrize("path", ["/config/users/%FF", "/config/clients/%C3"])
def test_a_name_that_is_not_utf8_is_told(path: str) -> None:
    with pytest.raises(ValueError, match="utf-8"):
        paths.owners(path)


def test_every_operation_of_an_acl_has_kafkas_spelling() -> None:
    keys = [
        key_of(AclBinding(AclType.TOPIC, "t", "User:a", operation, Permission.DENY))
        for operation in Operation
        if operation > Operation.ANY
    ]
    written = layout.write_acls(keys, [1])

    words = [each["operation"] for each in json.loads(written)["acls"]]
    assert words[:4] == ["All", "Read", "Write", "Create"]
    assert {"ClusterAction", "DescribeConfigs", "IdempotentWrite"} < set(words)
    holder = ResourcePattern(AclType.TOPIC, PatternType.LITERAL, "t").resource
    assert list(layout.read_acls("/kafka-acl/Topic/t", holder, written).overrides[holder]) == keys


def test_a_move_of_replicas_under_way_is_not_written_over() -> None:
    found = (
        b'{"partitions":{"0":[1]},"topic_id":"EBAQEBAQEBAQEBAQEBAQAQ",'
        b'"adding_replicas":{"0":[2]},"removing_replicas":{"0":[1]},"version":3}'
    )
    topic, _, _ = layout.read_topic("/brokers/topics/t", "t", found)
    assert topic is not None

    grown = json.loads(layout.write_topic(topic._replace(replicas=((1,), (1,))), 7, found))

    assert (grown["adding_replicas"], grown["removing_replicas"]) == ({"0": [2]}, {"0": [1]})
    assert grown["partitions"] == {"0": [1], "1": [1]}


@pytest.mark.parametrize(
    "data", [b"", b"x", b"[]", b"{}", b'{"partitions":[1]}', b'{"partitions":{"7":[1]},"topic_id":"x"}']
)
def test_a_topic_that_is_none_is_reported(data: bytes) -> None:
    topic, stamp, problems = layout.read_topic("/brokers/topics/t", "t", data)

    assert (topic, stamp, len(problems)) == (None, None, 1)


def test_a_topic_without_an_id_is_not_there_yet() -> None:
    assert layout.read_topic("/brokers/topics/t", "t", b'{"version":1,"partitions":{"0":[1]}}') == (None, None, ())
