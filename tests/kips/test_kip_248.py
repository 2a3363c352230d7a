"""KIP-248, which Kafka rejected: its quota requests, and incremental_update of AlterConfigs as tag 10248 of version 2.

Its command line and scram-credentials.sh are tested in tests/cli/compat.
"""

from __future__ import annotations

import struct
from math import nan
from typing import Any

import pytest

from kconf.protocol.codec.serde import decode, encode
from kconf.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from kconf.protocol.messages.alter_quotas import AlteredQuotaResource, WantedQuota
from kconf.protocol.messages.describe_quotas import DescribedQuotaResource, QuotaResource
from kconf.protocol.messages.list_config_entities import WantedConfigEntity
from tests.support.admin import BROKER, TOPIC, Admin, codes
from tests.support.process import KconfProcess

USER, CLIENT = 5, 6
PRODUCER, CONSUMER, PERCENTAGE = 0, 1, 2

Who = tuple[tuple[int, str], ...]
"""A user, a client, or a client of a user; an empty name is the default."""


def user(name: str = "") -> Who:
    return ((USER, name),)


def client(name: str = "", of: str | None = None) -> Who:
    return ((CLIENT, name),) if of is None else ((USER, of), (CLIENT, name))


def alter_quotas(admin: Admin, who: Who, quotas: dict[int, float], *, dry: bool = False) -> list[int]:
    """A code for each quota."""
    parts = [QuotaResource(*each) for each in who]
    requested = AlteredQuotaResource(parts, [WantedQuota(*each) for each in quotas.items()])
    (answer,) = admin.ask("AlterQuotas", 0, validate_only=dry, resources=[requested]).resources
    return [each.error_code for each in answer.quotas]


def quotas(admin: Admin, who: Who, *types: int) -> dict[int, tuple[float, int]]:
    """Value and source by type."""
    requested = DescribedQuotaResource([QuotaResource(*each) for each in who], types)
    (answer,) = admin.ask("DescribeQuotas", 0, resources=[requested]).resources
    assert answer.error_code == 0
    return {each.quota_type: (each.quota_value, each.quota_source) for each in answer.quotas}


def update(admin: Admin, place: tuple[int, str], configs: dict[str, str], **options: Any) -> int:
    resource = AlterConfigsResource(*place, [AlterableConfig(*each) for each in configs.items()])
    answer = admin.ask("AlterConfigs", 2, resources=[resource], **options)
    code: int = answer.responses[0].error_code
    return code


def test_without_the_flag_all_values_are_replaced(admin: Admin, topic: str) -> None:
    """AlterConfigs 1: the default is false; the sent values replace all stored ones."""
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    assert update(admin, (TOPIC, topic), {"retention.ms": "7"}) == 0
    assert admin.overrides(topic) == {"retention.ms": "7"}


def test_with_the_flag_values_that_are_not_sent_stay(admin: Admin, topic: str) -> None:
    """AlterConfigs 2: an incremental update keeps other values."""
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    assert update(admin, (TOPIC, topic), {"retention.ms": "7", "flush.ms": "8"}, incremental_update=True) == 0
    assert admin.overrides(topic) == {"flush.ms": "8", "retention.ms": "7", "segment.ms": "5"}


def test_with_the_flag_an_empty_string_deletes_the_key(admin: Admin, topic: str) -> None:
    """AlterConfigs 3: in incremental mode an empty string deletes the key."""
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    assert update(admin, (TOPIC, topic), {"segment.ms": ""}, incremental_update=True) == 0
    assert admin.overrides(topic) == {"flush.ms": "6"}


def test_the_flag_does_not_change_dry_runs_and_errors(admin: Admin, topic: str) -> None:
    """AlterConfigs 4: the other semantics do not change: dry runs, errors, atomicity per resource."""
    admin.create(topic, configs={"flush.ms": "6"})

    assert update(admin, (TOPIC, topic), {"segment.ms": "5"}, incremental_update=True, validate_only=True) == 0
    assert update(admin, (TOPIC, topic), {"segment.ms": "5", "retention.ms": "soon"}, incremental_update=True) == 40
    assert update(admin, (TOPIC, "missing"), {"segment.ms": "5"}, incremental_update=True) == 3
    assert update(admin, (BROKER, "1"), {"broker.id": "5"}, incremental_update=True) == 42
    assert admin.overrides(topic) == {"flush.ms": "6"}


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("flag", [b"\x01", b"\x00"])
def test_the_incremental_flag_as_a_field_is_refused_and_removes_nothing(
    admin: Admin, version: int, flag: bytes
) -> None:
    """AlterConfigs Request: the KIP's form, a boolean at the end of the body, never shipped; ignoring it would delete
    all.
    """
    topic = f"flag-{version}-{flag[0]}"
    admin.create(topic, configs={"segment.ms": "5"})
    request = AlterConfigsRequest([AlterConfigsResource(TOPIC, topic, [AlterableConfig("flush.ms", "6")])])

    body = admin.say(33, version, encode(request, version, False) + flag)

    (said,) = decode(AlterConfigsResponse, version, False, body).responses
    assert (said.error_code, "IncrementalAlterConfigs" in (said.error_message or "")) == (42, True)
    assert admin.overrides(topic) == {"segment.ms": "5"}


