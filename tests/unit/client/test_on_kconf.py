"""Both clients on a real kconf process."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from math import nan
from typing import Any
from uuid import uuid4

import pytest

from kconf import (
    AlterConfigOp,
    ConfigEntity,
    EffectiveQuota,
    EntityAlteration,
    ErrorCode,
    InvalidRequest,
    InvalidUpdateVersion,
    MatchType,
    Mechanism,
    NewTopic,
    Operation,
    OpType,
    QuotaCandidate,
    QuotaComponent,
    QuotaDifference,
    QuotaEntity,
    QuotaFilter,
    QuotaSource,
    Resource,
    ResourceType,
    Source,
    SyncAdminClient,
    UnknownTopic,
    UserScramCredentialDeletion,
    scram_upsertion,
)
from kconf.client.calls.effective_quotas import DescribeQuotas
from kconf.configdef.releases.detect import ClusterRelease
from tests.support.process import KconfProcess
from tests.support.targets import one_of
from tests.unit.client.drivers import driver

RATE = "producer_byte_rate"


def value(admin: Any, resource: Resource, key: str) -> str | None:
    found: str | None = admin.describe_configs([resource])[resource][key].value
    return found


def test_a_topic_is_created_grown_described_and_deleted(admin: Any) -> None:
    name = f"t-{uuid4().hex[:12]}"

    made = admin.create_topics([NewTopic(name, 3, 1, configs=[("retention.ms", "5000")])])[name]
    assert (made.num_partitions, made.replication_factor) == (3, 1)
    assert made.config["retention.ms"].source == Source.TOPIC
    assert admin.create_topics([name]).failures[name].code == ErrorCode.TOPIC_ALREADY_EXISTS

    admin.create_partitions({name: 5}).raise_for_failures()
    assert admin.list_topics()[name].partitions == 5
    assert len(admin.describe_topics([name, made.topic_id])[made.topic_id].partitions) == 5

    admin.delete_topics([made.topic_id]).raise_for_failures()
    assert name not in admin.list_topics()
    with pytest.raises(UnknownTopic):
        admin.delete_topics([name])[name]


def test_configs_are_described_and_altered(admin: Any, topic: str) -> None:
    orders, missing = Resource.topic(topic), Resource.topic(topic + "-missing")
    requests = [
        AlterConfigOp(OpType.SET, "retention.ms", "77"),
        AlterConfigOp(OpType.APPEND, "cleanup.policy", "compact"),
    ]

    done = admin.incremental_alter_configs({orders: requests, missing: requests})
    found = admin.describe_configs([orders, missing, Resource.broker(1), Resource.brokers()], synonyms=True)

    assert done.failures[missing].code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found[orders]["retention.ms"].value == "77"
    assert found[orders]["retention.ms"].synonyms[0].source == Source.TOPIC
    assert found[orders]["cleanup.policy"].value == "delete,compact"
    assert found[Resource.broker(1)]["node.id"].value == "1"
    assert list(found.failures) == [missing]
    with pytest.raises(ExceptionGroup):
        found.raise_for_failures()


def test_configs_are_replaced_and_updated(admin: Any, topic: str) -> None:
    orders = Resource.topic(topic)

    admin.alter_configs({orders: {"segment.ms": "2000"}}).raise_for_failures()
    assert (value(admin, orders, "segment.ms"), value(admin, orders, "retention.ms")) == ("2000", "604800000")
    admin.alter_configs({orders: {"segment.ms": "", "retention.ms": "9"}}, incremental_update=True)
    assert (value(admin, orders, "segment.ms"), value(admin, orders, "retention.ms")) == ("604800000", "9")
    admin.alter_configs({orders: {}}, validate_only=True).raise_for_failures()
    assert value(admin, orders, "retention.ms") == "9"


def test_the_entries_of_a_resource_are_a_mapping(admin: Any, topic: str) -> None:
    orders = Resource.topic(topic)

    view = admin.describe_configs([orders], keys=["retention.ms", "segment.ms"])[orders]

    assert list(view) == ["retention.ms", "segment.ms"]
    assert {key: entry.value for key, entry in view.items()} == {"retention.ms": "1000", "segment.ms": "604800000"}
    assert ("retention.ms" in view, view.get("no.such.key"), len(view)) == (True, None, 2)


def test_values_may_have_units(admin: Any, topic: str) -> None:
    orders, alice = Resource.topic(topic), QuotaEntity.of({"user": f"u-{uuid4().hex[:8]}"})

    admin.incremental_alter_configs({orders: [AlterConfigOp(OpType.SET, "retention.ms", "7d")]}).raise_for_failures()
    admin.alter_quotas({alice: {RATE: "1MiB", "request_percentage": "12.5"}}).raise_for_failures()
    refused = admin.incremental_alter_configs({orders: [AlterConfigOp(OpType.SET, "retention.ms", "7GiB")]})

    assert value(admin, orders, "retention.ms") == "604800000"
    held = admin.describe_quotas([alice])[alice]
    assert (held[RATE].value, held["request_percentage"].value) == (1048576.0, 12.5)
    assert refused.failures[orders].code == ErrorCode.INVALID_CONFIG
    with pytest.raises(InvalidRequest, match="must be a number"):
        admin.alter_client_quotas({alice: {RATE: "much"}})


def test_a_failure_names_its_resource(admin: Any, topic: str) -> None:
    orders, missing = Resource.topic(topic), Resource.topic(topic + "-missing")
    found = admin.describe_configs([orders, missing])

    with pytest.raises(UnknownTopic, match=str(missing)) as raised:
        found[missing]
    with pytest.raises(ExceptionGroup) as group:
        found.raise_for_failures()

    assert raised.value.resource == missing
    assert [str(each).startswith(f"{missing}: ") for each in group.value.exceptions] == [True]


def test_a_dry_run_of_quotas_and_of_configs_changes_nothing(admin: Any, topic: str) -> None:
    alice, orders = QuotaEntity.of({"user": f"u-{uuid4().hex[:8]}"}), Resource.topic(topic)
    requested = [AlterConfigOp(OpType.SET, "segment.ms", "5")]

    admin.alter_quotas({alice: {RATE: 1.0}}, validate_only=True, timeout=20).raise_for_failures()
    refused = admin.alter_quotas({alice: {RATE: -1.0}}, validate_only=True)
    admin.incremental_alter_configs({orders: requested}, validate_only=True, timeout=20).raise_for_failures()

    assert refused.failures[alice].code == ErrorCode.INVALID_REQUEST
    assert admin.describe_quotas([alice], timeout=20)[alice] == {}
    assert value(admin, orders, "segment.ms") == "604800000"


def test_an_entry_shows_whether_it_is_default_sensitive_and_read_only(admin: Any) -> None:
    """KIP-133's ConfigEntry."""
    view = admin.describe_configs([Resource.broker(1)])[Resource.broker(1)]

    flags = {key: (view[key].source == Source.DEFAULT, view[key].sensitive, view[key].read_only) for key in view}
    assert flags["log.cleaner.threads"] == (True, False, False)
    assert flags["ssl.key.password"] == (True, True, False)
    assert flags["node.id"] == (False, False, True)


