"""Both AdminClients on real brokers, 4.3.1 and 3.9.2: every method, and every SASL mechanism over TLS."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from typing import Any
from uuid import uuid4

import pytest

from kconf import (
    AclBinding,
    AclFilter,
    AclType,
    AlterConfigOp,
    AuthenticationFailed,
    CredentialInfo,
    EffectiveQuota,
    ErrorCode,
    InvalidRequest,
    KconfError,
    MatchType,
    Mechanism,
    NewTopic,
    NotAuthorized,
    Operation,
    OpType,
    PatternType,
    Permission,
    QuotaCandidate,
    QuotaComponent,
    QuotaDifference,
    QuotaEntity,
    QuotaFilter,
    QuotaSource,
    RequestTimedOut,
    Resource,
    ResourceType,
    SecurityDisabled,
    Source,
    SyncAdminClient,
    UnsupportedSaslMechanism,
    UnsupportedVersion,
    UserScramCredentialDeletion,
    scram_upsertion,
)
from kconf.client.auth.oauth import unsecured
from kconf.client.auth.sasl import OAuthBearer, Plain, Sasl, Scram
from kconf.protocol.apis import APIS, BY_NAME, Api
from kconf.security.tls import Tls
from lab.broker import KafkaBroker
from tests.support.targets import one_of
from tests.unit.client.certificates import PASSWORD, Certificates
from tests.unit.client.drivers import KINDS, driver

VERSIONS = one_of("4.3.1", ["3.9.2"])


@pytest.fixture(params=VERSIONS)
def broker(request: pytest.FixtureRequest) -> KafkaBroker:
    found: KafkaBroker = request.getfixturevalue("kafka_" + request.param.replace(".", ""))
    return found


@pytest.fixture(params=KINDS)
def admin(request: pytest.FixtureRequest, broker: KafkaBroker) -> Iterator[Any]:
    with driver(request.param, broker.bootstrap) as client:
        yield client


@pytest.fixture
def topic(admin: Any) -> str:
    name = f"client-{uuid4().hex[:12]}"
    admin.create_topics([NewTopic(name, 2, 1, configs=[("retention.ms", "1000")])]).raise_for_failures()
    wait(lambda: name in admin.list_topics())
    return name


def wait(until: Callable[[], object]) -> None:
    """Wait: a broker learns of a change after the controller has responded."""
    ends = time.monotonic() + 60  # on a busy machine it creates the logs of 600 topics first
    while time.monotonic() < ends:
        if until():
            return
        time.sleep(0.05)
    raise AssertionError("the broker does not show it")


def value(admin: Any, resource: Resource, key: str) -> str | None:
    """The value; None if the resource or the key does not exist."""
    found = admin.describe_configs([resource])
    entries = () if found.failures else found[resource].entries
    return next((each.value for each in entries if each.name == key), None)


def test_configs_are_described_with_synonyms_and_documentation(admin: Any, topic: str) -> None:
    orders = Resource.topic(topic)

    found = admin.describe_configs([orders], synonyms=True, documentation=True)[orders]

    entry = found["retention.ms"]
    assert (entry.value, entry.source) == ("1000", Source.TOPIC)
    assert entry.synonyms[0].value == "1000"
    assert entry.documentation
    assert [each.name for each in found.entries] == sorted(each.name for each in found.entries)
    assert found["segment.bytes"].is_default


def test_a_describe_can_be_limited_to_some_keys(admin: Any, topic: str) -> None:
    orders = Resource.topic(topic)

    found = admin.describe_configs([orders], keys={orders: ["segment.ms"]})

    assert [each.name for each in found[orders].entries] == ["segment.ms"]
    assert found.revision is None


def test_every_kind_of_resource_is_described(admin: Any, broker: KafkaBroker, topic: str) -> None:
    """3.9 does not know groups, and fails all resources of a request that contains one."""
    resources = [Resource.topic(topic), Resource.broker(1), Resource.brokers(), Resource.logger(1)]
    resources += [Resource.client_metrics("client-cm"), Resource.group("client-g")]

    found = admin.describe_configs(resources)

    assert list(found.failures) == ([Resource.group("client-g")] if broker.version == "3.9.2" else [])
    assert found[Resource.broker(1)]["node.id"].value == "1"
    assert found[Resource.logger(1)]["root"].source == Source.LOGGER


def test_a_failure_is_returned_for_its_resource_only(admin: Any, topic: str) -> None:
    missing, nobody = Resource.topic(topic + "-missing"), Resource.broker(77)

    found = admin.describe_configs([Resource.topic(topic), missing, nobody])

    assert found[Resource.topic(topic)]["retention.ms"].value == "1000"
    assert found.failures[missing].code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found.failures[nobody].code == ErrorCode.BROKER_NOT_AVAILABLE


def test_values_are_set_appended_and_deleted_incrementally(admin: Any, topic: str) -> None:
    orders, missing = Resource.topic(topic), Resource.topic(topic + "-missing")
    requests = [
        AlterConfigOp(OpType.SET, "retention.ms", "77"),
        AlterConfigOp(OpType.APPEND, "cleanup.policy", "compact"),
    ]

    done = admin.incremental_alter_configs({orders: requests, missing: requests}, reason="not for Kafka")
    wait(lambda: value(admin, orders, "retention.ms") == "77")

    assert done[orders] is None
    assert done.failures[missing].code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert value(admin, orders, "cleanup.policy") == "delete,compact"

    admin.incremental_alter_configs({orders: [AlterConfigOp(OpType.DELETE, "retention.ms")]}).raise_for_failures()
    wait(lambda: value(admin, orders, "retention.ms") == "604800000")


def test_validate_only_changes_nothing(admin: Any, topic: str) -> None:
    orders = Resource.topic(topic)

    good = admin.incremental_alter_configs(
        {orders: [AlterConfigOp(OpType.SET, "retention.ms", "5")]}, validate_only=True
    )
    bad = admin.incremental_alter_configs(
        {orders: [AlterConfigOp(OpType.SET, "retention.ms", "x")]}, validate_only=True
    )

    assert not good.failures
    assert bad.failures[orders].code == ErrorCode.INVALID_CONFIG
    assert value(admin, orders, "retention.ms") == "1000"


def test_alter_configs_replaces_all_values_or_updates_some(admin: Any, topic: str) -> None:
    orders = Resource.topic(topic)

    admin.alter_configs({orders: {"segment.ms": "2000"}}).raise_for_failures()
    wait(lambda: value(admin, orders, "segment.ms") == "2000")
    assert value(admin, orders, "retention.ms") == "604800000"

    update = {orders: {"segment.ms": "", "retention.ms": "9"}}
    admin.alter_configs(update, incremental_update=True).raise_for_failures()
    wait(lambda: value(admin, orders, "retention.ms") == "9")
    assert value(admin, orders, "segment.ms") == "604800000"


def test_a_broker_config_is_set_on_that_broker(admin: Any) -> None:
    one = Resource.broker(1)

    admin.incremental_alter_configs(
        {one: [AlterConfigOp(OpType.SET, "log.cleaner.backoff.ms", "16000")]}
    ).raise_for_failures()
    wait(lambda: value(admin, one, "log.cleaner.backoff.ms") == "16000")
    found = admin.describe_configs([one], synonyms=True)[one]["log.cleaner.backoff.ms"]
    admin.incremental_alter_configs(
        {one: [AlterConfigOp(OpType.DELETE, "log.cleaner.backoff.ms")]}
    ).raise_for_failures()

    assert found.source == Source.BROKER
    assert [each.source for each in found.synonyms] == [Source.BROKER, Source.DEFAULT]


def test_an_expected_revision_never_reaches_a_broker_that_would_ignore_it(admin: Any, topic: str) -> None:
    orders = Resource.topic(topic)

    with pytest.raises(UnsupportedVersion, match="not a kconf server"):
        admin.incremental_alter_configs(
            {orders: [AlterConfigOp(OpType.SET, "retention.ms", "5")]}, expected={orders: 1}
        )

    assert value(admin, orders, "retention.ms") == "1000"


def test_the_response_to_a_creation_has_the_configs_of_the_topic(admin: Any) -> None:
    name = f"client-{uuid4().hex[:12]}"

    made = admin.create_topics([NewTopic(name, 3, 1, configs=[("segment.ms", "5000")]), name + "-defaults"])

    assert (made[name].num_partitions, made[name].replication_factor) == (3, 1)
    assert made[name].config["segment.ms"].source == Source.TOPIC
    assert made[name].topic_id.int
    assert made[name + "-defaults"].num_partitions == 1


def test_topics_that_cannot_be_created_have_error_codes(admin: Any, topic: str) -> None:
    requests = [NewTopic(topic), NewTopic("not/a/name"), NewTopic(topic + "-many", 1, 9)]

    made = admin.create_topics([*requests, NewTopic(topic + "-dry")], validate_only=True)

    assert {name: failure.code for name, failure in made.failures.items()} == {
        topic: ErrorCode.TOPIC_ALREADY_EXISTS,
        "not/a/name": ErrorCode.INVALID_TOPIC_EXCEPTION,
        topic + "-many": ErrorCode.INVALID_REPLICATION_FACTOR,
    }
    assert topic + "-dry" not in admin.list_topics()


def test_topics_are_created_with_assignments_and_grown(admin: Any) -> None:
    name = f"client-{uuid4().hex[:12]}"
    admin.create_topics([NewTopic(name, assignment=[(0, [1]), (1, [1])])]).raise_for_failures()
    wait(lambda: name in admin.list_topics())

    grown = admin.create_partitions({name: 3, name + "-missing": 2})
    wait(lambda: admin.list_topics()[name].partitions == 3)
    admin.create_partitions({name: 4}, assignments={name: [[1]]}).raise_for_failures()
    wait(lambda: admin.list_topics()[name].partitions == 4)

    assert grown.failures[name + "-missing"].code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert admin.create_partitions({name: 2}).failures[name].code == ErrorCode.INVALID_PARTITIONS


def test_topics_are_described_and_deleted_by_name_and_by_id(admin: Any, topic: str) -> None:
    listed = admin.list_topics()[topic]

    found = admin.describe_topics([topic, listed.topic_id, "client-missing"], authorized_operations=True)

    assert found[topic].topic_id == found[listed.topic_id].topic_id == listed.topic_id
    assert [each.leader for each in found[topic].partitions] == [1, 1]
    assert Operation.ALTER_CONFIGS in found[topic].authorized_operations
    assert found.failures["client-missing"].code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    other, stranger = topic + "-other", uuid4()
    admin.create_topics([other]).raise_for_failures()
    deleted = admin.delete_topics([other, listed.topic_id, "client-missing", stranger])
    wait(lambda: topic not in admin.list_topics())

    assert {key: failure.code for key, failure in deleted.failures.items()} == {
        "client-missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        stranger: ErrorCode.UNKNOWN_TOPIC_ID,
    }


def test_the_cluster_is_described(admin: Any, broker: KafkaBroker) -> None:
    found = admin.describe_cluster(authorized_operations=True)

    assert found.cluster_id == broker.cluster_id
    assert (found.nodes[1].host, found.nodes[1].port) == (broker.host, broker.port)
    assert found.controller is not None
    assert found.controller.id == 1
    assert Operation.ALTER in found.authorized_operations
    assert admin.list_groups() == []
    if broker.version == "3.9.2":
        with pytest.raises(UnsupportedVersion, match=r"since Kafka 4\.0"):
            admin.describe_cluster(fenced=True)
    else:
        assert not admin.describe_cluster(fenced=True).nodes[1].fenced


def test_config_resources_are_listed(admin: Any, broker: KafkaBroker, topic: str) -> None:
    named = Resource.client_metrics(f"client-{uuid4().hex[:8]}")
    admin.incremental_alter_configs({named: [AlterConfigOp(OpType.SET, "interval.ms", "1000")]}).raise_for_failures()
    wait(lambda: named in admin.list_config_resources([ResourceType.CLIENT_METRICS]))

    if broker.version == "3.9.2":
        with pytest.raises(UnsupportedVersion, match=r"before Kafka 4\.1"):
            admin.list_config_resources()
    else:
        assert {Resource.topic(topic), Resource.broker(1), named} <= set(admin.list_config_resources())


def test_quotas_are_altered_and_described(admin: Any) -> None:
    user = f"client-{uuid4().hex[:8]}"
    alone, pair = QuotaEntity.of({"user": user}), QuotaEntity.of({"user": user, "client-id": None})
    wrong = QuotaEntity.of({"nonsense": "x"})

    done = admin.alter_client_quotas(
        {alone: {"producer_byte_rate": 1024.0}, pair: {"request_percentage": 12.5}, wrong: {"producer_byte_rate": 1.0}}
    )
    of_user = QuotaFilter((QuotaComponent("user", MatchType.EXACT, user),))
    wait(lambda: len(admin.describe_client_quotas(of_user)) == 2)

    assert list(done.failures) == [wrong]
    assert admin.describe_client_quotas(of_user) == {
        alone: {"producer_byte_rate": 1024.0},
        pair: {"request_percentage": 12.5},
    }
    strict = QuotaFilter((QuotaComponent("user", MatchType.EXACT, user),), strict=True)
    assert list(admin.describe_client_quotas(strict)) == [alone]

    admin.alter_client_quotas({alone: {"producer_byte_rate": None}}).raise_for_failures()
    wait(lambda: list(admin.describe_client_quotas(of_user)) == [pair])
    assert alone not in admin.describe_client_quotas()
    with pytest.raises(InvalidRequest):
        admin.describe_client_quotas(QuotaFilter((QuotaComponent("", MatchType.ANY),)))


def test_scram_credentials_are_set_described_and_deleted(admin: Any) -> None:
    user = f"client-{uuid4().hex[:8]}"
    both = [scram_upsertion(user, each, "secret", iterations=8192) for each in list(Mechanism)[1:]]

    admin.alter_user_scram_credentials(both).raise_for_failures()
    wait(lambda: not admin.describe_user_scram_credentials([user]).failures)
    wait(lambda: len(admin.describe_user_scram_credentials([user])[user]) == 2)

    told = admin.describe_user_scram_credentials()
    assert told[user] == tuple(CredentialInfo(Mechanism(each.mechanism), 8192) for each in both)
    assert admin.describe_user_scram_credentials(["nobody"]).failures["nobody"].code == ErrorCode.RESOURCE_NOT_FOUND

    weak = scram_upsertion(user, Mechanism.SCRAM_SHA_256, "secret", iterations=10)
    assert admin.alter_user_scram_credentials([weak]).failures[user].code == ErrorCode.UNACCEPTABLE_CREDENTIAL
    admin.alter_user_scram_credentials(
        [UserScramCredentialDeletion(user, each.mechanism) for each in both]
    ).raise_for_failures()
    wait(lambda: admin.describe_user_scram_credentials([user]).failures)


def test_without_an_authorizer_there_are_no_acls(admin: Any) -> None:
    with pytest.raises(SecurityDisabled):
        admin.describe_acls()


def test_many_topics_are_created_altered_and_deleted_in_one_call(admin: Any) -> None:
    prefix = f"client-{uuid4().hex[:8]}"
    names = [f"{prefix}-{number}" for number in range(600)]
    resources = [Resource.topic(each) for each in names]
    admin.create_topics(names).raise_for_failures()
    requests = {each: [AlterConfigOp(OpType.SET, "retention.ms", str(n))] for n, each in enumerate(resources)}
    admin.incremental_alter_configs(requests).raise_for_failures()
    wait(lambda: value(admin, resources[-1], "retention.ms") == "599")

    found = admin.describe_configs(resources)

    assert list(found) == resources
    assert [found[each]["retention.ms"].value for each in resources] == [str(n) for n in range(600)]
    assert len(admin.describe_topics(names)) == 600
    admin.delete_topics(names).raise_for_failures()


@pytest.mark.parametrize("kind", one_of(KINDS[0], KINDS[1:]))
def test_a_broker_that_restarts_is_found_again(kind: str) -> None:
    with KafkaBroker(node_id=3) as broker, driver(kind, broker.bootstrap) as admin:
        assert admin.describe_configs([Resource.broker(3)])[Resource.broker(3)]["node.id"].value == "3"

        broker.restart()

        assert admin.describe_configs([Resource.broker(3)])[Resource.broker(3)]["node.id"].value == "3"
        broker.stop()
        with pytest.raises(RequestTimedOut, match="refused"):
            admin.describe_configs([Resource.topic("x")], timeout=1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_can_connect_to_controllers(kind: str, broker: KafkaBroker) -> None:
    with driver(kind, bootstrap_controllers=broker.address("CONTROLLER")) as admin:
        found = admin.describe_cluster()
        assert found.controller is not None
        assert f"{found.controller.host}:{found.controller.port}" == broker.address("CONTROLLER")

        requested = {Resource.brokers(): [AlterConfigOp(OpType.SET, "log.cleaner.backoff.ms", "17000")]}
        admin.incremental_alter_configs(requested).raise_for_failures()
        wait(lambda: value(admin, Resource.brokers(), "log.cleaner.backoff.ms") == "17000")
        clean = {Resource.brokers(): [AlterConfigOp(OpType.DELETE, "log.cleaner.backoff.ms")]}
        admin.incremental_alter_configs(clean).raise_for_failures()

        with pytest.raises(UnsupportedVersion, match="ListConfigResources"):
            admin.list_config_resources()


OLD = {
    "as in Kafka 2.0": {"Metadata": 6, "ApiVersions": 2, "CreateTopics": 3, "DeleteTopics": 3, "DescribeConfigs": 2}
    | {"AlterConfigs": 1, "CreatePartitions": 1, "ListGroups": 2, "DescribeAcls": 1, "IncrementalAlterConfigs": 0},
    "the first of all": {"Metadata": 1, "ApiVersions": 0, "CreateTopics": 0, "DeleteTopics": 0, "DescribeConfigs": 0}
    | {"AlterConfigs": 0, "CreatePartitions": 0, "ListGroups": 0, "DescribeAcls": 0, "IncrementalAlterConfigs": 0},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("age", OLD)
def test_old_versions_return_the_same_results(
    kafka_392: KafkaBroker, kind: str, age: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3.9 still supports them; the test hides the newer versions from the client."""
    for name, newest in OLD[age].items():
        new = BY_NAME[name]
        old = Api(new.key, name, new.min, newest, new.flexible, new.file)
        monkeypatch.setitem(BY_NAME, name, old)
        monkeypatch.setitem(APIS, old.key, old)
    name = f"client-{uuid4().hex[:12]}"
    resource = Resource.topic(name)
    with driver(kind, kafka_392.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 2, 1, configs=[("retention.ms", "1000")])]).raise_for_failures()
        wait(lambda: name in admin.list_topics())
        admin.create_partitions({name: 3}).raise_for_failures()
        wait(lambda: len(admin.describe_topics([name])[name].partitions) == 3)
        admin.incremental_alter_configs({resource: [AlterConfigOp(OpType.SET, "segment.ms", "5")]}).raise_for_failures()
        wait(lambda: value(admin, resource, "segment.ms") == "5")
        admin.alter_configs({resource: {"segment.ms": "7"}}).raise_for_failures()
        wait(lambda: value(admin, resource, "segment.ms") == "7")

        entry = admin.describe_configs([resource, Resource.broker(1)], synonyms=True)[resource]["segment.ms"]
        # Since 2.7 Kafka does not set the flag of version 0, so only overrides have a known source.
        assert entry.source == Source.TOPIC
        assert bool(entry.synonyms) == (age == "as in Kafka 2.0")
        assert admin.list_groups() == []
        with pytest.raises(SecurityDisabled):
            admin.describe_acls(AclFilter(pattern=PatternType.LITERAL))
        with pytest.raises(UnsupportedVersion, match="by ID"):
            admin.delete_topics([uuid4()])
        admin.delete_topics([name]).raise_for_failures()
        wait(lambda: name not in admin.list_topics())


