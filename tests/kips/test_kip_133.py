"""KIP-133, DescribeConfigs and AlterConfigs. Numbers refer to the KIP's lists of request semantics.

Authorization is tested elsewhere; here only that a server does not start if its authorizer or policy is missing.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconf.protocol.apis import BY_NAME
from tests.policies import recorder
from tests.support.admin import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    SET,
    TOPIC,
    Admin,
    codes,
)
from tests.support.process import KconfProcess

USER, CLIENT = 5, 6


def test_a_topics_configuration_is_seen_by_any_client(admin: Admin, topic: str) -> None:
    """Motivation 1: Metadata does not contain configs, DescribeConfigs does."""
    admin.create(topic, configs={"segment.ms": "5"})

    assert admin.entries((TOPIC, topic))["segment.ms"].value == "5"


def test_a_topics_configuration_can_be_updated(admin: Admin, topic: str) -> None:
    """Motivation 2: AlterConfigs updates the configuration of a topic."""
    admin.create(topic)

    assert codes(admin.replace([((TOPIC, topic), {"segment.ms": "5"})])) == [0]
    assert admin.overrides(topic) == {"segment.ms": "5"}


def test_defaults_and_overrides_can_be_distinguished(admin: Admin, topic: str) -> None:
    """Motivation 3: a response shows how a topic or broker is configured, including defaults and overrides."""
    admin.create(topic, configs={"segment.ms": "5"})

    of_topic, of_broker = admin.entries((TOPIC, topic)), admin.entries((BROKER, "1"))

    assert (of_topic["segment.ms"].config_source, of_topic["flush.messages"].config_source) == (1, 5)
    assert (of_broker["log.segment.bytes"].config_source, of_broker["num.io.threads"].config_source) == (4, 5)


# -- Describe Configs ------------------------------------------------------------------------------------------------


def test_describing_needs_no_particular_connection(server: KconfProcess, topic: str) -> None:
    """Describe 1: a request can be sent to any broker."""
    with Admin(server.bootstrap) as one, Admin(server.bootstrap) as other:
        one.create(topic, configs={"segment.ms": "5"})

        assert one.describe((TOPIC, topic)) == other.describe((TOPIC, topic))


def test_a_resource_requested_twice_is_described_once(admin: Admin, topic: str) -> None:
    """Describe 2: repeated resources are ignored. (Kafka returns each; clients then fail.)"""
    admin.create(topic)

    results = admin.describe((TOPIC, topic), (BROKER, "1"), (TOPIC, topic))

    assert sorted((each.resource_type, each.resource_name) for each in results) == [(TOPIC, topic), (BROKER, "1")]
    assert codes(results) == [0, 0]


def test_null_names_mean_all_keys(admin: Admin, topic: str) -> None:
    """Describe 3: without a list of names, all entries are returned."""
    admin.create(topic)

    (result,) = admin.describe((TOPIC, topic), keys=None)

    assert len(result.configs) == 33


def test_only_the_requested_keys_are_returned(admin: Admin, topic: str) -> None:
    """Describe 3: otherwise only the given names; unknown names are omitted without an error."""
    admin.create(topic)

    (result,) = admin.describe((TOPIC, topic), keys=["segment.ms", "no.such.key", "flush.ms"])

    assert [each.name for each in result.configs] == ["flush.ms", "segment.ms"]


def test_an_empty_list_of_names_means_all_keys(admin: Admin, topic: str) -> None:
    """According to Describe 3 nothing is returned; since 2.8 Kafka returns all keys, and so does kconf."""
    admin.create(topic)

    (result,) = admin.describe((TOPIC, topic), keys=[])

    assert len(result.configs) == 33


@pytest.mark.parametrize(
    "place", [(TOPIC, "t"), (BROKER, "1"), (BROKER, ""), (BROKER_LOGGER, "1"), (CLIENT_METRICS, "m"), (GROUP, "g")]
)
def test_every_type_that_has_configs_can_be_described(admin: Admin, place: tuple[int, str]) -> None:
    """Describe 4: topics and brokers; later KIPs added loggers, client metrics and groups."""
    admin.create("t")

    assert codes(admin.describe(place)) == [0]


def test_a_type_without_configuration_fails_the_request(admin: Admin, topic: str) -> None:
    """Describe 4: any other type is refused; as in Kafka, the whole request fails."""
    admin.create(topic)

    results = admin.describe((TOPIC, topic), (1, "x"))

    assert [(each.resource_type, each.error_code, list(each.configs)) for each in results] == [
        (TOPIC, 42, []),
        (1, 42, []),
    ]


@pytest.mark.parametrize(("name", "code"), [("1", 0), ("+1", 0), ("01", 0), ("2", 42), ("x", 42), (" 1", 42)])
def test_a_broker_describes_itself_only(admin: Admin, name: str, code: int) -> None:
    """Describe 5: a broker's name must be the ID of the responding broker."""
    assert codes(admin.describe((BROKER, name))) == [code]