def test_an_error_of_one_quota_does_not_affect_others(admin: Any) -> None:
    alice = QuotaEntity.of({"user": f"u-{uuid4().hex[:8]}"})

    done = admin.alter_quotas({alice: {RATE: 100.5, "consumer_byte_rate": -1.0}})

    assert "consumer_byte_rate" in (done.failures[alice].message or "")
    assert admin.describe_client_quotas(QuotaFilter.exactly(alice)) == {alice: {RATE: 100.5}}


def test_entities_are_altered_described_and_listed_by_requests_of_kip_21_and_248(admin: Any, topic: str) -> None:
    orders, app = ConfigEntity("topic", topic), ConfigEntity("client", f"c-{uuid4().hex[:8]}")
    gone, user = ConfigEntity("topic", topic + "-missing"), f"u-{uuid4().hex[:8]}"
    of_app = QuotaEntity.of({"user": user, "client-id": app.name})

    done = admin.alter_entity_configs(
        {
            orders: EntityAlteration({"segment.ms": "5"}, ["retention.ms"]),
            app: EntityAlteration({RATE: "1024"}),
            gone: EntityAlteration({"segment.ms": "5"}),
        }
    )
    unknown = admin.alter_entity_configs({orders: EntityAlteration(deleted=["no.such.key"])})
    found = admin.describe_entity_configs([orders, app, gone])
    admin.alter_client_quotas({of_app: {RATE: 1.0}}).raise_for_failures()
    listed = admin.list_config_entities(
        [QuotaComponent("user", MatchType.EXACT, user), QuotaComponent("client-id", MatchType.ANY)]
    )

    assert {each: failure.code for each, failure in done.failures.items()} == {gone: ErrorCode.INVALID_REQUEST}
    assert unknown.failures[orders].code == ErrorCode.INVALID_CONFIG
    assert (found[orders], found[app]) == ({"segment.ms": "5"}, {RATE: "1024"})
    assert found.failures[gone].code == ErrorCode.INVALID_REQUEST
    assert listed == [of_app]
    assert QuotaEntity.of({"client-id": app.name}) in admin.list_config_entities([QuotaComponent("client-id")])
    assert admin.list_config_entities([QuotaComponent("user", MatchType.EXACT, ".")]) == []