def test_the_effective_quota_is_resolved_by_the_client(admin: Any) -> None:
    """The broker returns only stored quotas; the result is the same as on a kconf server."""
    user, client, key = f"client-{uuid4().hex[:8]}", f"client-{uuid4().hex[:8]}", "producer_byte_rate"
    levels = {each.entity(user, client): {key: 1.0 + each} for each in QuotaSource}
    pair, address = QuotaSource.CLIENT_IN_USER.entity(user, client), QuotaEntity.of({"ip": "10.0.0.1"})
    many = [QuotaEntity.of({"user": f"{user}-{number}", "client-id": client}) for number in range(50)]

    done = admin.alter_quotas({**levels, address: {key: 1.0}}, reason="not for Kafka")
    wait(lambda: len(admin.describe_quotas([pair])[pair].get(key, EffectiveQuota(0, QuotaSource.USER)).overridden) == 7)
    found, all_at_once = admin.describe_quotas([pair, address]), admin.describe_quotas([pair, *many])
    shifts = admin.what_if(pair, {key: None})
    asked = admin.what_if(QuotaEntity.of({"user": user}), {key: 99.0}, pairs=[(user, "other"), (user, client)])
    admin.alter_quotas({each: {key: None} for each in levels}).raise_for_failures()

    candidates = [QuotaCandidate(each, 1.0 + each) for each in QuotaSource]
    assert list(done.failures) == list(found.failures) == [address]
    assert found[pair] == {key: EffectiveQuota(1.0, QuotaSource.CLIENT_IN_USER, tuple(candidates[1:]))}
    assert all_at_once[pair] == found[pair]
    assert {each[key].source for each in map(all_at_once.__getitem__, many)} == {QuotaSource.CLIENT_IN_DEFAULT_USER}
    assert shifts == [QuotaDifference(user, client, key, candidates[0], candidates[1])]
    assert asked == []  # the default client of this user takes precedence
    wait(lambda: admin.describe_quotas([pair])[pair] == {})


