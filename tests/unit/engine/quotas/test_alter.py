"""What AlterClientQuotas would do (KIP-546; broker-semantics 6.5)."""

from __future__ import annotations

import math

import pytest

from kconf.engine.quotas.alter import (
    QuotaOutcomes,
    canonical_address,
    is_address,
    plan_alter_each_quota,
    plan_alter_quotas,
)
from kconf.errors import ErrorCode
from kconf.model.journal import Change, ChangeKind
from kconf.model.plan import Plan
from kconf.model.quota import ClientQuotaAlteration, ClientQuotaOp, QuotaEntity
from kconf.model.snapshot import Snapshot

ALICE = QuotaEntity.of({"user": "alice"})
EVERYONE = QuotaEntity.of({"user": None})
APP = QuotaEntity.of({"client-id": "app"})
HOST = QuotaEntity.of({"ip": "10.0.0.1"})


def requested(entity: QuotaEntity, **quotas: float | None) -> ClientQuotaAlteration:
    return ClientQuotaAlteration(entity, tuple(ClientQuotaOp(key, value) for key, value in quotas.items()))


def having(*requests: ClientQuotaAlteration) -> Snapshot:
    plan = plan_alter_quotas(Snapshot.EMPTY, requests)
    assert not any(plan.outcome.values())
    return Snapshot.EMPTY.apply(plan.changes, 1)


def code(plan: Plan[QuotaOutcomes], entity: QuotaEntity) -> int:
    failure = plan.outcome[entity]
    return 0 if failure is None else failure.code


def test_a_quota_is_set_updated_and_removed() -> None:
    first = having(requested(ALICE, producer_byte_rate=1024.0, request_percentage=12.3))

    second = first.apply(plan_alter_quotas(first, [requested(ALICE, producer_byte_rate=2048.0)]).changes, 2)
    removal = plan_alter_quotas(second, [requested(ALICE, producer_byte_rate=None)])

    assert first.overrides(ALICE.resource) == {"producer_byte_rate": "1024", "request_percentage": "12.3"}
    assert second.overrides(ALICE.resource) == {"producer_byte_rate": "2048", "request_percentage": "12.3"}
    assert removal.changes == [Change(ChangeKind.CONFIG, ALICE.resource, "producer_byte_rate", "2048", None, "delete")]
    assert removal.guards == {ALICE.resource: 2}


def test_setting_the_current_value_and_removing_an_unset_quota_change_nothing() -> None:
    state = having(requested(ALICE, producer_byte_rate=1024.0))

    plan = plan_alter_quotas(
        state,
        [
            requested(
                ALICE, producer_byte_rate=1024.0, consumer_byte_rate=None, nonsense=None, connection_creation_rate=None
            )
        ],
    )

    assert code(plan, ALICE) == 0
    assert plan.changes == []


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (1.0, "1"),
        (1235.0000001, "1235"),
        (2.0**63, "9223372036854775807"),
        (1e7, "10000000"),
    ],
)
def test_byte_rates_are_stored_as_whole_numbers(value: float, kept: str) -> None:
    assert having(requested(ALICE, consumer_byte_rate=value)).overrides(ALICE.resource)["consumer_byte_rate"] == kept


@pytest.mark.parametrize(("value", "kept"), [(12.3, "12.3"), (5.0, "5.0"), (1e10, "1.0E10"), (1e-7, "1.0E-7")])
def test_other_quotas_are_stored_as_java_prints_a_double(value: float, kept: str) -> None:
    assert having(requested(APP, request_percentage=value)).overrides(APP.resource)["request_percentage"] == kept


@pytest.mark.parametrize(
    ("entity", "key", "value"),
    [
        (ALICE, "producer_byte_rate", 0.0),
        (ALICE, "producer_byte_rate", -1.0),
        (ALICE, "producer_byte_rate", 10000.5),
        (ALICE, "producer_byte_rate", 2.245),
        (ALICE, "producer_byte_rate", 3.7e19),
        (ALICE, "producer_byte_rate", 1e-7),
        (ALICE, "producer_byte_rate", math.nan),
        (ALICE, "request_percentage", math.nan),
        (ALICE, "request_percentage", math.inf),
        (ALICE, "request_percentage", -math.inf),
        (ALICE, "request_percentage", 0.0),
        (ALICE, "bad", 1.0),
        (ALICE, "connection_creation_rate", 1.0),
        (ALICE, "SCRAM-SHA-256", 1.0),
        (HOST, "producer_byte_rate", 1.0),
        (HOST, "connection_creation_rate", 2.0**31),
    ],
)
def test_invalid_quotas_are_refused(entity: QuotaEntity, key: str, value: float) -> None:
    plan = plan_alter_quotas(Snapshot.EMPTY, [requested(entity, **{key: value, "request_percentage_": None})])

    assert code(plan, entity) == ErrorCode.INVALID_REQUEST
    assert plan.changes == []


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"user": ""},
        {"client-id": ""},
        {"": "x"},
        {"group": "x"},
        {"user": "alice", "ip": "10.0.0.1"},
        {"client-id": None, "ip": None},
        {"ip": "not a valid host so 1.2.3.4"},
        {"ip": "RFC2606.invalid"},
    ],
)
def test_an_invalid_entity_is_refused(parts: dict[str, str | None]) -> None:
    entity = QuotaEntity.of(parts)

    assert code(plan_alter_quotas(Snapshot.EMPTY, [requested(entity)]), entity) == ErrorCode.INVALID_REQUEST


