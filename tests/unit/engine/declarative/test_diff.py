"""Differences between files and a cluster are differences of meaning, not of spelling."""

from __future__ import annotations

import pytest

from kconf.engine.declarative.diff import Difference, differences
from kconf.engine.declarative.model import SecretSource
from kconf.model.acl import AclBinding, AclType, Operation
from kconf.model.cluster_state import ClusterState
from kconf.model.entry import View
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource
from kconf.model.scram import CredentialInfo, Mechanism
from tests.unit.engine.declarative.declaring import declared, entry, keys, shape, view

ORDERS = Resource.topic("orders")


def found(text: str, reading: ClusterState) -> list[Difference]:
    return differences(declared(text), reading, keys).found


def told(text: str, reading: ClusterState) -> list[tuple[str, str, str | None, str | None]]:
    return [(each.op, each.key, each.before, each.after) for each in found(text, reading)]


def orders(own: dict[str, str] | None = None, **inherited: str) -> ClusterState:
    return ClusterState(topics={"orders": shape(3, 2)}, configs={ORDERS: view(ORDERS, own, **inherited)})


@pytest.mark.parametrize(
    ("wanted", "own", "inherited"),
    [
        ("retention.ms: 7d", {"retention.ms": "604800000"}, {}),
        ("retention.ms: 7d", {}, {"retention_ms": "604800000"}),
        ("retention.ms: 7d", {"retention.ms": " 0604800000 "}, {}),
        ("tags: [a, b]", {"tags": "a, b"}, {}),
        ("tags: ''", {}, {"tags": ""}),
    ],
)
def test_equivalent_values_are_not_a_difference(wanted: str, own: dict[str, str], inherited: dict[str, str]) -> None:
    assert found(f"topics: {{orders: {{configs: {{{wanted}}}}}}}", orders(own, **inherited)) == []


def test_an_override_with_another_meaning_is_set() -> None:
    reading = orders({"retention.ms": "1"}, retention_ms="604800000")

    assert told("topics: {orders: {configs: {retention.ms: 2}}}", reading) == [("set", "retention.ms", "1", "2")]


def test_a_differing_inherited_value_is_shown_as_newly_set() -> None:
    (one,) = found("topics: {orders: {configs: {tags: 'b,a'}}}", orders(tags="a,b"))

    assert (one.before, one.old, one.after) == (None, "a,b", "b,a")
    assert str(one.place) == "f.yaml:1:35"


def test_a_throttle_that_a_file_declares_is_managed() -> None:
    """An undeclared one belongs to a partition reassignment."""
    key = "leader.replication.throttled.replicas"

    assert told(f"topics: {{orders: {{configs: {{{key}: '0:1'}}}}}}", orders({key: "*"})) == [("set", key, "*", "0:1")]


def test_undeclared_values_are_not_a_difference() -> None:
    assert found("topics: {orders: {}}", orders({"tags": "x"})) == []


def test_a_missing_topic_is_created_with_its_configs() -> None:
    made, configured = found(
        "topics: {orders: {partitions: 6, configs: {tags: x}}}", ClusterState(topics={"other": shape()})
    )

    assert (made.op, made.before, made.after) == ("create", None, '{"partitions":6,"replication":null}')
    assert (configured.op, configured.key, configured.after, configured.trouble) == ("set", "tags", "x", "")


@pytest.mark.parametrize(
    ("wanted", "trouble"),
    [
        ("partitions: 6", ""),
        ("partitions: 2", "partitions cannot be removed: the topic has 3"),
        ("replication: 3", "its replication factor is 2: change it with a partition reassignment, not with a plan"),
    ],
)
def test_only_the_number_of_partitions_can_grow(wanted: str, trouble: str) -> None:
    (one,) = found(f"topics: {{orders: {{{wanted}}}}}", orders())

    assert (one.op, one.before, one.trouble) == ("grow", '{"partitions":3,"replication":2}', trouble)