# Logging in


JAAS = "org.apache.kafka.common.security"
MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module", params=VERSIONS)
def secured(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[KafkaBroker]:
    """A broker with SASL_SSL, SASL_PLAINTEXT and mutual TLS, and Kafka's authorizer."""
    properties = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.store("broker")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "listener.name.mutual.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": MECHANISMS,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice;User:scram=,user;User:CN=client",
        "listener.name.short.connections.max.reauth.ms": "2000",
    }
    for listener in ("sasl", "plain", "short"):
        properties |= {
            f"listener.name.{listener}.plain.sasl.jaas.config": f"{JAAS}.plain.PlainLoginModule required "
            'user_alice="alice-secret" user_bob="bob-secret";',
            f"listener.name.{listener}.oauthbearer.sasl.jaas.config": (
                f'{JAAS}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
            ),
        }
        for each in ("scram-sha-256", "scram-sha-512"):
            properties[f"listener.name.{listener}.{each}.sasl.jaas.config"] = f"{JAAS}.scram.ScramLoginModule required;"
    listeners = {"SASL": "SASL_SSL", "PLAIN": "SASL_PLAINTEXT", "SHORT": "SASL_PLAINTEXT", "MUTUAL": "SSL"}
    with KafkaBroker(request.param, properties=properties, listeners=listeners) as broker:
        with SyncAdminClient(broker.bootstrap) as admin:
            users = [scram_upsertion(SCRAM_USER, each, SCRAM_PASSWORD) for each in list(Mechanism)[1:]]
            admin.alter_user_scram_credentials(users).raise_for_failures()
            wait(lambda: len(admin.describe_user_scram_credentials()[SCRAM_USER]) == 2)
        yield broker