def test_a_change_with_an_outdated_revision_is_refused(admin: Any, topic: str) -> None:
    """Of two clients that read the same revision, only the first may write."""
    orders = Resource.topic(topic)
    seen = admin.describe_configs([orders]).revision
    first, second = ({orders: [AlterConfigOp(OpType.SET, "retention.ms", each)]} for each in ("1", "2"))

    admin.incremental_alter_configs(first, expected={orders: seen}, reason="first").raise_for_failures()
    late = admin.incremental_alter_configs(second, expected={orders: seen}, reason="second")

    with pytest.raises(InvalidUpdateVersion):
        late[orders]
    assert value(admin, orders, "retention.ms") == "1"


def test_the_cluster_is_described_and_its_resources_are_listed(admin: Any, server: KconfProcess, topic: str) -> None:
    cluster = admin.describe_cluster(authorized_operations=True)

    assert [(each.host, each.port) for each in cluster.nodes.values()] == [(server.host, server.port)]
    assert cluster.controller.id == 1
    assert Operation.ALTER_CONFIGS in cluster.authorized_operations
    assert Resource.topic(topic) in admin.list_config_resources([ResourceType.TOPIC])
    assert Resource.broker(1) in admin.list_config_resources()
    assert admin.list_groups() == []


def test_quotas_are_altered_and_described(admin: Any) -> None:
    user = f"u-{uuid4().hex[:8]}"
    alone, pair = QuotaEntity.of({"user": user}), QuotaEntity.of({"user": user, "client-id": None})
    of_user = QuotaFilter((QuotaComponent("user", MatchType.EXACT, user),))

    done = admin.alter_client_quotas(
        {alone: {"producer_byte_rate": 1024.0}, pair: {"request_percentage": 12.5}, QuotaEntity.of({"x": "y"}): {}}
    )

    assert list(done.failures) == [QuotaEntity.of({"x": "y"})]
    assert admin.describe_client_quotas(of_user) == {
        alone: {"producer_byte_rate": 1024.0},
        pair: {"request_percentage": 12.5},
    }
    admin.alter_client_quotas({alone: {"producer_byte_rate": None}}).raise_for_failures()
    assert list(admin.describe_client_quotas(of_user)) == [pair]


def test_the_effective_quota_has_its_level_and_the_overridden_ones(admin: Any) -> None:
    user, client = f"u-{uuid4().hex[:8]}", f"c-{uuid4().hex[:8]}"
    pair, alone = QuotaEntity.of({"user": user, "client-id": client}), QuotaEntity.of({"user": user})
    app, address = QuotaEntity.of({"client-id": client}), QuotaEntity.of({"ip": "10.0.0.1"})

    done = admin.alter_quotas(
        {alone: {RATE: 10.0}, app: {RATE: 30.0, "request_percentage": 5.0}, address: {RATE: 1.0}}, reason="ticket 7"
    )
    found = admin.describe_quotas([pair, alone, app, address])

    assert list(done.failures) == list(found.failures) == [address]
    assert found[pair] == {
        RATE: EffectiveQuota(10.0, QuotaSource.USER, (QuotaCandidate(QuotaSource.CLIENT, 30.0),)),
        "request_percentage": EffectiveQuota(5.0, QuotaSource.CLIENT),
    }
    assert found[alone] == {RATE: EffectiveQuota(10.0, QuotaSource.USER)}
    assert admin.describe_quotas([app], keys=["request_percentage"])[app] == {
        "request_percentage": EffectiveQuota(5.0, QuotaSource.CLIENT)
    }
    reasons = [each.caller.reason for each in admin.list_changes().revisions if user in str(each.changes)]
    assert reasons == ["ticket 7"]
    admin.alter_quotas({alone: {RATE: nan}}).raise_for_failures()
    assert admin.describe_quotas([pair])[pair][RATE] == EffectiveQuota(30.0, QuotaSource.CLIENT)


def test_server_and_client_resolve_quotas_alike(admin: Any, server: KconfProcess) -> None:
    """The result of a kconf server, and the client's own computation from stored quotas for a real Kafka."""
    user, client = f"u-{uuid4().hex[:8]}", f"c-{uuid4().hex[:8]}"
    levels = {each.entity(user, client): {RATE: 1.0 + each} for each in QuotaSource}
    asked = [QuotaEntity.of({"user": one, "client-id": other}) for one in (user, "x", None) for other in (client, None)]
    asked += [QuotaEntity.of({kind: name}) for kind in ("user", "client-id") for name in (user, client, None)]
    admin.alter_quotas(levels).raise_for_failures()
    try:
        for wanted in (asked[:2], asked):  # level by level, and all quotas at once
            with SyncAdminClient(server.bootstrap) as other:
                resolved = other._send(DescribeQuotas(wanted).on_kafka())
            assert resolved.items() == admin.describe_quotas(wanted).items()
        assert [each.source for each in admin.describe_quotas(asked)[asked[0]][RATE].overridden] == list(QuotaSource)[
            1:
        ]
    finally:
        admin.alter_quotas({each: {RATE: None} for each in levels}).raise_for_failures()


