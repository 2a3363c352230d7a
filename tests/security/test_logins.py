"""Every listener, mechanism and common client library, also with a wrong password."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient as RdKafkaAdmin
from kafka import KafkaAdminClient
from kafka.errors import KafkaError as KafkaPythonError

from kconf import AuthenticationFailed, SyncAdminClient
from tests.security.sasl_server import ALICE, MECHANISMS, PROTOCOLS, SASL_LISTENERS, WAYS, Secured, User

WRONG = User(ALICE.name, "wr0ng")
NOBODY = User("nobody", "wr0ng")
LOGINS = [(listener, each) for listener in SASL_LISTENERS for each in MECHANISMS]


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_the_client_of_kconf_logs_in(secured: Secured, listener: str, mechanism: str) -> None:
    with SyncAdminClient.from_properties(secured.java(listener, mechanism)) as admin:
        (node,) = admin.describe_cluster().nodes.values()
        assert f"{node.host}:{node.port}" == secured.server.address(listener)


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_confluent_kafka_logs_in(secured: Secured, listener: str, mechanism: str) -> None:
    admin = RdKafkaAdmin({**secured.librdkafka(listener, mechanism)})
    found = admin.list_topics(timeout=60)
    (broker,) = found.brokers.values()
    assert f"{broker.host}:{broker.port}" == secured.server.address(listener)


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_kafka_python_logs_in(secured: Secured, listener: str, mechanism: str) -> None:
    admin = KafkaAdminClient(**secured.python(listener, mechanism))
    try:
        assert admin.describe_cluster()
    finally:
        admin.close()


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_aiokafka_logs_in(secured: Secured, listener: str, mechanism: str) -> None:
    async def scenario() -> None:
        admin = AIOKafkaAdminClient(**_aiokafka(secured, listener, mechanism, ALICE))
        await admin.start()
        try:
            assert await admin.describe_cluster()
        finally:
            await admin.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("user", [WRONG, NOBODY], ids=["wrong password", "unknown user"])
@pytest.mark.parametrize(("listener", "mechanism"), LOGINS)
def test_a_wrong_password_never_logs_in(secured: Secured, listener: str, mechanism: str, user: User) -> None:
    with (
        SyncAdminClient.from_properties(secured.java(listener, mechanism, user)) as admin,
        pytest.raises(AuthenticationFailed) as raised,
    ):
        admin.describe_cluster()
    assert user.name not in str(raised.value)
    assert user.password not in str(raised.value)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_other_clients_get_an_error_for_a_wrong_password(secured: Secured, mechanism: str) -> None:
    with pytest.raises(KafkaPythonError):
        KafkaAdminClient(
            **secured.python("SASL_PLAINTEXT", mechanism, WRONG),
            **{"bootstrap_timeout_ms": 2000} if _knows("bootstrap_timeout_ms") else {},
        )
    said: list[str] = []
    quiet: dict[str, Any] = {"log_level": 0, "error_cb": lambda error: said.append(str(error))}
    admin = RdKafkaAdmin({**secured.librdkafka("SASL_PLAINTEXT", mechanism, WRONG), **quiet})
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=1)
    deadline = time.monotonic() + 60
    while not any("uthentication" in each for each in said):
        assert time.monotonic() < deadline, said
        admin.poll(0.1)

    async def scenario() -> None:
        admin = AIOKafkaAdminClient(**_aiokafka(secured, "SASL_PLAINTEXT", mechanism, WRONG))
        with pytest.raises(AioKafkaError):
            await admin.start()
        await admin.close()

    asyncio.run(scenario())


def _knows(option: str) -> bool:
    return option in KafkaAdminClient.DEFAULT_CONFIG


def _aiokafka(secured: Secured, listener: str, mechanism: str, user: User) -> dict[str, object]:
    given = secured.python(listener, mechanism, user)
    for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile"):
        given.pop(name, None)
    if PROTOCOLS[listener].endswith("SSL"):
        known = secured.certificates
        context = ssl.create_default_context(cafile=str(known.ca))
        if listener == "SSL":
            context.load_cert_chain(known.certificate("client"), known.key("client"))
        given["ssl_context"] = context
    return given