SCRAM_USER, SCRAM_PASSWORD = "scram=,user", "pässword, with = and \u00a0"
LOGINS: dict[str, Callable[[], Sasl]] = {
    "PLAIN": lambda: Plain("alice", "alice-secret"),
    "SCRAM-SHA-256": lambda: Scram(SCRAM_USER, SCRAM_PASSWORD, "SCRAM-SHA-256"),
    "SCRAM-SHA-512": lambda: Scram(SCRAM_USER, SCRAM_PASSWORD),
    "OAUTHBEARER": lambda: OAuthBearer(lambda: unsecured("alice")),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mechanism", LOGINS)
def test_every_mechanism_logs_in_over_tls(
    secured: KafkaBroker, certificates: Certificates, kind: str, mechanism: str
) -> None:
    address = secured.address("SASL")
    with driver(kind, address, tls=Tls(str(certificates.ca)), sasl=LOGINS[mechanism]()) as admin:
        found = admin.describe_configs([Resource.broker(1)])

        assert found[Resource.broker(1)]["node.id"].value == "1"
        assert admin.describe_user_scram_credentials()[SCRAM_USER]
        assert admin.describe_quotas([QuotaEntity.of({"user": "alice"})]).failures == {}
        assert admin.what_if(QuotaEntity.of({"user": "nobody"}), {"request_percentage": None}) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "login",
    [
        Plain("alice", "wrong"),
        Scram(SCRAM_USER, "wrong"),
        Scram("nobody", "wrong", "SCRAM-SHA-256"),
        OAuthBearer(lambda: "no.token.at-all"),
        OAuthBearer(lambda: unsecured("alice", lifetime=-60)),
    ],
)
def test_a_wrong_login_is_refused_at_once(secured: KafkaBroker, kind: str, login: Sasl) -> None:
    patient = driver(kind, secured.address("PLAIN"), sasl=login, timeout=600.0)  # tries until then would end this test
    with patient as admin, pytest.raises(AuthenticationFailed) as raised:
        admin.describe_cluster()

    assert "wrong" not in str(raised.value)


