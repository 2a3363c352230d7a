"""Quotas of a real cluster behind a gateway: each client has its own quota, and none has the gateway's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.auth.sasl import Plain
from kconf.model.alteration import NewTopic
from kconf.model.quota import QuotaEntity
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsResource,
)
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import a_name, until
from tests.conformance.differential.scenarios.data_plane import await_coordinators
from tests.conformance.differential.side import Side
from tests.conformance.test_gateway import KEY, gateway
from tests.conformance.test_mutation_quota import RATE, Limited, asked
from tests.support.admin import codes
from tests.support.quotas import QuotaAdmin

USERS = {each: f"{each}-secret" for each in ("gateway", "alice", "bob", "slow")}
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"
LOGINS = " ".join([JAAS, *(f'user_{name}="{secret}"' for name, secret in USERS.items())]) + ";"
LITTLE, NONE = 0.0001, None
"""Values of `request_percentage`: with the first, Kafka throttles each request for a second."""

Front = tuple[str, str]
"""The addresses of a gateway without and with logins."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaBroker]:
    """A broker with a listener where users log in."""
    properties = {"sasl.enabled.mechanisms": "PLAIN", "listener.name.sasl.plain.sasl.jaas.config": LOGINS}
    with KafkaBroker(properties=properties, listeners={"SASL": "SASL_PLAINTEXT"}) as broker:
        await_coordinators(Side("kafka", broker.host, broker.port))
        yield broker


