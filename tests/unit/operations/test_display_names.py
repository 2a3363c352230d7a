"""How resources, keys and values are shown in results: as a person names them, and without secrets."""

from __future__ import annotations

import json

import pytest

from kconf.engine.access.acls import key_of, pattern_of
from kconf.model.acl import AclBinding, AclType, Operation, PatternType, Permission
from kconf.model.journal import Change, ChangeKind
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.operations.display_names import SENSITIVE, display_names, value_of

TOPIC, USER = Resource.topic("orders"), Resource(ResourceType.SCRAM, "alice")


@pytest.mark.parametrize(("host", "where"), [("*", ""), ("10.0.0.1", " from 10.0.0.1")])
def test_an_acl_is_named_by_its_pattern_its_principal_and_its_host(host: str, where: str) -> None:
    acl = AclBinding(AclType.TOPIC, "ord", "User:eve", Operation.READ, Permission.DENY, PatternType.PREFIXED, host)

    shown = display_names(pattern_of(acl).resource, key_of(acl))

    assert shown["key"] == f"deny User:eve read{where}"
    assert shown["resource"] == f"acl:{shown['acl']['resource']}"
    assert (shown["acl"]["pattern"], shown["acl"]["host"]) == ("prefixed", host)


def test_other_resources_are_named_by_their_entity_or_user() -> None:
    entity = {"user": "alice", "client-id": None}

    assert display_names(QuotaEntity.of(entity).resource, "producer_byte_rate") == {"entity": entity}
    assert display_names(USER, "SCRAM-SHA-256") == {"resource": "user:alice"}
    assert display_names(TOPIC, "retention.ms") == {}


@pytest.mark.parametrize(
    ("resource", "text", "shown"),
    [
        (Resource.broker(1), "hmac:1234", SENSITIVE),
        (USER, "iterations=8192 hmac:1234", f"{SENSITIVE}, iterations=8192"),
        (USER, "hmac:1234", SENSITIVE),
    ],
)
def test_a_sensitive_value_is_hidden(resource: Resource, text: str, shown: str) -> None:
    change = Change(ChangeKind.CONFIG, resource, "k", None, text, "set", sensitive=True)

    assert value_of(change, change.after) == shown
    assert value_of(change, change.before) is None


@pytest.mark.parametrize(
    ("facts", "shown"),
    [
        ({"replicas": [[1, 2], [2, 1], [1, 2]]}, "3 partitions, 2 replicas"),
        ({"replicas": [[1]]}, "1 partition, 1 replica"),
        ({"partitions": 6}, "6 partitions"),
        ({"partitions": 6, "replication": 3}, "6 partitions, 3 replicas"),
        ({"id": "A"}, "(exists)"),
    ],
)
def test_a_topic_is_shown_by_its_partitions_and_replicas(facts: dict[str, object], shown: str) -> None:
    change = Change(ChangeKind.TOPIC, TOPIC, "", None, json.dumps(facts), "create")

    assert value_of(change, change.after) == shown


def test_a_plain_value_is_shown_as_it_is() -> None:
    assert value_of(Change(ChangeKind.CONFIG, TOPIC, "k", None, "1", "set"), "1") == "1"
