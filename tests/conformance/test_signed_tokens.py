"""OAUTHBEARER as companies run it: an OIDC provider signs, the real broker checks by the provider's public keys."""

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
from lab.broker import KafkaBroker
from tests.unit.client.drivers import KINDS, driver

JAAS = "org.apache.kafka.common.security.oauthbearer"
ISSUER, AUDIENCE = "https://issuer.test", "kafka"


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


@dataclass(frozen=True)
class Provider:
    """Signs tokens, gives them to whoever knows the secret, and tells its public key."""

    key: RSAPrivateKey
    url: str = ""

    def token(self, *, lifetime: int = 300, audience: str = AUDIENCE, scope: str = "") -> str:
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "aud": audience,
            "sub": "alice",
            "iat": now - 1,
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
def validating(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that takes only what the provider has signed, for it, and lately."""
    keys: Path = tmp_path_factory.mktemp("jwks") / "keys.json"
    keys.write_text(provider.public())
    listener = "listener.name.sasl.oauthbearer"
    properties = {
        "listener.name.sasl.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{listener}.sasl.jaas.config": f"{JAAS}.OAuthBearerLoginModule required ;",
        f"{listener}.sasl.server.callback.handler.class": f"{JAAS}.OAuthBearerValidatorCallbackHandler",
        f"{listener}.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        f"{listener}.sasl.oauthbearer.expected.issuer": ISSUER,
        f"{listener}.sasl.oauthbearer.expected.audience": AUDIENCE,
    }
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}"
    with KafkaBroker(
        listeners={"SASL": "SASL_PLAINTEXT"}, properties=properties, jvm_options=("-Xmx1G", allowed)
    ) as broker:
        yield broker


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_that_the_provider_gave_is_taken(validating: KafkaBroker, provider: Provider, kind: str) -> None:
    login = OAuthBearer(ClientCredentials(provider.url, "me", "s3cret"))

    with driver(kind, validating.address("SASL"), sasl=login) as admin:
        assert list(admin.describe_cluster().nodes) == [1]


@pytest.mark.parametrize("kind", KINDS)
def test_java_properties_name_the_provider(validating: KafkaBroker, provider: Provider, kind: str) -> None:
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