def test_values_that_kip_248_cannot_express_are_not_sent(admin: Any) -> None:
    user = QuotaEntity.of({"user": "u"})
    wrong = [QuotaEntity.of({"user": ""}), QuotaEntity.of({}), QuotaEntity.of({"x": "y"})]

    done = admin.alter_quotas({user: {"connection_creation_rate": 1.0}, **{each: {RATE: 1.0} for each in wrong}})

    assert {each.code for each in done.failures.values()} == {ErrorCode.INVALID_REQUEST}
    assert list(done) == [user, *wrong]
    assert admin.describe_quotas(wrong).failures.keys() == set(wrong)
    with pytest.raises(InvalidRequest):
        admin.what_if(user, {})
    with pytest.raises(InvalidRequest):
        admin.what_if(QuotaEntity.of({"ip": "10.0.0.1"}), {"connection_creation_rate": 1.0})


def test_what_if_returns_the_clients_whose_quota_would_change(admin: Any, server: KconfProcess) -> None:
    client = f"c-{uuid4().hex[:8]}"
    app = QuotaEntity.of({"client-id": client})
    with SyncAdminClient(server.bootstrap, client_id=client) as seen:
        seen.describe_cluster()

    shift = QuotaDifference("ANONYMOUS", client, RATE, None, QuotaCandidate(QuotaSource.CLIENT, 7.0))
    assert admin.what_if(app, {RATE: 7.0}) == [shift]
    assert admin.what_if(app, {RATE: 7.0}, pairs=[("ANONYMOUS", client), ("ANONYMOUS", "other")]) == [shift]
    assert admin.what_if(app, {RATE: None}) == []
    assert admin.describe_quotas([app])[app] == {}
    for pairs in (None, [("a", "b")]):
        with pytest.raises(InvalidRequest):
            admin.what_if(app, {RATE: -1.0}, pairs=pairs)


def test_scram_credentials_are_set_described_and_deleted(admin: Any) -> None:
    user = f"u-{uuid4().hex[:8]}"
    both = [scram_upsertion(user, each, "secret") for each in (Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512)]

    admin.alter_user_scram_credentials(both).raise_for_failures()
    assert [each.iterations for each in admin.describe_user_scram_credentials([user])[user]] == [4096, 4096]
    admin.alter_user_scram_credentials(
        [UserScramCredentialDeletion(user, each.mechanism) for each in both]
    ).raise_for_failures()

    assert admin.describe_user_scram_credentials([user]).failures[user].code == ErrorCode.RESOURCE_NOT_FOUND
    assert user not in admin.describe_user_scram_credentials()


@pytest.mark.parametrize("count", one_of(2000, [10_000]))
def test_many_topics_are_created_altered_and_described_in_one_call(kind: str, count: int) -> None:
    names = [f"many-{number:05d}" for number in range(count)]
    resources = [Resource.topic(each) for each in names]
    with KconfProcess() as own, driver(kind, own.bootstrap) as admin:
        admin.create_topics(NewTopic(each, 1, 1) for each in names).raise_for_failures()
        requests = {each: [AlterConfigOp(OpType.SET, "retention.ms", str(n))] for n, each in enumerate(resources)}
        admin.incremental_alter_configs(requests).raise_for_failures()

        found = admin.describe_configs(resources)

        assert [found[each]["retention.ms"].value for each in resources] == [str(n) for n in range(count)]


def test_a_call_succeeds_when_a_killed_server_is_back(kind: str) -> None:
    with KconfProcess() as own, driver(kind, own.bootstrap) as admin:
        admin.create_topics(["t"]).raise_for_failures()
        own.kill()
        with ThreadPoolExecutor(1) as pool:
            started = pool.submit(lambda: time.sleep(0.5) or own.start())  # type: ignore[func-returns-value]
            try:
                assert value(admin, Resource.topic("t"), "retention.ms") == "604800000"
            finally:
                started.result()  # the client is not at fault if the server did not restart


def test_threads_share_a_client(server: KconfProcess) -> None:
    with SyncAdminClient(server.bootstrap) as admin:
        names = [f"thread-{uuid4().hex[:8]}" for _ in range(6)]
        threads = [threading.Thread(target=lambda name=name: admin.create_topics([name])) for name in names]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

        assert set(names) <= set(admin.list_topics())


def test_a_connected_client_knows_the_release_without_further_requests(admin: Any) -> None:
    assert admin.cluster_release() == ClusterRelease("4.3", "4.3")
    client = getattr(admin, "client", admin)

    client.describe_features = None  # no further requests

    assert admin.cluster_release().is_exact