@pytest.mark.parametrize("kind", KINDS)
def test_an_untrusted_certificate_is_refused(secured: KafkaBroker, kind: str) -> None:
    untrusting = driver(kind, secured.address("SASL"), tls=Tls(), sasl=Plain("alice", "alice-secret"))

    with untrusting as admin, pytest.raises(AuthenticationFailed, match=r"certificate of .* is not trusted"):
        admin.describe_cluster()


@pytest.mark.parametrize("kind", KINDS)
def test_the_response_to_an_unknown_mechanism_lists_the_supported_ones(secured: KafkaBroker, kind: str) -> None:
    login = Plain("alice", "alice-secret")
    login.mechanism = "GSSAPI"

    with (
        driver(kind, secured.address("PLAIN"), sasl=login) as admin,
        pytest.raises(UnsupportedSaslMechanism, match=r"it supports .*PLAIN"),
    ):
        admin.describe_cluster()


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_without_a_certificate_is_refused(secured: KafkaBroker, certificates: Certificates, kind: str) -> None:
    with (
        driver(kind, secured.address("MUTUAL"), tls=Tls(str(certificates.ca))) as admin,
        pytest.raises(KconfError, match=r"(?i)certificate|TLS") as raised,
    ):
        admin.describe_cluster(timeout=30)

    assert isinstance(raised.value, AuthenticationFailed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_without_tls_gets_a_clear_message(secured: KafkaBroker, kind: str) -> None:
    with (
        driver(kind, secured.address("MUTUAL"), timeout=30) as admin,
        pytest.raises(KconfError, match="TLS"),
    ):
        admin.describe_cluster()


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_that_ends_is_renewed(secured: KafkaBroker, kind: str) -> None:
    """KIP-368: the broker closes a connection whose session has expired."""
    with driver(kind, secured.address("SHORT"), sasl=Plain("alice", "alice-secret")) as admin:
        ends = time.monotonic() + 5
        while time.monotonic() < ends:
            assert admin.describe_cluster(timeout=30).nodes
            time.sleep(0.4)


@pytest.mark.parametrize("store", ["PEM", "inline PEM", "PKCS12", "JKS"])
@pytest.mark.parametrize("kind", KINDS)
def test_java_properties_configure_mutual_tls(
    secured: KafkaBroker, certificates: Certificates, kind: str, store: str
) -> None:
    if store == "PKCS12":
        import_module("cryptography")
    properties = {"security.protocol": "SSL", "ssl.truststore.type": store, "ssl.keystore.type": store}
    if store == "inline PEM":
        properties |= {
            "ssl.truststore.certificates": certificates.ca.read_text(),
            "ssl.keystore.certificate.chain": " ".join(certificates.certificate("client").read_text().splitlines()),
            "ssl.keystore.key": certificates.key("client").read_text(),
        }
    elif store == "PEM":
        properties |= {
            "ssl.truststore.location": str(certificates.ca),
            "ssl.keystore.location": str(certificates.store("client")),
        }
    else:
        keys = certificates.pkcs12("client") if store == "PKCS12" else certificates.jks("client")
        trust = certificates.directory / f"trust.{store.lower()}"
        properties |= {
            "ssl.truststore.location": str(trust if trust.exists() else certificates.trust(store)),
            "ssl.truststore.password": PASSWORD,
            "ssl.keystore.location": str(keys),
            "ssl.keystore.password": PASSWORD,
        }

    with driver(kind, secured.address("MUTUAL"), properties=properties) as admin:
        assert admin.describe_acls() is not None  # allowed to super users: CN=client is one


@pytest.mark.parametrize("mechanism", LOGINS)
def test_java_properties_configure_a_login(secured: KafkaBroker, certificates: Certificates, mechanism: str) -> None:
    modules = {
        "PLAIN": f'{JAAS}.plain.PlainLoginModule required username="alice" password="alice-secret";',
        "OAUTHBEARER": f'{JAAS}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";',
    }
    scram = f'{JAAS}.scram.ScramLoginModule required username="{SCRAM_USER}" password="{SCRAM_PASSWORD}";'
    properties = {
        "bootstrap.servers": secured.address("SASL"),
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": modules.get(mechanism, scram),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "client.id": "from-properties",
        "default.api.timeout.ms": "20000",
        "nonsense": "ignored",
    }

    with SyncAdminClient.from_properties(properties) as admin:
        assert admin.describe_user_scram_credentials()[SCRAM_USER]
        assert admin.settings.timeouts.call == 20


def test_java_properties_configure_oidc_client_credentials(secured: KafkaBroker, certificates: Certificates) -> None:
    """The test's own token endpoint; the broker accepts its tokens."""

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            told = {"access_token": unsecured("alice"), "expires_in": 300}
            self.send_response(200 if self.headers["Authorization"] == "Basic bWU6czNjcmV0" else 401)
            self.end_headers()
            self.wfile.write(json.dumps(told).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        module = f'{JAAS}.oauthbearer.OAuthBearerLoginModule required clientId="me" clientSecret="%s";'
        properties = {
            "bootstrap.servers": secured.address("SASL"),
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": f"{JAAS}.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{server.server_port}/token",
            "sasl.jaas.config": module % "s3cret",
            "ssl.truststore.certificates": certificates.ca.read_text(),
        }
        with SyncAdminClient.from_properties(properties) as admin:
            assert admin.describe_user_scram_credentials()[SCRAM_USER]
        wrong = {**properties, "sasl.jaas.config": module % "wrong"}
        with SyncAdminClient.from_properties(wrong) as admin, pytest.raises(AuthenticationFailed, match="HTTP 401"):
            admin.describe_cluster()
        server.shutdown()


@pytest.mark.parametrize("kind", KINDS)
def test_acls_are_created_described_and_deleted(secured: KafkaBroker, kind: str) -> None:
    name = f"client-{uuid4().hex[:8]}"
    bob = AclBinding(AclType.TOPIC, name, "User:bob", Operation.DESCRIBE_CONFIGS)
    deny = bob._replace(operation=Operation.ALTER_CONFIGS, permission=Permission.DENY, host="10.0.0.1")
    wrong = bob._replace(principal="bob")
    with (
        driver(kind, secured.bootstrap) as admin,
        driver(kind, secured.address("PLAIN"), sasl=Plain("bob", "bob-secret")) as restricted,
    ):
        admin.create_topics([name]).raise_for_failures()
        resource = Resource.topic(name)
        refused = restricted.describe_configs([resource]).failures[resource]

        made = admin.create_acls([bob, deny, wrong])
        wait(lambda: len(admin.describe_acls(AclFilter(AclType.TOPIC, name))) == 2)
        wait(lambda: not restricted.describe_configs([resource]).failures)

        assert refused.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert list(made.failures) == [wrong]
        assert set(admin.describe_acls(AclFilter(name=name))) == {bob, deny}
        assert admin.describe_acls(bob.filter()) == [bob]
        with pytest.raises(NotAuthorized):
            restricted.describe_acls()

        everything = AclFilter(name=name)
        deleted = admin.delete_acls([everything, AclFilter(AclType.GROUP, "nothing")])
        assert set(deleted[everything]) == {bob, deny}
        assert deleted[AclFilter(AclType.GROUP, "nothing")] == []