def test_topic_keys_are_never_read_only(admin: Admin, topic: str) -> None:
    """Describe 5: there are no read-only topic keys."""
    admin.create(topic)

    assert {each.read_only for each in admin.entries((TOPIC, topic)).values()} == {False}


def test_a_broker_key_is_read_only_unless_it_became_dynamic(admin: Admin) -> None:
    """Describe 5: all broker keys were read-only; KIP-226 made those that this test counts dynamic."""
    entries = admin.entries((BROKER, "1"))

    assert entries["broker.id"].read_only
    assert sum(not each.read_only for each in entries.values()) == 99


@pytest.mark.parametrize("kind", [USER, CLIENT])
def test_quotas_of_users_and_clients_are_not_configuration(admin: Admin, kind: int) -> None:
    """Describe 6, Alter 6: quotas are not supported here; they have their own APIs."""
    assert codes(admin.describe((kind, "alice"))) == [42]
    assert admin.alter((kind, "alice"), ("producer_byte_rate", SET, "1")).error_code == 42


def test_replication_quotas_are_keys_of_a_broker(own_admin: Admin) -> None:
    """Describe 5 and 6 exclude replication quotas; Kafka made them dynamic keys of a broker, and so they are here."""
    key = "leader.replication.throttled.rate"

    assert own_admin.alter((BROKER, "1"), (key, SET, "1000")).error_code == 0
    assert own_admin.entries((BROKER, "1"))[key].value == "1000"


def test_describe_errors_are_reported_per_resource(admin: Admin, topic: str) -> None:
    """Describe 8: each resource has its own error."""
    admin.create(topic)

    results = admin.describe((TOPIC, "missing"), (TOPIC, topic), (TOPIC, "bad name"), (BROKER, "9"))

    assert [(each.resource_name, each.error_code) for each in results] == [
        ("missing", 3),
        (topic, 0),
        ("bad name", 17),
        ("9", 42),
    ]


def test_a_sensitive_value_is_never_returned(admin: Admin, server: KconfProcess) -> None:
    """DescribeConfigs Response and Rejected Alternatives 1: sensitive data is marked and never returned."""
    for version in range(BY_NAME["DescribeConfigs"].max + 1):
        password = admin.entries((BROKER, "1"), version=version)["ssl.key.password"]
        assert (password.value, password.is_sensitive) == (None, True)
        assert [each.value for each in password.synonyms] == ([None] if version else [])
    assert "a-secret" not in server.log()


# -- Alter Configs ---------------------------------------------------------------------------------------------------


def test_a_resource_altered_twice_in_a_request_fails_at_both_places(admin: Admin, topic: str) -> None:
    """Alter 2: a repeated resource is an invalid request. Kafka returns an error for every occurrence."""
    other = f"{topic}-other"
    admin.create(topic, other)

    said = admin.replace(
        [
            ((TOPIC, topic), {"segment.ms": "5"}),
            ((TOPIC, other), {"segment.ms": "6"}),
            ((TOPIC, topic), {"segment.ms": "7"}),
        ]
    )

    assert codes(said) == [42, 0, 42]
    assert (admin.overrides(topic), admin.overrides(other)) == ({}, {"segment.ms": "6"})


