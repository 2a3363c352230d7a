"""What pruning removes, and what it does not touch."""

from __future__ import annotations

import pytest

from kconf.engine.declarative.prune import PRUNABLE, Prune, pruned, undeclared
from kconf.model.acl import AclBinding, AclType, Operation
from kconf.model.cluster_state import ClusterState
from kconf.model.entry import Entry, View, own_source
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource
from kconf.model.scram import CredentialInfo, Mechanism
from tests.unit.engine.declarative.declaring import declared, entry, keys, shape, view

ORDERS, OTHER, OFFSETS = (Resource.topic(name) for name in ("orders", "other", "__consumer_offsets"))
SCRAM = (CredentialInfo(Mechanism.SCRAM_SHA_256, 4096),)
READING = ClusterState(
    topics={"orders": shape(), "other": shape(), "__consumer_offsets": shape(internal=True)},
    configs={
        ORDERS: view(ORDERS, {"retention.ms": "1", "tags": "x"}, retention_ms="1", tags=""),
        OTHER: view(OTHER, {"tags": "y", "leader.replication.throttled.replicas": "*"}),
        OFFSETS: view(OFFSETS, {"tags": "z"}),
    },
    quotas={
        QuotaEntity.of({"user": "alice"}): {"producer_byte_rate": 1.0, "consumer_byte_rate": 2.0},
        QuotaEntity.of({"user": "bob"}): {"producer_byte_rate": 3.0},
        QuotaEntity.of({"user": "admin"}): {"producer_byte_rate": 4.0},
    },
    users={"alice": SCRAM, "bob": SCRAM, "kafka": SCRAM, "me": SCRAM},
    acls=[
        AclBinding(AclType.TOPIC, "orders", principal, Operation.READ)
        for principal in ("User:alice", "User:bob", "User:strimzi-entity")
    ],
)
EVERYTHING = "selector: [topic, broker, quota, user, acl]\n"
NAMED = """
topics: {orders: }
quotas: [{user: alice, limits: {producer_byte_rate: 1}}]
users: {alice: {SCRAM-SHA-256: }}
acls: [{principal: User:alice, resource: topic:orders, operations: READ}]
"""


def gone(text: str, *words: str, reading: ClusterState = READING, own: str = "") -> list[tuple[str, str]]:
    removed = pruned(declared(text, own), reading, keys, Prune(words, operators=("me",))).found
    assert all(each.pruned and each.after is None for each in removed)
    return [(str(each.resource), each.key) for each in removed]


def test_without_a_selector_only_declared_resources_are_pruned() -> None:
    assert gone(NAMED) == [("topic:orders", "tags"), ('quota:{"user":"alice"}', "consumer_byte_rate")]
    assert gone(NAMED, *PRUNABLE) == gone(NAMED)


def test_overrides_inside_a_selector_are_pruned_if_they_have_an_effect() -> None:
    assert gone(EVERYTHING + NAMED) == [
        ("topic:orders", "tags"),  # its retention.ms equals the inherited value
        ("topic:other", "tags"),  # its throttle belongs to a partition reassignment
        ('quota:{"user":"alice"}', "consumer_byte_rate"),
    ]


def test_resources_outside_the_selector_are_not_pruned_even_if_declared() -> None:
    assert gone(NAMED, own="selector: [topic:other]") == [("topic:other", "tags")]


@pytest.mark.parametrize(
    ("word", "also"),
    [
        ("topics", ("topic:other", "")),
        ("users", ("scram:bob", "SCRAM-SHA-256")),
        ("acls", ("acl:2:3:orders", '["User:bob","*",3,3]')),
        ("quotas", ('quota:{"user":"bob"}', "producer_byte_rate")),
    ],
)
def test_a_kind_is_pruned_only_if_it_is_named_and_operators_are_not_pruned(word: str, also: tuple[str, str]) -> None:
    without = gone(EVERYTHING + NAMED)

    assert gone(EVERYTHING + NAMED, word) == [*without, also]


