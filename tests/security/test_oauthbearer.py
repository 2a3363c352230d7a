"""OAUTHBEARER on a real kconf process with a real token server: kconf's client and librdkafka, new keys, and expiry."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient as RdKafkaAdmin

from kconf import AuthenticationFailed, SyncAdminClient
from kconf.client.auth.oauth import unsecured
from kconf.client.auth.sasl import OAuthBearer
from kconf.security.tls import Tls
from tests.feed.reading import until
from tests.support.process import KconfProcess
from tests.support.token_server import AUDIENCE, CLIENT, ISSUER, SECRET, SigningKey, TokenServer, token_server
from tests.support.wire import Wire
from tests.unit.client.certificates import Certificates
from tests.unit.client.drivers import KINDS, driver

PACKAGE = "org.apache.kafka.common.security.oauthbearer"
MODULE = f"{PACKAGE}.OAuthBearerLoginModule"
PREFIX = "listener.name.sasl_ssl.oauthbearer"


@pytest.fixture(scope="module")
def provider(certificates: Certificates) -> Iterator[TokenServer]:
    with token_server(certificates) as server:
        yield server


@pytest.fixture(scope="module")
def server(certificates: Certificates, provider: TokenServer) -> Iterator[KconfProcess]:
    trust = f'ssl.truststore.type="PEM" ssl.truststore.location="{certificates.ca}"'
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": "OAUTHBEARER,SCRAM-SHA-256",
        f"{PREFIX}.sasl.jaas.config": f"{MODULE} required {trust};",
        f"{PREFIX}.sasl.server.callback.handler.class": f"{PACKAGE}.OAuthBearerValidatorCallbackHandler",
        f"{PREFIX}.sasl.oauthbearer.jwks.endpoint.url": provider.jwks_url,
        f"{PREFIX}.sasl.oauthbearer.expected.issuer": ISSUER,
        f"{PREFIX}.sasl.oauthbearer.expected.audience": AUDIENCE,
        "ssl.keystore.location": str(certificates.store("broker")),
        "ssl.keystore.type": "PEM",
        "connection.failed.authentication.delay.ms": "0",
    }
    with KconfProcess(properties=properties, listeners=("PLAINTEXT", "SASL_SSL")) as process:
        with SyncAdminClient(process.address("PLAINTEXT")) as admin:
            admin.create_topics(["orders"]).raise_for_failures()
        yield process


def properties(server: KconfProcess, provider: TokenServer, certificates: Certificates) -> dict[str, str]:
    """The properties, as for Kafka's Java client."""
    return {
        "bootstrap.servers": server.address("SASL_SSL"),
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": f"{PACKAGE}.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": provider.token_url,
        "sasl.jaas.config": f'{MODULE} required clientId="{CLIENT}" clientSecret="{SECRET}" extension_traceId="7";',
    }


@pytest.mark.parametrize("kind", KINDS)
def test_the_client_of_kconf_logs_in_with_a_token_of_the_provider(
    server: KconfProcess,
    provider: TokenServer,
    certificates: Certificates,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))  # for the token server
    with driver(kind, properties=properties(server, provider, certificates)) as admin:
        assert list(admin.describe_cluster().nodes) == [1]
        assert "orders" not in admin.list_topics()  # alice has no rights


def test_librdkafka_logs_in_with_a_token_of_the_provider(
    server: KconfProcess, provider: TokenServer, certificates: Certificates
) -> None:
    admin = RdKafkaAdmin(
        {
            "bootstrap.servers": server.address("SASL_SSL"),
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(certificates.ca),
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": CLIENT,
            "sasl.oauthbearer.client.secret": SECRET,
            "sasl.oauthbearer.token.endpoint.url": provider.token_url,
            "https.ca.location": str(certificates.ca),
        }
    )

    assert list(admin.list_topics(timeout=60).brokers) == [1]


def test_librdkafka_is_refused_with_another_token(
    server: KconfProcess, provider: TokenServer, certificates: Certificates
) -> None:
    token = SigningKey().token()
    errors: list[str] = []
    given: dict[str, Any] = {
        "bootstrap.servers": server.address("SASL_SSL"),
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(certificates.ca),
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (token, time.time() + 300),
        "error_cb": lambda error: errors.append(error.str()),
    }
    admin = RdKafkaAdmin(given)

    with pytest.raises(KafkaException):
        admin.list_topics(timeout=3)
    until(lambda: admin.poll(0.1) is not None and any("invalid_token" in each for each in errors), 20)