@pytest.mark.parametrize("kind", [USER, CLIENT])
def test_users_and_clients_are_not_config_resources(admin: Admin, kind: int) -> None:
    """Wire Format Types: User 5 and Client 6 never shipped; on the wire they are unknown types."""
    assert codes(admin.describe((kind, "alice"))) == [42]


# -- Quotas ----------------------------------------------------------------------------------------------------------


def test_a_quota_is_a_double_with_a_source(own_admin: Admin) -> None:
    """Describe Quotas, Double: typed values with the level that they come from."""
    assert alter_quotas(own_admin, user("alice"), {PRODUCER: 1024.0, PERCENTAGE: 12.5}) == [0, 0]

    assert quotas(own_admin, user("alice")) == {PRODUCER: (1024.0, 2), PERCENTAGE: (12.5, 2)}


def test_a_byte_rate_may_have_a_fraction(own_server: KconfProcess, own_admin: Admin) -> None:
    """Double: every quota is a double, even if Kafka's own request accepts only whole numbers."""
    assert alter_quotas(own_admin, user("alice"), {PRODUCER: 100.5, CONSUMER: 0.25}) == [0, 0]

    own_server.restart()

    with Admin(own_server.bootstrap) as admin:
        assert quotas(admin, user("alice")) == {PRODUCER: (100.5, 2), CONSUMER: (0.25, 2)}


def test_an_invalid_quota_does_not_affect_the_others(own_admin: Admin) -> None:
    """AlterQuotas Response: each quota has its own code; an invalid one does not affect the others."""
    parts = [QuotaResource(USER, "alice")]
    wanted = [(PRODUCER, 1024.0), (CONSUMER, -5.0), (9, 1.0), (PERCENTAGE, 10.0), (PERCENTAGE, 20.0)]
    requested = AlteredQuotaResource(parts, [WantedQuota(*each) for each in wanted])

    (answer,) = own_admin.ask("AlterQuotas", 0, validate_only=False, resources=[requested]).resources

    assert [(each.quota_type, each.error_code) for each in answer.quotas] == [
        (PRODUCER, 0),
        (CONSUMER, 42),
        (9, 42),
        (PERCENTAGE, 42),
        (PERCENTAGE, 42),
    ]
    assert quotas(own_admin, user("alice")) == {PRODUCER: (1024.0, 2)}


def test_the_quota_requests_have_the_fields_of_the_kip(own_admin: Admin) -> None:
    """Requests and responses byte by byte: the KIP's fields in order, with compact lengths and empty tags."""
    alice = b"\x02\x05\x06alice\x00"  # one part: type, name
    producer = b"\x00" + struct.pack(">d", 1024.0)
    nothing, ok = b"\x00" * 4, b"\x00\x00\x00"  # throttle time; a code and a null message

    altered = own_admin.say(24801, 0, b"\x00\x00\x02" + alice + b"\x02" + producer + b"\x00" * 3)
    described = own_admin.say(24800, 0, b"\x00\x02" + alice + b"\x02\x00\x00\x00")

    assert altered == b"\x00" + nothing + b"\x02" + alice + b"\x02" + ok + b"\x00" + b"\x00" * 3
    assert described == b"\x00" + nothing + b"\x02" + alice + ok + b"\x02" + producer + b"\x02" + b"\x00" * 3


def test_an_empty_name_is_the_default(own_admin: Admin) -> None:
    """Describe 2, Alter 2: an empty name means the default, also in the response."""
    alter_quotas(own_admin, user(""), {PRODUCER: 10.0})
    alter_quotas(own_admin, client(""), {CONSUMER: 20.0})

    assert quotas(own_admin, user("")) == {PRODUCER: (10.0, 5)}
    assert quotas(own_admin, client("")) == {CONSUMER: (20.0, 7)}
    assert quotas(own_admin, user("anyone"))[PRODUCER] == (10.0, 5)