def test_ignored_values_are_not_pruned() -> None:
    assert gone(EVERYTHING + NAMED + "ignore: [topic:other, key:consumer_byte_rate, acl:User:bob]", *PRUNABLE) == [
        ("topic:orders", "tags"),
        ('quota:{"user":"bob"}', "producer_byte_rate"),
        ("scram:bob", "SCRAM-SHA-256"),
    ]


def test_a_secret_that_no_file_declares_is_noted_and_not_removed() -> None:
    broker = Resource.broker(1)
    reading = ClusterState(configs={broker: View((entry(broker, "ssl.key.password", "?", sensitive=True),))})

    removed = pruned(declared("selector: broker"), reading, keys, Prune())

    assert removed.found == []
    assert removed.notes == ["broker:1 ssl.key.password: no file declares this secret; secrets are not pruned"]


def drifting(text: str, reading: ClusterState = READING, own: str = "") -> list[tuple[str, str]]:
    found = undeclared(declared(text, own), reading, keys, operators=("me",))
    assert all(each.op == "undeclared" and not each.pruned and each.new == each.old for each in found)
    return [(str(each.resource), each.key) for each in found]


def test_undeclared_overrides_of_declared_resources_are_drift() -> None:
    assert drifting(NAMED) == [("topic:orders", "tags"), ('quota:{"user":"alice"}', "consumer_byte_rate")]


def test_a_declared_resource_outside_the_selector_drifts_too() -> None:
    assert drifting(NAMED, own="selector: [topic:other]") == [
        ("topic:other", ""),
        ("topic:orders", "tags"),
        ("topic:other", "tags"),
        ('quota:{"user":"alice"}', "consumer_byte_rate"),
    ]


def test_everything_added_inside_a_selector_is_drift_except_users_of_operators() -> None:
    assert drifting(EVERYTHING + NAMED) == [
        ("topic:other", ""),
        ("topic:orders", "tags"),
        ("topic:other", "tags"),
        ('quota:{"user":"alice"}', "consumer_byte_rate"),
        ('quota:{"user":"bob"}', "producer_byte_rate"),
        ("scram:bob", "SCRAM-SHA-256"),
        ("acl:2:3:orders", '["User:bob","*",3,3]'),
    ]
    assert drifting("selector: topic\nignore: [topic:other]\ntopics: {orders: {configs: {tags: x}}}") == []


def test_a_mechanism_that_someone_adds_to_a_declared_user_drifts() -> None:
    assert drifting("users: {alice: {SCRAM-SHA-512: }}") == [("scram:alice", "SCRAM-SHA-256")]


@pytest.mark.parametrize(
    "text",
    [
        "unmanaged: [tags]",
        "unmanaged: t*",
        "ignore: [key:tags]",
        "ignore: [topic:orders]",
        "topics: {orders: {unmanaged: [/^tag/]}}",
        "topics: {orders: {unmanaged: ['*']}}",
    ],
)
def test_keys_that_others_manage_are_neither_drift_nor_pruned(text: str) -> None:
    whole = text if text.startswith("topics") else f"{text}\ntopics: {{orders: }}"

    assert drifting(whole) == []
    assert gone(whole) == []


def test_keys_that_are_unmanaged_on_one_topic_drift_on_another() -> None:
    assert drifting("topics: {orders: {unmanaged: tags}, other: }") == [("topic:other", "tags")]


def test_an_empty_list_of_unmanaged_keys_has_no_effect() -> None:
    assert drifting("topics: {orders: {unmanaged: []}}\nunmanaged: ") == [("topic:orders", "tags")]


def test_a_secret_that_no_file_names_drifts_without_its_value() -> None:
    broker = Resource.broker(1)
    own = own_source(broker)
    reading = ClusterState(configs={broker: View((Entry("some.password", None, own, sensitive=True),))})

    (found,) = undeclared(declared("brokers: {1: {message.max.bytes: 1}}"), reading, keys)

    assert (found.key, found.old, found.sensitive) == ("some.password", "[hidden]", True)
