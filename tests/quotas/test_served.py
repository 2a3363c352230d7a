"""Quotas on a real kconf process: Kafka's own API, KIP-248's and KIP-21's, over one store."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from kconf.errors import ErrorCode
from kconf.protocol.messages.alter_config import AddedConfigEntry, AlteredEntity
from kconf.protocol.messages.describe_config import DescribedEntity
from kconf.protocol.messages.describe_quotas import DescribedQuotaResource, QuotaResource
from kconf.protocol.messages.list_config_entities import WantedConfigEntity
from tests.support.process import KconfProcess
from tests.support.quotas import CLIENT, USER, QuotaAdmin

ALICE = {"user": "alice"}
PAIR = {"user": "alice", "client-id": "app"}
APP = {"client-id": "app"}


@pytest.mark.parametrize("version", [0, 1])
def test_a_quota_is_set_described_and_removed(admin: QuotaAdmin, version: int) -> None:
    assert admin.set_quotas(ALICE, version=version, producer_byte_rate=1024.0, request_percentage=12.5) == 0
    assert admin.quotas(version=version) == {
        (("user", "alice"),): {"producer_byte_rate": 1024.0, "request_percentage": 12.5}
    }

    assert admin.set_quotas(ALICE, version=version, producer_byte_rate=None, request_percentage=None) == 0
    assert admin.quotas(version=version) == {}


def test_a_dry_run_changes_nothing(admin: QuotaAdmin) -> None:
    assert admin.set_quotas(ALICE, dry=True, producer_byte_rate=1.0) == 0
    assert admin.set_quotas(ALICE, dry=True, producer_byte_rate=0.5) == ErrorCode.INVALID_REQUEST
    assert admin.quotas() == {}


def test_quotas_survive_a_crash(server: KconfProcess, admin: QuotaAdmin) -> None:
    for entity in (
        ALICE,
        PAIR,
        APP,
        {"user": None},
        {"user": "with spaces, ünï", "client-id": None},
        {"client-id": "<default>"},
    ):
        assert admin.set_quotas(entity, consumer_byte_rate=7.0) == 0
    admin.set_quotas({"ip": "10.0.0.1"}, connection_creation_rate=5.0)
    before = admin.quotas()

    server.kill()
    server.start()

    with QuotaAdmin(server.bootstrap) as again:
        assert again.quotas() == before
        assert len(before) == 7


def test_kip_248_returns_the_value_the_source_and_the_overridden_quotas(admin: QuotaAdmin) -> None:
    admin.set_quotas(PAIR, producer_byte_rate=1.0)
    admin.set_quotas(ALICE, producer_byte_rate=2.0, consumer_byte_rate=3.0)
    admin.set_quotas({"user": None}, producer_byte_rate=4.0)
    admin.set_quotas({"client-id": None}, producer_byte_rate=5.0, controller_mutation_rate=6.0)

    answer = admin.resolve((USER, "alice"), (CLIENT, "app"))

    assert answer.error_code == 0
    assert [(each.quota_type, each.quota_value, each.quota_source) for each in answer.quotas] == [
        (0, 1.0, 0),
        (1, 3.0, 2),
        (3, 6.0, 7),
    ]
    assert [(each.quota_value, each.quota_source) for each in answer.quotas[0].overridden] == [
        (2.0, 2),
        (4.0, 5),
        (5.0, 7),
    ]


def test_kip_248_an_empty_name_is_the_default(admin: QuotaAdmin) -> None:
    admin.alter_248((USER, ""), (CLIENT, ""), q0=8.0)

    assert admin.quotas() == {(("client-id", None), ("user", None)): {"producer_byte_rate": 8.0}}
    (quota,) = admin.resolve((USER, ""), (CLIENT, "")).quotas
    assert (quota.quota_value, quota.quota_source) == (8.0, 4)
    assert admin.resolve((USER, "")).quotas == []


def test_kip_248_only_the_requested_types_are_returned(admin: QuotaAdmin) -> None:
    admin.set_quotas(ALICE, producer_byte_rate=1.0, consumer_byte_rate=2.0, request_percentage=3.0)

    assert [each.quota_type for each in admin.resolve((USER, "alice"), types=(2, 1)).quotas] == [1, 2]


def test_kip_248_nan_removes_a_quota_and_others_stay(admin: QuotaAdmin) -> None:
    admin.alter_248((USER, "alice"), q0=1.0, q1=2.0)

    answer = admin.alter_248((USER, "alice"), q0=None)

    assert [(each.quota_type, each.error_code) for each in answer.quotas] == [(0, 0)]
    assert admin.quotas() == {(("user", "alice"),): {"consumer_byte_rate": 2.0}}


def test_kip_248_errors_are_reported_per_resource(admin: QuotaAdmin) -> None:
    refused = admin.alter_248((USER, "alice"), q0=0.0, q1=-5.0)

    assert {each.error_code for each in refused.quotas} == {ErrorCode.INVALID_REQUEST}
    assert admin.alter_248((4, "1"), q0=1.0).quotas[0].error_code == ErrorCode.INVALID_REQUEST
    assert admin.alter_248((USER, "a"), (USER, "b"), q0=1.0).quotas[0].error_code == ErrorCode.INVALID_REQUEST
    assert admin.alter_248((USER, "alice"), q9=1.0).quotas[0].error_code == ErrorCode.INVALID_REQUEST
    assert admin.resolve().error_code == ErrorCode.INVALID_REQUEST
    assert admin.resolve((USER, "alice"), types=(9,)).error_code == ErrorCode.INVALID_REQUEST
    good = [DescribedQuotaResource([QuotaResource(kind, "x")]) for kind in (USER, 0)]
    assert [each.error_code for each in admin.ask("DescribeQuotas", 0, resources=good).resources] == [0, 42]
    assert admin.quotas() == {}


def test_kip_248_a_dry_run_shows_whose_quota_would_change(server: KconfProcess, admin: QuotaAdmin) -> None:
    admin.set_quotas({"client-id": None}, producer_byte_rate=5.0)
    with QuotaAdmin(server.bootstrap, client_id="app") as app:
        app.quotas()

    shifts = admin.alter_248((CLIENT, "app"), dry=True, q0=9.0).shifts
    removal = admin.alter_248((CLIENT, ""), dry=True, q0=None).shifts

    assert [(each.user, each.client_id, each.value_before, each.source_before) for each in shifts] == [
        ("ANONYMOUS", "app", 5.0, 7)
    ]
    assert [(each.value_after, each.source_after) for each in shifts] == [(9.0, 6)]
    assert {each.client_id for each in removal} == {"app", "wire"}
    assert all(math.isnan(each.value_after) and each.source_after == -1 for each in removal)
    assert admin.alter_248((USER, "nobody"), dry=True, q0=9.0).shifts == ()


def test_entities_are_listed_with_their_defaults(admin: QuotaAdmin) -> None:
    for entity in (
        ALICE,
        PAIR,
        {"user": "alice", "client-id": None},
        {"user": None},
        APP,
        {"user": "bob", "client-id": "x"},
    ):
        admin.set_quotas(entity, producer_byte_rate=1.0)

    assert admin.entities((USER, None)) == [((USER, ""),), ((USER, "alice"),), ((USER, "bob"),)]
    assert admin.entities((CLIENT, None)) == [((CLIENT, "app"),)]
    assert admin.entities((USER, "alice"), (CLIENT, None)) == [
        ((USER, "alice"), (CLIENT, "")),
        ((USER, "alice"), (CLIENT, "app")),
    ]
    assert len(admin.entities((USER, None), (CLIENT, None))) == 3
    refused = admin.ask("ListConfigEntities", 0, entities=[WantedConfigEntity(2, None)])
    assert refused.error_code == ErrorCode.INVALID_REQUEST


def test_kip_21_a_clients_quota_is_its_config_and_falls_back_when_deleted(admin: QuotaAdmin) -> None:
    """KIP-21: if you delete the quota for a client id, the quota for that client will be set to the default quota."""
    admin.set_quotas({"client-id": None}, producer_byte_rate=5.0)

    def altered(name: str = "app", *, added: Sequence[tuple[str, str]] = (), deleted: Sequence[str] = ()) -> int:
        entity = AlteredEntity("clients", name, [AddedConfigEntry(*each) for each in added], deleted)
        (result,) = admin.ask("AlterConfig", 0, entities=[entity]).entities
        code: int = result.error_code
        return code

    assert altered(added=[("producer_byte_rate", "1000"), ("consumer_byte_rate", "2000")]) == 0
    (told,) = admin.ask("DescribeConfig", 0, entities=[DescribedEntity("clients", "app")]).entities
    assert [(each.config_key, each.config_value) for each in told.config_entries] == [
        ("consumer_byte_rate", "2000"),
        ("producer_byte_rate", "1000"),
    ]
    assert admin.resolve((CLIENT, "app"), types=(0,)).quotas[0].quota_source == 6

    assert altered(deleted=["producer_byte_rate"]) == 0
    (quota,) = admin.resolve((CLIENT, "app"), types=(0,)).quotas
    assert (quota.quota_value, quota.quota_source) == (5.0, 7)

    assert altered(added=[("producer_byte_rate", "much")]) == ErrorCode.INVALID_CONFIG
    assert altered(added=[("producer_byte_rate", "0")]) == ErrorCode.INVALID_CONFIG
    assert altered(added=[("retention.ms", "1")]) == ErrorCode.INVALID_CONFIG
    assert altered("", deleted=["producer_byte_rate"]) == ErrorCode.INVALID_REQUEST
