"""Parsing declarations (docs/how-to/declare.md shows the syntax): values and errors."""

from __future__ import annotations

import pytest

from kconf.engine.declarative.model import SecretSource
from kconf.engine.declarative.parser import read_declared
from kconf.model.acl import AclBinding, AclType, Operation, PatternType, Permission
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import Mechanism
from kconf.util.yaml.reader import ParseErrors
from tests.unit.engine.declarative.declaring import declared, keys

ORDERS = Resource.topic("orders")


def mistakes(text: str) -> list[str]:
    with pytest.raises(ParseErrors) as refused:
        declared(text)
    return str(refused.value).splitlines()


def test_a_topic_has_partitions_replication_and_configs_with_units() -> None:
    found = declared(
        """
topics:
  orders:
    partitions: 12
    replication: 3
    configs: {retention.ms: 7d, segment.bytes: 1GiB, tags: [a, b], unknown.key: 1_000}
  bare:
"""
    )

    assert found.topics["orders"][1:] == (12, 3)
    assert found.topics["bare"][1:] == (None, None)
    assert {key: value.text for key, value in found.configs[ORDERS].items()} == {
        "retention.ms": "604800000",
        "segment.bytes": "1073741824",
        "tags": "a,b",
        "unknown.key": "1_000",
    }
    assert str(found.configs[ORDERS]["tags"].place) == "f.yaml:6:60"


def test_a_broker_is_named_by_its_id_or_as_default() -> None:
    found = declared("brokers: {default: {log.retention.ms: 1h}, 007: {log.retention.ms: -1}}")

    assert found.configs[Resource.brokers()]["log.retention.ms"].text == "3600000"
    assert found.configs[Resource.broker(7)]["log.retention.ms"].text == "-1"
    assert mistakes("brokers: {first: {}}") == ["f.yaml:1:11: a broker must be its ID or `default`: 'first'"]


def test_a_secret_is_declared_by_its_source_and_never_by_its_value() -> None:
    found = declared("brokers: {1: {ssl.key.password: {valueFrom: {env: KEY}}, other: {sensitive: true}}}")

    values = found.configs[Resource.broker(1)]
    assert (values["ssl.key.password"].text, values["ssl.key.password"].secret) == (None, SecretSource("env", "KEY"))
    assert (values["other"].text, values["other"].secret) == (None, None)
    (told,) = mistakes("brokers: {1: {ssl.key.password: hunter2}}")
    assert "is a secret" in told
    assert "hunter2" not in told


def test_quotas_are_declared_for_names_and_defaults() -> None:
    found = declared(
        """
quotas:
- {user: alice, client-id-default: true, limits: {producer_byte_rate: 1MiB, request_percentage: 12.5}}
- {ip-default: true, limits: {connection_creation_rate: 10}}
"""
    )

    pair = QuotaEntity.of({"user": "alice", "client-id": None})
    assert {key: value.text for key, value in found.quotas[pair].items()} == {
        "producer_byte_rate": "1048576",
        "request_percentage": "12.5",
    }
    assert QuotaEntity.of({"ip": None}) in found.quotas


def test_credentials_name_the_source_of_the_password() -> None:
    found = declared(
        "users: {alice: {SCRAM-SHA-512: {iterations: 8192, passwordFrom: {file: /run/alice}}, SCRAM-SHA-256: }}"
    )

    strong = found.users["alice"][Mechanism.SCRAM_SHA_512]
    assert strong[1:] == (8192, SecretSource("file", "/run/alice"))
    assert found.users["alice"][Mechanism.SCRAM_SHA_256][1:] == (None, None)


def test_an_acl_entry_is_one_acl_per_operation() -> None:
    found = declared(
        """
acls:
- {principal: User:alice, resource: topic:orders., pattern: prefixed, operations: [READ, describe]}
- {principal: User:bob, resource: cluster, operations: ALTER, permission: deny, host: 10.0.0.1}
"""
    )

    assert set(found.acls) == {
        AclBinding(AclType.TOPIC, "orders.", "User:alice", op, Permission.ALLOW, PatternType.PREFIXED)
        for op in (Operation.READ, Operation.DESCRIBE)
    } | {AclBinding(AclType.CLUSTER, "kafka-cluster", "User:bob", Operation.ALTER, Permission.DENY, host="10.0.0.1")}


def test_selectors_define_what_the_files_manage() -> None:
    found = declared("selector: [topic:orders.*, brokers, 'quota:team-?']\nignore: [topic:orders.tmp, key:tags]")

    assert found.owns(Resource.topic("orders.eu"))
    assert not found.owns(Resource.topic("orders.tmp"))
    assert not found.owns(Resource.topic("payments"))
    assert found.owns(Resource.brokers())
    assert not found.owns(Resource.broker(1))
    assert found.owns(Resource(ResourceType.QUOTA, "{}"), "team-a")
    assert found.ignores_key("tags")
    assert found.ignores_key("leader.replication.throttled.rate")
    assert not found.ignores_key("retention.ms")


