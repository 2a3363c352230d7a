"""Kafka's Java client and kafka-configs set and describe quotas of every form of entity on kconf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lab.admin import AdminProbe
from lab.pytest_plugin import MakeProbe
from lab.tools import ToolServer
from tests.support.process import KconfProcess
from tests.support.targets import one_of


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    with KconfProcess() as process:
        yield process


@pytest.fixture(params=one_of("4.3.1", ["3.9.2"]))
def probe(request: pytest.FixtureRequest, server: KconfProcess, make_probe: MakeProbe) -> AdminProbe:
    return make_probe(server.bootstrap, request.param)


def alter(probe: AdminProbe, entity: dict[str, str | None], validate_only: bool = False, **quotas: float | None) -> Any:
    ops = [{"key": key, "value": value} for key, value in quotas.items()]
    (answer,) = probe.call(
        "alterClientQuotas", {"entries": [{"entity": entity, "ops": ops}], "validateOnly": validate_only}
    )
    return answer["outcome"]


def all_of(probe: AdminProbe, *components: dict[str, str], strict: bool = False) -> list[Any]:
    found: list[Any] = probe.call("describeClientQuotas", {"components": components, "strict": strict})
    return found


def test_the_java_client_sets_finds_and_removes_quotas(probe: AdminProbe) -> None:
    entity: dict[str, str | None] = {"user": "jane", "client-id": None}

    assert alter(probe, entity, producer_byte_rate=1024, request_percentage=12.5) == {}
    assert all_of(probe, {"type": "user", "name": "jane"}) == [
        {"entity": entity, "quotas": {"producer_byte_rate": 1024.0, "request_percentage": 12.5}}
    ]
    assert all_of(probe, {"type": "user", "name": "jane"}, strict=True) == []
    assert all_of(probe, {"type": "client-id", "match": "default"}) == all_of(probe, {"type": "user", "match": "any"})

    assert alter(probe, entity, producer_byte_rate=None, request_percentage=None, consumer_byte_rate=None) == {}
    assert all_of(probe) == []


def test_the_java_client_gets_the_same_refusals_as_from_a_real_broker(probe: AdminProbe) -> None:
    assert alter(probe, {"user": "jane"}, producer_byte_rate=0)["error"] == "InvalidRequestException"
    assert alter(probe, {"user": "jane"}, bad=1)["error"] == "InvalidRequestException"
    assert alter(probe, {"ip": "RFC2606.invalid"}, connection_creation_rate=1)["error"] == "InvalidRequestException"
    assert alter(probe, {"user": "jane"}, True, producer_byte_rate=1) == {}
    assert all_of(probe) == []


FORMS = [
    ("--user jane", "user-principal 'jane'"),
    ("--client app", "client-id 'app'"),
    ("--client-defaults", "the default client-id"),
    ("--user jane --client app", "user-principal 'jane', client-id 'app'"),
    ("--user jane --client-defaults", "user-principal 'jane', the default client-id"),
    ("--user-defaults --client app", "the default user-principal, client-id 'app'"),
    ("--user-defaults --client-defaults", "the default user-principal, the default client-id"),
    ("--entity-type users --entity-default", "the default user-principal"),
    ("--entity-type users --entity-name with%20space", "user-principal 'with%20space'"),
    ("--entity-type clients --entity-name <default>", "client-id '<default>'"),
]


@pytest.mark.parametrize(("entity", "shown"), FORMS, ids=[each[0] for each in FORMS])
def test_kafka_configs_sets_and_describes_every_form_of_entity(
    server: KconfProcess, tools: ToolServer, entity: str, shown: str
) -> None:
    who, address = entity.split(), server.bootstrap

    added = tools.kafka_configs(
        address, "--alter", *who, "--add-config", "consumer_byte_rate=20000,request_percentage=5"
    )
    told = tools.kafka_configs(address, "--describe", *who)
    gone = tools.kafka_configs(address, "--alter", *who, "--delete-config", "consumer_byte_rate,request_percentage")
    again = tools.kafka_configs(address, "--alter", *who, "--delete-config", "consumer_byte_rate")

    assert (added.returncode, added.stderr) == (0, "")
    assert told.stdout == f"Quota configs for {shown} are consumer_byte_rate=20000.0, request_percentage=5.0\n"
    assert (told.returncode, told.stderr) == (0, "")
    assert gone.returncode == 0
    assert again.returncode == 1
    assert "consumer_byte_rate" in again.stdout + again.stderr


@pytest.mark.parametrize(
    ("entity", "shown"),
    [("--ip 10.0.0.1", "ip '10.0.0.1'"), ("--ip ::1", "ip '::1'"), ("--ip-defaults", "the default ip")],
)
def test_kafka_configs_sets_and_describes_addresses(
    server: KconfProcess, tools: ToolServer, entity: str, shown: str
) -> None:
    who, address = entity.split(), server.bootstrap

    added = tools.kafka_configs(address, "--alter", *who, "--add-config", "connection_creation_rate=1000")
    told = tools.kafka_configs(address, "--describe", *who)
    everyone = tools.kafka_configs(address, "--describe", "--entity-type", "ips")
    tools.kafka_configs(address, "--alter", *who, "--delete-config", "connection_creation_rate")

    assert (added.returncode, added.stderr) == (0, "")
    assert told.stdout == f"Quota configs for {shown} are connection_creation_rate=1000.0\n"
    assert everyone.stdout == told.stdout
    assert tools.kafka_configs(address, "--describe", *who).stdout == ""


def test_kafka_configs_shows_the_refusal_of_an_invalid_quota(server: KconfProcess, tools: ToolServer) -> None:
    refused = tools.kafka_configs(
        server.bootstrap, "--alter", "--client", "app", "--add-config", "consumer_byte_rate=0.5"
    )

    assert refused.returncode == 1
    assert "InvalidRequestException" in refused.stdout + refused.stderr