def _login(server: KconfProcess, certificates: Certificates, token: str) -> SyncAdminClient:
    tls = Tls(ca=str(certificates.ca))
    return SyncAdminClient(server.address("SASL_SSL"), tls=tls, sasl=OAuthBearer(lambda: token))


@pytest.mark.parametrize("why", ["unsigned", "expired", "for others"])
def test_neither_the_response_nor_the_log_contains_a_refused_token(
    server: KconfProcess, provider: TokenServer, certificates: Certificates, why: str
) -> None:
    claims: dict[str, Any] = {"exp": 1} if why == "expired" else {"aud": "others"}
    token = unsecured("alice") if why == "unsigned" else provider.token(**claims)

    with _login(server, certificates, token) as admin, pytest.raises(AuthenticationFailed, match="invalid_token"):
        admin.describe_cluster()
    assert "OAUTHBEARER: the token is not valid: " in server.log()
    assert not any(part in server.log() for part in token.split(".") if len(part) > 20)


def test_a_new_key_of_the_provider_is_found(
    server: KconfProcess, provider: TokenServer, certificates: Certificates
) -> None:
    """The first login with an unknown key fails and makes the server fetch the keys; as in Kafka, a later one works."""
    provider.keys.insert(0, SigningKey("two", "ES256"))

    def logs_in() -> bool:
        try:
            with _login(server, certificates, provider.token()) as admin:
                return bool(admin.describe_cluster().nodes)
        except AuthenticationFailed:
            return False

    until(logs_in, 30)
    assert provider.fetched == 2


def test_a_server_starts_without_the_provider_and_accepts_unsecured_tokens_only_on_request(
    certificates: Certificates,
) -> None:
    enabled = {"sasl.enabled.mechanisms": "OAUTHBEARER"}
    away = {**enabled, "sasl.oauthbearer.jwks.endpoint.url": "https://127.0.0.1:1/keys"}
    handler = "listener.name.sasl_plaintext.oauthbearer.sasl.server.callback.handler.class"
    unsafe = {**enabled, handler: f"{PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"}
    login = OAuthBearer(lambda: unsecured("alice"))
    with KconfProcess(properties=away, listeners=("SASL_PLAINTEXT",)) as process:
        assert "could not read the keys of https://127.0.0.1:1/keys: " in process.log()
        with (
            SyncAdminClient(process.address("SASL_PLAINTEXT"), sasl=login) as admin,
            pytest.raises(AuthenticationFailed),
        ):
            admin.describe_cluster()
    with KconfProcess(properties=unsafe, listeners=("SASL_PLAINTEXT",)) as process:
        assert "accepts tokens without a signature" in process.log()
        with SyncAdminClient(process.address("SASL_PLAINTEXT"), sasl=login) as admin:
            assert list(admin.describe_cluster().nodes) == [1]
        _expires_with_its_token(process)


def _expires_with_its_token(process: KconfProcess) -> None:
    """KIP-368: the lifetime of the session is that of the token; re-authentication extends it, for the same user."""
    with Wire(process.address("SASL_PLAINTEXT")) as line:

        def log_in(user: str, seconds: float) -> Any:
            assert line.ask("SaslHandshake", 1, mechanism="OAUTHBEARER").error_code == 0
            message = f"n,,\x01auth=Bearer {unsecured(user, seconds)}\x01\x01".encode()
            return line.ask("SaslAuthenticate", 2, auth_bytes=message)

        first = log_in("alice", 60)
        assert first.error_code == 0
        assert 0 < first.session_lifetime_ms <= 60_000
        assert line.ask("Metadata", 12, topics=[]).brokers
        again = log_in("alice", 0)  # expired, within the clock skew: no time is left
        assert (again.error_code, again.session_lifetime_ms) == (0, 0)
        with pytest.raises(ConnectionError):
            line.ask("Metadata", 12, topics=[])