def test_topics_and_brokers_can_be_altered(own_admin: Admin) -> None:
    """Alter 3: valid types."""
    own_admin.create("orders")
    places = [
        ((TOPIC, "orders"), "segment.ms"),
        ((BROKER, "1"), "log.retention.ms"),
        ((BROKER, ""), "log.segment.bytes"),
    ]

    said = own_admin.replace([(place, {key: "4000000"}) for place, key in places])

    assert codes(said) == [0, 0, 0]
    assert [own_admin.entries(place)[key].value for place, key in places] == ["4000000"] * 3


def test_a_logger_cannot_be_replaced(admin: Admin) -> None:
    """Alter 3: valid types. Loggers came later, and only to the incremental request."""
    assert codes(admin.replace([((BROKER_LOGGER, "1"), {"root": "INFO"}), ((1, "x"), {})])) == [42, 42]


def test_a_read_only_key_is_refused(admin: Admin) -> None:
    """Alter 4: altering a read-only key fails its resource. Kafka shipped the KIP's UnsupportedOperation as 42."""
    assert codes(admin.replace([((BROKER, "1"), {"broker.id": "6"})])) == [42]


def test_altering_is_not_one_transaction_for_all_resources(admin: Admin, topic: str) -> None:
    """Alter 7a: if there is an error for a resource, others are still updated."""
    bad, last = f"{topic}-bad", f"{topic}-last"
    admin.create(topic, bad, last)

    said = admin.replace(
        [
            ((TOPIC, bad), {"segment.ms": "5", "min.cleanable.dirty.ratio": "1.1"}),
            ((TOPIC, topic), {"segment.ms": "5"}),
            ((BROKER, "1"), {"broker.id": "6"}),
            ((TOPIC, last), {"segment.ms": "7"}),
        ]
    )

    assert codes(said) == [40, 0, 42, 0]
    assert [admin.overrides(name) for name in (bad, topic, last)] == [{}, {"segment.ms": "5"}, {"segment.ms": "7"}]


def test_alter_errors_are_reported_per_resource_in_request_order(admin: Admin, topic: str) -> None:
    """Alter 7b: errors are reported for each resource."""
    admin.create(topic)

    said = admin.replace([((TOPIC, "missing"), {}), ((TOPIC, topic), {}), ((TOPIC, "bad name"), {})])

    assert [(each.resource_name, each.error_code) for each in said] == [("missing", 3), (topic, 0), ("bad name", 17)]
    assert said[1].error_message is None
    assert "missing" in said[0].error_message


def test_validate_only_reports_and_changes_nothing(admin: Admin, topic: str) -> None:
    """Alter 8: a dry run reports validation errors and changes nothing."""
    other = f"{topic}-other"
    admin.create(topic, other, configs={"flush.ms": "6"})

    said = admin.replace([((TOPIC, topic), {"segment.ms": "5"}), ((TOPIC, other), {"segment.ms": "0"})], dry=True)

    assert codes(said) == [0, 40]
    assert admin.overrides(topic) == admin.overrides(other) == {"flush.ms": "6"}


def test_the_request_replaces_all_overrides(admin: Admin, topic: str) -> None:
    """AlterConfigs Request: the given entries replace the resource's configuration; an empty list clears it."""
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    admin.replace([((TOPIC, topic), {"retention.ms": "7"})])
    assert admin.overrides(topic) == {"retention.ms": "7"}
    admin.replace([((TOPIC, topic), {})])
    assert admin.overrides(topic) == {}