def test_an_unknown_key_is_reported_with_a_suggestion() -> None:
    (one,) = found("topics: {orders: {configs: {retention.sm: 1}}}", orders(retention_ms="1"))

    assert one.trouble == "this cluster does not know the topic key 'retention.sm'; did you mean retention.ms?"


def test_a_secret_is_set_only_if_it_is_not_set() -> None:
    broker = Resource.broker(1)
    text = "brokers: {1: {ssl.key.password: {valueFrom: {env: KEY}}}}"
    unset = ClusterState(configs={broker: View((entry(broker, "ssl.key.password", sensitive=True),))})
    is_set = ClusterState(configs={broker: View((entry(broker, "ssl.key.password", "?", sensitive=True),))})

    (one,) = found(text, unset)
    assert (one.sensitive, one.after, one.secret) == (True, None, SecretSource("env", "KEY"))
    assert found(text, is_set) == []
    (unknown,) = found("brokers: {1: {ssl.key.password: {sensitive: true}}}", unset)
    assert unknown.trouble == "ssl.key.password is not set, and the file has no valueFrom for it"


def test_a_value_that_the_cluster_hides_is_noted_and_not_changed() -> None:
    broker = Resource.broker(1)
    reading = ClusterState(configs={broker: View((entry(broker, "my.plugin", "?", sensitive=True),))})

    compared = differences(declared("brokers: {1: {my.plugin: x}}"), reading, keys)

    assert compared.found == []
    hidden = "the cluster does not show the current value, so it is neither compared nor changed"
    assert compared.notes == [f"broker:1 my.plugin: {hidden}"]


def test_quotas_are_compared_as_numbers() -> None:
    alice = QuotaEntity.of({"user": "alice"})
    reading = ClusterState(quotas={alice: {"producer_byte_rate": 1048576.0, "request_percentage": 50.0}})
    text = "quotas: [{user: alice, limits: {producer_byte_rate: 1MiB, request_percentage: 51}}]"

    assert told(text, reading) == [("set", "request_percentage", "50.0", "51.0")]


def test_a_fraction_that_kip_248_allows_is_not_a_difference() -> None:
    reading = ClusterState(quotas={QuotaEntity.of({"user": "alice"}): {"producer_byte_rate": 100.5}})

    assert told("quotas: [{user: alice, limits: {producer_byte_rate: 100.5}}]", reading) == []
    large = ClusterState(quotas={QuotaEntity.of({"user": "alice"}): {"producer_byte_rate": 12345678.5}})
    assert told("quotas: [{user: alice, limits: {producer_byte_rate: 1.23456785E7}}]", large) == []
    assert told("quotas: [{user: alice, limits: {producer_byte_rate: 100}}]", reading) == [
        ("set", "producer_byte_rate", "100.5", "100")
    ]


def test_a_credential_is_compared_by_its_iterations() -> None:
    reading = ClusterState(users={"alice": (CredentialInfo(Mechanism.SCRAM_SHA_256, 4096),)})

    assert found("users: {alice: {SCRAM-SHA-256: {iterations: 4096}}}", reading) == []
    (stronger,) = found("users: {alice: {SCRAM-SHA-256: {iterations: 8192, passwordFrom: {env: P}}}}", reading)
    assert (stronger.before, stronger.after, stronger.trouble) == ("iterations=4096", "iterations=8192", "")
    (new,) = found("users: {bob: {SCRAM-SHA-512: }}", reading)
    assert new.trouble == "the file has no passwordFrom for this credential"


def test_only_missing_acls_are_added() -> None:
    reading = ClusterState(acls=[AclBinding(AclType.TOPIC, "orders", "User:alice", Operation.READ)])
    text = "acls: [{principal: User:alice, resource: topic:orders, operations: [READ, WRITE]}]"

    assert told(text, reading) == [("set", '["User:alice","*",4,3]', None, "")]