@pytest.fixture(scope="module")
def front(kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway whose own account is the user `gateway`, and whose clients log in."""
    directory = tmp_path_factory.mktemp("front")
    own, controllers = directory / "gateway.properties", directory / "controllers.properties"
    own.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={JAAS} username="gateway" password="{USERS["gateway"]}";\n'
    )
    controllers.write_text("security.protocol=PLAINTEXT\n")
    options = ["--upstream", kafka.address("SASL"), "--upstream-properties", str(own)]
    options += ["--controller-properties", str(controllers), "--listen", "SASL_PLAINTEXT://127.0.0.1:0"]
    options += ["--override", "sasl.enabled.mechanisms=PLAIN"]
    options += ["--override", f"listener.name.sasl_plaintext.plain.sasl.jaas.config={LOGINS}"]
    with gateway(kafka, directory / "gw.db", *options, listen=False) as (address, _):
        yield address


class UserAdmin(QuotaAdmin):
    """A raw client that has logged in."""

    def __init__(self, address: str, user: str, *, client_id: str = "a-client") -> None:
        super().__init__(address, client_id=client_id)
        assert self.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == 0
        login = f"\0{user}\0{USERS[user]}".encode()
        assert self.ask("SaslAuthenticate", 1, auth_bytes=login).error_code == 0


class LimitedUser(Limited):
    """A user with a quota; each request is on its own connection."""

    def __init__(self, address: str, user: str) -> None:
        self._address, self._name = address, user

    def ask(self, api: str, version: int, **fields: Any) -> Any:
        with UserAdmin(self._address, self._name) as line:
            return line.ask(api, version, **fields)


def set_quota(address: str, entity: QuotaEntity, key: str, value: float | None) -> None:
    with SyncAdminClient(address) as direct:
        direct.alter_client_quotas({entity: {key: value}}).raise_for_failures()


def shown_quotas(admin: SyncAdminClient, entity: QuotaEntity) -> dict[str, float]:
    return dict(admin.describe_client_quotas().get(entity, {}))


def test_changes_of_each_client_id_are_limited_as_by_a_broker(kafka_431: KafkaBroker, tmp_path: Path) -> None:
    with gateway(kafka_431, tmp_path / "gw.db") as (address, _):
        names = a_name("direct"), a_name("through")
        theirs, ours = (
            asked(Limited(each, name), name) for each, name in zip((kafka_431.bootstrap, address), names, strict=True)
        )
    compare(theirs, ours)


def test_changes_of_each_user_are_limited_as_by_a_broker(kafka: KafkaBroker, front: str) -> None:
    """One user for both: the cluster and the gateway count separately."""
    entity = QuotaEntity.of({"user": "slow"})
    set_quota(kafka.bootstrap, entity, "controller_mutation_rate", RATE)
    expected = {"controller_mutation_rate": RATE}
    for address, sasl in ((kafka.bootstrap, None), (front, Plain("bob", USERS["bob"]))):
        with SyncAdminClient(address, sasl=sasl) as admin:
            until(partial(shown_quotas, admin, entity), expected)
    theirs, ours = (asked(LimitedUser(each, "slow"), a_name("user")) for each in (kafka.address("SASL"), front))
    compare(theirs, ours)
    with UserAdmin(front, "bob") as other:
        assert codes(other.create(*(a_name("other") for _ in range(3)), partitions=15)) == [0] * 3


def compare(theirs: list[tuple[list[tuple[int, bool]], int]], ours: list[tuple[list[tuple[int, bool]], int]]) -> None:
    """The same codes and messages, and throttled in the same places."""
    for number, (kafka, own) in enumerate(zip(theirs, ours, strict=True)):
        assert kafka[0] == own[0], number
        assert bool(kafka[1]) == bool(own[1]), (number, kafka, own)
    assert any(code == 89 for codes, _ in ours for code, _ in codes)
    assert any(delay for _, delay in ours)


def alter(name: str, line: QuotaAdmin) -> Any:
    config = IncrementalAlterableConfig(KEY, 0, "5000")
    answer = line.ask(
        "IncrementalAlterConfigs",
        1,
        resources=[IncrementalAlterConfigsResource(2, name, [config])],
        validate_only=False,
    )
    assert [each.error_code for each in answer.responses] == [0]
    return answer


def describe_groups(line: QuotaAdmin) -> Any:
    answer = line.ask("DescribeGroups", 5, groups=[a_name("group")])
    assert [each.group_state for each in answer.groups] == ["Dead"]
    return answer


def list_groups(line: QuotaAdmin) -> Any:
    answer = line.ask("ListGroups", 4)
    assert answer.error_code == 0
    return answer


def throttle_times(address: str, user: str, request: Callable[[QuotaAdmin], Any]) -> list[int]:
    """The throttle times of three requests of a user, each on its own connection."""
    found = []
    for _ in range(3):
        with UserAdmin(address, user) as line:
            found.append(request(line).throttle_time_ms)
    return found


@pytest.fixture
def throttled_gateway(kafka: KafkaBroker, front: str) -> Iterator[None]:
    entity = QuotaEntity.of({"user": "gateway"})
    set_quota(kafka.bootstrap, entity, "request_percentage", LITTLE)
    with SyncAdminClient(kafka.bootstrap) as direct:
        until(partial(shown_quotas, direct, entity), {"request_percentage": LITTLE})
    try:
        yield
    finally:
        set_quota(kafka.bootstrap, entity, "request_percentage", NONE)


@pytest.mark.parametrize("relayed", [describe_groups, list_groups], ids=lambda each: str(each.__name__))
def test_clients_do_not_see_the_throttling_of_the_gateways_account(
    kafka: KafkaBroker, front: str, throttled_gateway: None, relayed: Callable[[QuotaAdmin], Any]
) -> None:
    """The broker throttles the requests that the gateway sends."""
    assert throttle_times(kafka.address("SASL"), "gateway", relayed)[-1] > 0
    assert throttle_times(front, "alice", relayed) == [0, 0, 0]
    assert throttle_times(kafka.address("SASL"), "gateway", relayed)[0] > 0


def test_a_change_does_not_return_the_throttling_of_the_gateways_account(
    kafka: KafkaBroker, front: str, throttled_gateway: None
) -> None:
    name = a_name("changed")
    with SyncAdminClient(kafka.bootstrap) as direct:
        direct.create_topics([NewTopic(name, 1, 1)]).raise_for_failures()
    change = partial(alter, name)
    assert throttle_times(kafka.address("SASL"), "gateway", change)[-1] > 0
    assert throttle_times(front, "alice", change) == [0, 0, 0]


def test_only_the_user_with_a_request_quota_is_throttled(kafka: KafkaBroker, front: str) -> None:
    entity = QuotaEntity.of({"user": "alice"})
    set_quota(kafka.bootstrap, entity, "request_percentage", LITTLE)
    with SyncAdminClient(front, sasl=Plain("bob", USERS["bob"])) as admin:
        until(partial(shown_quotas, admin, entity), {"request_percentage": LITTLE})
    assert throttle_times(front, "alice", list_groups)[-1] > 0
    assert throttle_times(front, "bob", list_groups) == [0, 0, 0]
    set_quota(kafka.bootstrap, entity, "request_percentage", NONE)