def test_no_types_mean_all_quotas(own_admin: Admin) -> None:
    """Describe 3: an empty list of types requests all quotas, otherwise the given ones."""
    alter_quotas(own_admin, user("alice"), {PRODUCER: 1.0, CONSUMER: 2.0, PERCENTAGE: 3.0})

    assert set(quotas(own_admin, user("alice"))) == {PRODUCER, CONSUMER, PERCENTAGE}
    assert set(quotas(own_admin, user("alice"), CONSUMER)) == {CONSUMER}
    assert set(quotas(own_admin, user("alice"), PRODUCER, PERCENTAGE)) == {PRODUCER, PERCENTAGE}


def test_the_eight_levels_apply_in_the_order_of_the_kip(own_admin: Admin) -> None:
    """Wire Format Types, QuotaSource: 0 is the highest. Each level applies when the higher ones are removed."""
    levels = [
        client("app", of="alice"),
        client("", of="alice"),
        user("alice"),
        client("app", of=""),
        client("", of=""),
        user(""),
        client("app"),
        client(""),
    ]
    for number, who in enumerate(levels):
        assert alter_quotas(own_admin, who, {PRODUCER: 100.0 + number}) == [0]

    seen = []
    for who in levels:
        seen.append(quotas(own_admin, client("app", of="alice"))[PRODUCER])
        alter_quotas(own_admin, who, {PRODUCER: nan})

    assert seen == [(100.0 + number, number) for number in range(8)]
    assert quotas(own_admin, client("app", of="alice")) == {}


def test_a_dry_run_of_quotas_changes_nothing(own_admin: Admin) -> None:
    """Alter 4: validate_only reports errors and changes nothing."""
    assert alter_quotas(own_admin, user("alice"), {PRODUCER: 5.0}, dry=True) == [0]
    assert alter_quotas(own_admin, user("alice"), {PRODUCER: -5.0}, dry=True) == [42]
    assert quotas(own_admin, user("alice")) == {}


def test_quotas_that_are_not_sent_stay(own_admin: Admin) -> None:
    """Alter 5: the request is incremental."""
    alter_quotas(own_admin, user("alice"), {PRODUCER: 1.0})
    alter_quotas(own_admin, user("alice"), {CONSUMER: 2.0})

    assert quotas(own_admin, user("alice")) == {PRODUCER: (1.0, 2), CONSUMER: (2.0, 2)}


def test_nan_removes_a_quota(own_admin: Admin) -> None:
    """Alter 6: a quota is removed by sending NaN."""
    alter_quotas(own_admin, user("alice"), {PRODUCER: 1.0, CONSUMER: 2.0})
    alter_quotas(own_admin, user("alice"), {PRODUCER: nan})

    assert quotas(own_admin, user("alice")) == {CONSUMER: (2.0, 2)}


@pytest.mark.parametrize("who", [((TOPIC, "orders"),), ()])
def test_only_users_and_clients_have_quotas(admin: Admin, who: Who) -> None:
    """Describe Quotas: a resource is a user, a client, or both."""
    assert alter_quotas(admin, who, {PRODUCER: 1.0}) == [42]


def test_configured_users_and_clients_are_listed(own_admin: Admin) -> None:
    """Future Considerations: list all users, all clients, and the clients of a user."""
    for who in (user("alice"), user("bob"), client("app"), client("web", of="alice"), client("", of="alice")):
        alter_quotas(own_admin, who, {PRODUCER: 1.0})

    def listed(*wanted: tuple[int, str | None]) -> list[Who]:
        answer = own_admin.ask("ListConfigEntities", 0, entities=[WantedConfigEntity(*each) for each in wanted])
        assert answer.error_code == 0
        return sorted(tuple((part.type, part.name) for part in each.parts) for each in answer.entities)

    assert listed((USER, None)) == [user("alice"), user("bob")]
    assert listed((CLIENT, None)) == [client("app")]
    assert listed((USER, "alice"), (CLIENT, None)) == [client("", of="alice"), client("web", of="alice")]
    assert listed((USER, "alice"), (CLIENT, ".")) == listed((USER, "alice"), (CLIENT, None))  # as the KIP writes it
    assert listed((USER, ".")) == listed((USER, None))