def test_a_null_value_is_refused(admin: Admin, topic: str) -> None:
    """AlterConfigs Request: a value is a string; null is an invalid request that names the key."""
    admin.create(topic)

    (said,) = admin.replace([((TOPIC, topic), {"segment.ms": None})])

    assert said.error_code == 42
    assert "segment.ms" in said.error_message


def test_a_committed_alteration_is_logged_without_its_values(own_server: KconfProcess, own_admin: Admin) -> None:
    """Alterations are logged on the server with author, resource and keys, but without values."""
    own_admin.create("orders")
    own_admin.alter((TOPIC, "orders"), ("segment.ms", SET, "987654321"))
    own_admin.alter((BROKER, "1"), ("listener.name.external.ssl.key.password", SET, "a-password"))
    own_admin.alter((TOPIC, "missing"), ("segment.ms", SET, "5"))

    log = own_server.log()
    assert "resource=topic:orders set=segment.ms principal=User:ANONYMOUS" in log
    assert "resource=broker:1 set=listener.name.external.ssl.key.password" in log
    assert not any(each in log for each in ("987654321", "a-password", "topic:missing"))


def test_a_refused_alteration_is_in_the_audit_log(own_admin: Admin) -> None:
    """Alter 2: an invalid request is logged on the broker, here in the audit log."""
    own_admin.create("orders")
    own_admin.replace([((TOPIC, "orders"), {"segment.ms": "5"}), ((TOPIC, "orders"), {"segment.ms": "6"})])

    found = own_admin.ask("ListAttempts", 0, after=0).attempts

    assert [(each.resource_name, each.keys, each.outcome) for each in found] == [("orders", ["segment.ms"], 42)] * 2


def test_an_empty_request_is_answered_with_nothing(admin: Admin) -> None:
    """AlterConfigs Response: one result per resource, so none here."""
    assert admin.replace([]) == []


# -- Policy ----------------------------------------------------------------------------------------------------------

_POLICY = f"{recorder.__file__}:Alter"


@pytest.fixture(scope="module")
def judged() -> Iterator[Admin]:
    properties = {"alter.config.policy.class.name": _POLICY}
    with KconfProcess(properties=properties) as server, Admin(server.bootstrap) as connection:
        yield connection


@pytest.mark.parametrize("dry", [False, True])
def test_a_policy_can_refuse_an_alteration(judged: Admin, dry: bool) -> None:
    """Policy: POLICY_VIOLATION with the policy's message for that resource; others are still processed."""
    names = [f"before-{dry}", f"topic-{dry}.alter.REFUSE", f"after-{dry}"]
    judged.create(*names)

    said = judged.replace([((TOPIC, name), {"segment.ms": "5"}) for name in names], dry=dry)

    assert [(each.error_code, each.error_message) for each in said] == [(0, None), (44, f"no: {names[1]}"), (0, None)]
    done = {} if dry else {"segment.ms": "5"}
    assert [judged.overrides(name) for name in names] == [done, {}, done]


@pytest.mark.parametrize("key", ["alter.config.policy.class.name", "create.topic.policy.class.name"])
def test_a_policy_that_cannot_be_loaded_prevents_the_start(key: str) -> None:
    """Policy: a server must not start without a configured class that is missing or written in Java."""
    with pytest.raises(RuntimeError, match=key), KconfProcess(properties={key: "org.example.Strict"}):
        pass


def test_the_kips_spelling_of_the_policy_prevents_the_start() -> None:
    """Policy: the KIP writes alter.configs.policy.class.name, Kafka alter.config: the policy must not be ignored."""
    key = "alter.configs.policy.class.name"
    with pytest.raises(RuntimeError, match=r"use alter\.config\.policy"), KconfProcess(properties={key: _POLICY}):
        pass


def test_an_unknown_authorizer_prevents_the_start() -> None:
    """ACLs: a server must not start without a configured authorizer that kconf does not have."""
    key = "authorizer.class.name"
    with pytest.raises(RuntimeError, match=key), KconfProcess(properties={key: "org.example.Strict"}):
        pass
