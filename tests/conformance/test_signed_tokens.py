"""OAUTHBEARER with an OIDC provider: the real broker verifies signed tokens with the provider's public keys."""

from __future__ import annotations

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from kconf import AuthenticationFailed
from kconf.client.auth.oauth import ClientCredentials
from kconf.client.auth.sasl import OAuthBearer
from lab.admin import AdminError, AdminProbe, probe_jvm
from lab.broker import KafkaBroker
from tests.support.process import KconfProcess
from tests.support.token_server import token_server
from tests.support.wire import Wire
from tests.unit.client.certificates import Certificates
from tests.unit.client.drivers import KINDS, driver

JAAS = "org.apache.kafka.common.security.oauthbearer"
ISSUER, AUDIENCE = "https://issuer.test", "kafka"
JWKS_URL = "sasl.oauthbearer.jwks.endpoint.url"
ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed.urls"


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


@dataclass(frozen=True)
class Provider:
    """Signs tokens, issues them to clients with the secret, and publishes its public key."""

    key: RSAPrivateKey
    url: str = ""

    def token(self, *, lifetime: int = 300, audience: str = AUDIENCE, scope: str = "", age: int = 1) -> str:
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "aud": audience,
            "sub": "alice",
            "iat": now - age,
            "exp": now + lifetime,
            "scope": scope or "all",
        }
        parts = ({"alg": "RS256", "kid": "one", "typ": "JWT"}, claims)
        signed = ".".join(_base64(json.dumps(part).encode()) for part in parts)
        return f"{signed}.{_base64(self.key.sign(signed.encode(), PKCS1v15(), SHA256()))}"

    def public(self) -> str:
        numbers = self.key.public_key().public_numbers()
        shown = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one"}
        return json.dumps({"keys": [{**shown, "n": _number(numbers.n), "e": _number(numbers.e)}]})


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    signer = Provider(generate_private_key(65537, 2048))

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            token = signer.token(scope=" ".join(form.get("scope", [])))
            self.send_response(200 if self.headers["Authorization"] == "Basic bWU6czNjcmV0" else 401)
            self.end_headers()
            self.wfile.write(json.dumps({"access_token": token, "expires_in": 300}).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield Provider(signer.key, f"http://127.0.0.1:{server.server_port}/token")
        server.shutdown()


@pytest.fixture(scope="module")
def validation(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings that accept only valid, unexpired tokens of the provider for this audience."""
    keys: Path = tmp_path_factory.mktemp("jwks") / "keys.json"
    keys.write_text(provider.public())
    listener = "listener.name.sasl.oauthbearer"
    return {
        "listener.name.sasl.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{listener}.sasl.jaas.config": f"{JAAS}.OAuthBearerLoginModule required ;",
        f"{listener}.sasl.server.callback.handler.class": f"{JAAS}.OAuthBearerValidatorCallbackHandler",
        f"{listener}.{JWKS_URL}": keys.as_uri(),
        f"{listener}.sasl.oauthbearer.expected.issuer": ISSUER,
        f"{listener}.sasl.oauthbearer.expected.audience": AUDIENCE,
    }


@pytest.fixture(scope="module")
def validating(validation: dict[str, str]) -> Iterator[KafkaBroker]:
    allowed = f"-D{ALLOWED}={validation[f'listener.name.sasl.oauthbearer.{JWKS_URL}']}"
    with KafkaBroker(
        listeners={"SASL": "SASL_PLAINTEXT"}, properties=validation, jvm_options=("-Xmx1G", allowed)
    ) as broker:
        yield broker


@pytest.fixture(scope="module")
def ours(validation: dict[str, str]) -> Iterator[KconfProcess]:
    """kconf with the same settings."""
    names = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT"}
    with KconfProcess(properties={**validation, **names}, listeners=("PLAINTEXT", "SASL")) as process:
        yield process


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_of_the_provider_is_accepted(validating: KafkaBroker, provider: Provider, kind: str) -> None:
    login = OAuthBearer(ClientCredentials(provider.url, "me", "s3cret"))

    with driver(kind, validating.address("SASL"), sasl=login) as admin:
        assert list(admin.describe_cluster().nodes) == [1]


@pytest.mark.parametrize("kind", KINDS)
def test_java_properties_configure_a_login_with_the_provider(
    validating: KafkaBroker, provider: Provider, kind: str
) -> None:
    properties = {
        "bootstrap.servers": validating.address("SASL"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": f"{JAAS}.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": provider.url,
        "sasl.jaas.config": f'{JAAS}.OAuthBearerLoginModule required clientId="me" clientSecret="s3cret" scope="all";',
    }

    with driver(kind, properties=properties) as admin:
        assert list(admin.describe_cluster().nodes) == [1]


def _forged(provider: Provider) -> str:
    return Provider(generate_private_key(65537, 2048)).token()


WRONG: dict[str, Callable[[Provider], str]] = {
    "signed by another": _forged,
    "run out": lambda provider: provider.token(lifetime=-120),
    "for another audience": lambda provider: provider.token(audience="other"),
    "not signed": lambda provider: ".".join(provider.token().split(".")[:2]) + ".",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("why", WRONG)
def test_any_other_token_is_refused(validating: KafkaBroker, provider: Provider, kind: str, why: str) -> None:
    token = WRONG[why](provider)

    with (
        driver(kind, validating.address("SASL"), sasl=OAuthBearer(lambda: token)) as admin,
        pytest.raises(AuthenticationFailed) as refused,
    ):
        admin.describe_cluster()

    assert token not in str(refused.value)


def first(token: str, *, head: str = "n,,", scheme: str = "Bearer", more: str = "") -> bytes:
    return f"{head}\x01auth={scheme} {token}\x01{more}\x01".encode()


EXCHANGES: dict[str, Callable[[Provider], list[bytes]]] = {
    "a token": lambda provider: [first(provider.token())],
    "a token with extensions": lambda provider: [first(provider.token(), more="traceId=1,2\x01host=a b\x01")],
    "a token for oneself": lambda provider: [first(provider.token(), head="n,a=alice,")],
    "a scheme in capitals": lambda provider: [first(provider.token(), scheme="BEARER")],
    **{
        f"a token that is {why}": lambda provider, make=make: [first(make(provider)), b"\x01"]  # type: ignore[misc]
        for why, make in WRONG.items()
    },
    "a token within the skew": lambda provider: [first(provider.token(lifetime=-5, age=60))],
    "a token that ends before it begins": lambda provider: [first(provider.token(lifetime=-5)), b"\x01"],
    "no token": lambda provider: [b"n,,\x01\x01"],
    "no message": lambda provider: [b"hello"],
    "a bad extension": lambda provider: [first(provider.token(), more="trace1=x\x01")],
    "an empty extension": lambda provider: [first(provider.token(), more="trace=\x01")],
}


@pytest.mark.parametrize("what", EXCHANGES)
def test_kconf_responds_to_each_exchange_as_kafka_does(
    validating: KafkaBroker, ours: KconfProcess, provider: Provider, what: str
) -> None:
    """Codes, messages and bytes of every step, and the session lifetime, which is that of the token.

    Not compared: a scheme other than Bearer. Kafka closes the connection without a response, kconf returns 58.
    """
    messages = EXCHANGES[what](provider)

    def said(address: str) -> list[tuple[int, str | None, bytes, int]]:
        with Wire(address) as line:
            assert line.ask("SaslHandshake", 1, mechanism="OAUTHBEARER").error_code == 0
            answers = [line.ask("SaslAuthenticate", 2, auth_bytes=each) for each in messages]
        return [
            (each.error_code, each.error_message, each.auth_bytes, -(-each.session_lifetime_ms // 60_000))
            for each in answers
        ]

    on_kafka = said(validating.address("SASL"))

    assert said(ours.address("SASL")) == on_kafka


def test_another_authorization_id_is_refused_by_kafka_and_kconf(
    validating: KafkaBroker, ours: KconfProcess, provider: Provider
) -> None:
    """Kafka's message has both names."""
    for address in (validating.address("SASL"), ours.address("SASL")):
        with Wire(address) as line:
            line.ask("SaslHandshake", 1, mechanism="OAUTHBEARER")
            said = line.ask("SaslAuthenticate", 2, auth_bytes=first(provider.token(), head="n,a=bob,"))
        assert said.error_code == 58
        assert "authorization id" in said.error_message


@pytest.mark.parametrize("secret", ["s3cret", "wr0ng"])
def test_the_java_client_logs_in_to_kconf_only_with_the_right_client_secret(tmp_path: Path, secret: str) -> None:
    """Its token comes over HTTPS from a server with its own CA, which also serves the keys."""
    certificates = Certificates(tmp_path)
    with token_server(certificates) as issuing:
        trust = f'ssl.truststore.type="PEM" ssl.truststore.location="{certificates.ca}"'
        module = f"{JAAS}.OAuthBearerLoginModule required {trust}"
        served = {
            "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            f"oauthbearer.{JWKS_URL}": issuing.jwks_url,
            "oauthbearer.sasl.jaas.config": f"{module};",
            "sasl.oauthbearer.expected.audience": AUDIENCE,
        }
        login = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": f"{JAAS}.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": issuing.token_url,
            "sasl.login.retry.backoff.max.ms": "100",
            "sasl.jaas.config": f'{module} clientId="me" clientSecret="{secret}" extension_traceId="7";',
        }
        with (
            KconfProcess(properties=served, listeners=("SASL",)) as kconf,
            probe_jvm(options=(f"-D{ALLOWED}={issuing.token_url}",)) as jvm,
        ):
            probe = AdminProbe(kconf.address("SASL"), properties=login, jvm=jvm)
            if secret == "wr0ng":
                with pytest.raises(AdminError):
                    probe.call("describeCluster")
            else:
                assert probe.call("describeCluster")["nodes"]