def test_defaults_pairs_addresses_and_unusual_names_are_valid_entities() -> None:
    entities = [
        EVERYONE,
        QuotaEntity.of({"ip": None}),
        QuotaEntity.of({"ip": "::1"}),
        QuotaEntity.of({"user": None, "client-id": None}),
        QuotaEntity.of({"user": "<default>", "client-id": "with spaces, and ünï"}),
    ]

    plan = plan_alter_quotas(Snapshot.EMPTY, [requested(entity) for entity in entities])

    assert plan.outcome == dict.fromkeys(entities)


def test_an_error_of_one_quota_fails_its_entity_but_no_other() -> None:
    plan = plan_alter_quotas(
        Snapshot.EMPTY, [requested(ALICE, producer_byte_rate=1.0, bad=1.0), requested(APP, producer_byte_rate=2.0)]
    )

    assert [code(plan, each) for each in (ALICE, APP)] == [ErrorCode.INVALID_REQUEST, 0]
    assert [change.resource for change in plan.changes] == [APP.resource]


def test_an_entity_that_is_given_twice_is_refused_and_not_changed() -> None:
    """A real broker refuses it and keeps the first change."""
    plan = plan_alter_quotas(
        Snapshot.EMPTY,
        [requested(ALICE, producer_byte_rate=1.0), requested(APP), requested(ALICE, consumer_byte_rate=2.0)],
    )

    assert list(plan.outcome) == [ALICE, APP]
    assert code(plan, ALICE) == ErrorCode.INVALID_REQUEST
    assert plan.changes == []


def test_a_quota_twice_within_an_entity_is_refused() -> None:
    twice = ClientQuotaAlteration(
        ALICE, (ClientQuotaOp("request_percentage", 1.0), ClientQuotaOp("request_percentage", None))
    )

    assert code(plan_alter_quotas(Snapshot.EMPTY, [twice]), ALICE) == ErrorCode.INVALID_REQUEST


def test_removing_a_credential_by_the_name_of_a_quota_does_nothing() -> None:
    """In ZooKeeper both are in one znode, and old brokers deleted the credential."""
    line = Change(ChangeKind.CONFIG, ALICE.resource, "SCRAM-SHA-256", None, "salt=…", "set")
    state = Snapshot.EMPTY.apply([line], 1)

    assert plan_alter_quotas(state, [requested(ALICE, **{"SCRAM-SHA-256": None})]).changes == []


def test_without_the_right_every_entity_is_refused() -> None:
    plan = plan_alter_quotas(Snapshot.EMPTY, [requested(ALICE, bad=1.0), requested(APP)], authorize=lambda *_: False)

    assert {code(plan, each) for each in (ALICE, APP)} == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("1.2.3", "1.2.0.3"),
        ("2130706433", "127.0.0.1"),
        ("010.0.0.1", "10.0.0.1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("256.0.0.1", None),
        ("1.2.3.4.5", None),
        ("1.2.3.", None),
        ("4294967296", None),
        ("localhost", None),
        ("[127.0.0.1]", None),
        ("", None),
        ("٣.0.0.1", None),
        (":", None),
    ],
)
def test_an_address_is_read_as_java_reads_it(text: str, address: str | None) -> None:
    assert canonical_address(text) == address
    assert is_address(text) is (address is not None)


def test_an_invalid_quota_of_kip_248_does_not_affect_others() -> None:
    good_and_bad = requested(ALICE, producer_byte_rate=7, consumer_byte_rate=-1)
    twice = requested(APP, producer_byte_rate=8), requested(APP, consumer_byte_rate=9)

    plan = plan_alter_each_quota(Snapshot.EMPTY, [good_and_bad, *twice], fractions=True)

    codes = [[failure.code if failure else 0 for failure in each] for each in plan.outcome]
    assert codes == [[0, 42], [42], [42]]
    assert [(change.resource, change.key, change.after) for change in plan.changes] == [
        (ALICE.resource, "producer_byte_rate", "7")
    ]


@pytest.mark.parametrize(("fractions", "code", "stored"), [(True, 0, ["100.5"]), (False, 42, [])])
def test_a_byte_rate_with_a_fraction_is_accepted_only_if_no_broker_reads_it(
    fractions: bool, code: int, stored: list[str]
) -> None:
    plan = plan_alter_each_quota(Snapshot.EMPTY, [requested(ALICE, producer_byte_rate=100.5)], fractions=fractions)

    ((failure,),) = plan.outcome
    assert (failure.code if failure else 0) == code
    assert [change.after for change in plan.changes] == stored