def test_a_duplicate_declaration_names_both_places() -> None:
    with pytest.raises(ParseErrors) as refused:
        read_declared([("a.yaml", "topics: {orders: }"), ("b.yaml", "topics:\n  orders: {}\n")], keys)

    assert str(refused.value) == "b.yaml:2:3: the topic 'orders' is already declared at a.yaml:1:10"


def test_a_file_declares_no_topic_outside_its_own_selector() -> None:
    text = "selector: [topic:orders.*, quota]\ntopics:\n  orders.eu: {}\n  payments: {}\n"

    with pytest.raises(ParseErrors) as refused:
        read_declared([("team.yaml", text)], keys)

    assert str(refused.value) == (
        "team.yaml:4:3: the topic 'payments' does not match the selector of this file, team.yaml:1:11; "
        "declare it in another file"
    )


def test_a_file_without_a_selector_may_declare_topics_that_no_selector_covers() -> None:
    files = [("own.yaml", "selector: [topic:orders.*]\n"), ("topics.yaml", "topics: {payments: }\n")]

    assert set(read_declared(files, keys).topics) == {"payments"}


def test_two_owners_may_not_declare_the_same_topic() -> None:
    team = "selector: [topic:orders.*]\ntopics:\n  orders.eu: {}\n"

    with pytest.raises(ParseErrors) as refused:
        read_declared([("one.yaml", team), ("two.yaml", team)], keys)

    assert str(refused.value) == "two.yaml:3:3: the topic 'orders.eu' is already declared at one.yaml:3:3"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("topics: [", "f.yaml:2:1: not YAML: did not find expected node content"),
        ("topic: {}", "f.yaml:1:1: unknown field 'topic' in a declaration; did you mean topics?"),
        ("version: 2", "f.yaml:1:10: this version of kconf supports version 1 of the format only"),
        ("topics: [a]", "f.yaml:1:9: topics must be a mapping of fields"),
        ("topics: {a: {partitions: 0}}", "f.yaml:1:26: partitions must be an integer from 1 to 1000000"),
        ("topics: {a: {replication: [1]}}", "f.yaml:1:27: replication must be an integer from 1 to 1000000"),
        ("topics: {a: {configs: {tags: }}}", "f.yaml:1:30: tags must have a value; to leave it unset, remove the line"),
        ("topics: {a: {configs: {tags: b, tags: c}}}", "f.yaml:1:33: tags occurs twice"),
        ("quotas: [{limits: {}}]", "f.yaml:1:10: a quota needs an entity: a user, a client-id, both, or an ip"),
        ("quotas: [{user: a}]", "f.yaml:1:10: a quota needs the field limits"),
        ("users: {a: {PLAIN: }}", "f.yaml:1:13: unknown field 'PLAIN' in a user"),
        ("selector: topics", "f.yaml:1:11: 'topics' is not valid in selector; did you mean topic?"),
        ("selector: orders", "f.yaml:1:11: 'orders' is not valid in selector; use topic, broker, "),
        ("selector: 'topic:/a'", "f.yaml:1:11: a regular expression must end with a slash: 'topic:/a'"),
        ("a: *b", "f.yaml:1:4: undefined alias *b"),
        ("---\n{}\n---\n{}", "f.yaml:3:1: a file must contain one document; move the others to separate files"),
    ],
)
def test_an_error_has_its_line_and_column(text: str, told: str) -> None:
    (found,) = mistakes(text)

    assert found.startswith(told)


def test_an_invalid_value_is_reported_with_its_location() -> None:
    (told,) = mistakes("topics:\n  a:\n    configs:\n      retention.ms: soon\n")

    assert told.startswith("f.yaml:4:21: 'soon' is not a valid value of retention.ms: expected an integer of type LONG")


def test_all_errors_are_reported_at_once() -> None:
    found = mistakes("topics: {a: {partitions: x}, b: {size: 1}}\nacls: [{}]\nquotas: [{user: u, limits: {speed: 1}}]")

    assert [each.split(": ", 1)[0] for each in found] == ["f.yaml:1:26", "f.yaml:1:34", "f.yaml:2:8", "f.yaml:3:29"]


def test_endless_nesting_is_reported_as_an_error() -> None:
    assert mistakes("topics: " + "[" * 50_000) == ["f.yaml:1:109: nested too deeply"]


def test_yaml_anchors_can_be_used() -> None:
    found = declared("topics:\n  a: &usual {configs: {tags: x}}\n  b: *usual\n")

    assert found.configs[Resource.topic("b")]["tags"].text == "x"


def test_an_empty_file_declares_nothing() -> None:
    assert declared("# nothing yet\n").topics == {}
