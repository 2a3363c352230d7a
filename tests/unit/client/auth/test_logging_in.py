"""Java's client properties, login modules, key stores and token endpoints; and that no secret is ever shown."""

from __future__ import annotations

import builtins
import json
import os
import ssl
import sys
import threading
import types
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from kconf import AuthenticationFailed, ClientCredentials, ConfigurationError, MskIam, OAuthBearer, Plain, Scram, Tls
from kconf.client.auth.jaas_login import sasl_from_properties
from kconf.client.auth.oauth import msk_region, unsecured
from kconf.client.auth.sasl import Token
from kconf.client.properties import settings_from_properties
from kconf.client.retries import RetryPolicy
from kconf.client.settings import Address, Bootstrap, Timeouts
from kconf.security.jaas import parse
from kconf.security.keystores import key_material, trusted
from tests.unit.client.certificates import PASSWORD, Certificates

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="s3cret";'


def said(sasl: Any, *heard: bytes) -> list[bytes]:
    talk = sasl.exchange("host")
    tokens = [next(talk)]
    for each in heard:
        try:
            tokens.append(talk.send(each))
        except StopIteration:
            break
    return tokens


def test_the_settings_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(
        "# a comment\nbootstrap.servers=a:1, b:2,[::1]:3\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={PLAIN}\nclient.id=me\nrequest.timeout.ms=5000\ndefault.api.timeout.ms = 7000\n"
        "retry.backoff.ms=50\nacks=all\nsasl.kerberos.service.name=ignored\n"
    )

    found = settings_from_properties(path)

    assert found.bootstrap.addresses == (Address("a", 1), Address("b", 2), Address("::1", 3))
    assert (found.client_id, found.timeouts, found.retries) == ("me", Timeouts(7, 5), RetryPolicy(backoff=0.05))
    assert said(found.security.sasl, b"") == [b"\0alice\0s3cret"]
    assert found.security.tls is None
    assert "s3cret" not in repr(found) + repr(found.security.sasl)
    assert settings_from_properties(path, "c:4").bootstrap == Bootstrap((Address("c", 4),))
    assert settings_from_properties(path, (), "c:4").bootstrap.controllers


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({}, "bootstrap"),
        ({"bootstrap.servers": "a:1", "security.protocol": "NOISE"}, "security.protocol"),
        ({"bootstrap.servers": "a:1", "request.timeout.ms": "soon"}, "request.timeout.ms"),
        ({"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL"}, "GSSAPI"),
        ({"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "jaas"),
        ({"bootstrap.servers": "a:1", "security.protocol": "SSL", "ssl.truststore.location": "/nowhere"}, "/nowhere"),
    ],
)
def test_what_is_wrong_is_named(properties: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        settings_from_properties(properties)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(ConfigurationError, match="/nowhere cannot be read"):
        settings_from_properties("/nowhere")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a.B required;", {}),
        ('a.B required x="1" y=2;', {"x": "1", "y": "2"}),
        ("a.B REQUIRED\n  x='1 2'\n  y = \"3\" ;\n", {"x": "1 2", "y": "3"}),
        (r'a.B optional p="q\"u\\o;te" q="=;";', {"p": 'q"u\\o;te', "q": "=;"}),
        ('a.B required p="pä\u00a0ss";', {"p": "pä\u00a0ss"}),
    ],
)
def test_login_modules_are_read_as_java_reads_them(text: str, options: dict[str, str]) -> None:
    assert parse(text) == ("a.B", options)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.B",
        "a.B required",
        'a.B required x="s3cret"',
        'a.B required x="s3cret',
        "a.B sometimes x=s3cret;",
        "a.B required x=s3cret; c.D required;",
        'a.B required "s3cret";',
    ],
)
def test_a_login_module_that_is_wrong_is_not_shown(text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse(text)
    assert "s3cret" not in str(raised.value)


def test_every_login_module_has_its_way() -> None:
    scram = 'x.ScramLoginModule required username="u" password="p" tokenauth="true";'
    oidc = 'x.OAuthBearerLoginModule required clientId="id" clientSecret="s3cret" extension_logicalCluster="lkc";'
    iam = 'software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="dev";'
    url = {"sasl.oauthbearer.token.endpoint.url": "https://idp/token"}

    found = sasl_from_properties({"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": scram})
    assert isinstance(found, Scram)
    assert found.mechanism == "SCRAM-SHA-256"
    assert said(found)[0].endswith(b",tokenauth=true")

    bearer = sasl_from_properties({"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": oidc, **url})
    assert isinstance(bearer, OAuthBearer)
    assert "s3cret" not in repr(bearer) + repr(bearer._token)
    assert bearer._extensions == {"logicalCluster": "lkc"}

    assert isinstance(sasl_from_properties({"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": iam}), MskIam)
    handler = {"sasl.login.callback.handler.class": "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"}
    plain = "x.OAuthBearerLoginModule required;"
    assert isinstance(
        sasl_from_properties({"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": plain, **handler}), MskIam
    )
    with pytest.raises(ConfigurationError, match="token callable"):
        sasl_from_properties({"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": plain})
    with pytest.raises(ConfigurationError, match="PlainLoginModule needs password"):
        sasl_from_properties(
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": 'x.PlainLoginModule required username="u";'}
        )


def test_a_bearer_token_and_its_refusal() -> None:
    bearer = OAuthBearer(lambda: "t0ken", extensions={"cluster": "c"})

    assert said(bearer, b"") == [b"n,,\x01auth=Bearer t0ken\x01cluster=c\x01\x01"]
    assert said(OAuthBearer(lambda: Token("t", {"a": "b"})), b"") == [b"n,,\x01auth=Bearer t\x01a=b\x01\x01"]
    with pytest.raises(AuthenticationFailed, match="invalid_token"):
        said(bearer, b'{"status":"invalid_token"}', b"")
    assert "t0ken" not in repr(bearer) + repr(Token("t0ken"))


def test_a_server_that_fails_the_proof_is_refused() -> None:
    talk = Scram("user", "pencil").exchange("host")
    nonce = next(talk).rpartition(b"r=")[2]
    talk.send(b"r=" + nonce + b"x,s=AAAA,i=4096")
    with pytest.raises(AuthenticationFailed, match="does not know the password"):
        talk.send(b"v=AAAA")


@pytest.mark.parametrize("make", [lambda: Plain("", "x"), lambda: Plain("x", ""), lambda: Scram("x", "y", "MD5")])
def test_what_a_login_needs(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()


class Endpoint:
    """An OIDC token endpoint."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, list[str]]]] = []
        self.answer: tuple[int, bytes] = (200, b'{"access_token": "t0ken", "expires_in": 100}')
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                endpoint.requests.append((self.headers["Authorization"], parse_qs(form)))
                self.send_response(endpoint.answer[0])
                self.end_headers()
                self.wfile.write(endpoint.answer[1])

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/token"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_client_credentials_are_exchanged_for_a_token_that_is_kept(endpoint: Endpoint) -> None:
    now = [0.0]
    tokens = ClientCredentials(endpoint.url, "id:x", "s3cret", scope="a b", clock=lambda: now[0])

    assert [tokens(), tokens()] == ["t0ken", "t0ken"]
    now[0] = 79
    tokens()
    assert len(endpoint.requests) == 1
    now[0] = 81
    tokens()

    header, form = endpoint.requests[1]
    assert form == {"grant_type": ["client_credentials"], "scope": ["a b"]}
    assert b64decode(header.removeprefix("Basic ")) == b"id%3Ax:s3cret"
    assert "s3cret" not in repr(tokens)


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (401, b'{"error": "invalid_client", "more": "s3cret"}', "HTTP 401, invalid_client"),
        (500, b"<html>", "HTTP 500"),
        (200, b"<html>", "did not return JSON"),
        (200, b"{}", "no access_token"),
        (200, b"[]", "no access_token"),
        (200, b'{"access_token": "s3cret", "expires_in": "soon"}', "expires_in"),
        (200, b'{"access_token": "s3cret", "expires_in": [3600]}', "expires_in"),
        (200, b'{"access_token": "s3cret", "expires_in": NaN}', "expires_in"),
        (200, b'{"access_token": "s3cret", "expires_in": true}', "expires_in"),
    ],
)
def test_a_token_endpoint_that_gives_none(endpoint: Endpoint, status: int, body: bytes, says: str) -> None:
    endpoint.answer = (status, body)

    with pytest.raises(AuthenticationFailed, match=says) as raised:
        ClientCredentials(endpoint.url, "id", "s3cret")()

    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("body", "lifetime"),
    [
        (b'{"access_token": "t0ken"}', 300),
        (b'{"access_token": "t0ken", "expires_in": null}', 300),
        (b'{"access_token": "t0ken", "expires_in": "100"}', 100),
    ],
)
def test_the_lifetime_of_a_token(endpoint: Endpoint, body: bytes, lifetime: float) -> None:
    """RFC 6749 only recommends expires_in: without it a token is cached for five minutes at most."""
    now = [0.0]
    endpoint.answer = (200, body)
    tokens = ClientCredentials(endpoint.url, "id", "s3cret", clock=lambda: now[0])

    tokens()
    now[0] = 0.79 * lifetime
    tokens()
    assert len(endpoint.requests) == 1
    now[0] = 0.81 * lifetime
    tokens()
    assert len(endpoint.requests) == 2


def test_a_token_endpoint_that_is_not_there() -> None:
    with pytest.raises(AuthenticationFailed, match="returned no token"):
        ClientCredentials("http://127.0.0.1:9/token", "id", "s3cret")()
    with pytest.raises(ConfigurationError):
        ClientCredentials("file:///etc/passwd", "id", "s3cret")


def test_an_unsecured_token_says_who() -> None:
    head, claims, signature = unsecured("alice").split(".")

    assert json.loads(b64decode(head + "==")) == {"alg": "none"}
    assert json.loads(b64decode(claims + "=="))["sub"] == "alice"
    assert signature == ""


def test_the_region_of_an_msk_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)

    assert msk_region("b-1.name.x1y2.c3.kafka.eu-west-1.amazonaws.com") == "eu-west-1"
    assert msk_region("boot-x.c1.kafka-serverless.us-east-1.amazonaws.com") == "us-east-1"
    with pytest.raises(ConfigurationError, match="AWS_REGION"):
        msk_region("localhost")
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    assert msk_region("localhost") == "eu-north-1"


def test_msk_logs_in_with_the_token_of_its_signer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Signer:
        def generate_auth_token(self, region: str) -> tuple[str, int]:
            return f"default@{region}", 1

        def generate_auth_token_from_profile(self, region: str, profile: str) -> tuple[str, int]:
            return f"{profile}@{region}", 1

        def generate_auth_token_from_role_arn(self, region: str, role: str) -> tuple[str, int]:
            raise LookupError(f"no {role}")

    package: Any = types.ModuleType("aws_msk_iam_sasl_signer")
    package.MSKAuthTokenProvider = Signer()
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", package)
    broker = "b-1.name.x1y2.c3.kafka.eu-west-1.amazonaws.com"

    assert b"Bearer default@eu-west-1" in next(MskIam().exchange(broker))
    assert b"Bearer dev@mars" in next(MskIam(region="mars", profile="dev").exchange(broker))
    with pytest.raises(AuthenticationFailed, match="LookupError"):
        MskIam(role_arn="arn").exchange(broker)


def test_without_its_package_msk_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _hide(monkeypatch, "aws_msk_iam_sasl_signer")
    with pytest.raises(ConfigurationError, match=r"pip install 'kconf\[msk\]'"):
        MskIam(region="x").exchange("host")


def _hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def checked(given: dict[str, str]) -> str:
    """What TLS makes of properties: the common name of the CA that it trusts."""
    chain, key, password = key_material(given)
    context = Tls(trusted(given), chain, key, password).context()
    return str(dict(pair[0] for pair in context.get_ca_certs()[0]["subject"])["commonName"])  # type: ignore[misc]


def test_stores_in_pem(certificates: Certificates) -> None:
    files = {
        "ssl.truststore.location": str(certificates.ca),
        "ssl.keystore.location": str(certificates.store("client")),
    }
    inline = {
        "ssl.truststore.certificates": " ".join(certificates.ca.read_text().split("\n")),
        "ssl.keystore.certificate.chain": certificates.certificate("client").read_text(),
        "ssl.keystore.key": " ".join(certificates.key("client").read_text().split("\n")),
    }

    assert checked(files) == checked(inline) == "kconf test CA"


def test_stores_in_pkcs12(certificates: Certificates) -> None:
    import_module("cryptography")
    given = {
        "ssl.truststore.location": str(certificates.trust("PKCS12")),
        "ssl.truststore.password": PASSWORD,
        "ssl.keystore.location": str(certificates.pkcs12("client")),
        "ssl.keystore.password": PASSWORD,
    }

    assert checked(given) == "kconf test CA"
    with pytest.raises(ConfigurationError, match=r"ssl\.keystore\.password") as raised:
        checked({**given, "ssl.keystore.password": "wr0ng"})
    assert "wr0ng" not in str(raised.value)


def test_stores_in_jks(certificates: Certificates) -> None:
    given = {
        "ssl.truststore.location": str(certificates.trust("JKS")),
        "ssl.keystore.location": str(certificates.jks("client")),
        "ssl.keystore.password": PASSWORD,
    }

    assert checked(given) == "kconf test CA"
    with pytest.raises(ConfigurationError, match="keytool -importkeystore"):
        checked({**given, "ssl.keystore.password": "wrong"})


def test_damaged_and_unknown_stores_are_refused(certificates: Certificates, tmp_path: Path) -> None:
    whole = certificates.jks("broker").read_bytes()
    store = tmp_path / "store"
    for size in range(4, len(whole), 37):
        store.write_bytes(whole[:size])
        with pytest.raises(ConfigurationError):
            key_material({"ssl.keystore.location": str(store), "ssl.keystore.password": PASSWORD})
        with pytest.raises(ConfigurationError):
            trusted({"ssl.truststore.location": str(store)})
    store.write_bytes(b"\xce\xce\xce\xce and so on")
    with pytest.raises(ConfigurationError, match="neither PEM, PKCS12 nor JKS"):
        trusted({"ssl.truststore.location": str(store)})


def test_without_its_package_pkcs12_says_how_to_convert(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = certificates.pkcs12("client")
    _hide(monkeypatch, "cryptography")
    with pytest.raises(ConfigurationError, match=r"openssl pkcs12 -in .*client\.p12"):
        key_material({"ssl.keystore.location": str(store), "ssl.keystore.password": PASSWORD})


def test_tls_is_as_strict_as_it_is_told(certificates: Certificates) -> None:
    strict, lax = Tls(str(certificates.ca)).context(), Tls(str(certificates.ca), check_hostname=False).context()

    assert (strict.check_hostname, lax.check_hostname) == (True, False)
    assert strict.verify_mode == lax.verify_mode == ssl.CERT_REQUIRED
    only = Tls(str(certificates.ca), versions=("TLSv1.3",)).context()
    assert only.minimum_version == ssl.TLSVersion.TLSv1_3
    for wrong in (Tls("/nowhere"), Tls(__file__), Tls(versions=("SSLv3",)), Tls(ca="-----BEGIN nonsense")):
        with pytest.raises(ConfigurationError):
            wrong.context()


def test_an_encrypted_key_needs_its_password_and_leaves_no_file(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import subprocess

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    key = certificates.directory / "encrypted.key"
    plain = str(certificates.key("client"))
    command = ["openssl", "pkcs8", "-topk8", "-in", plain, "-out", str(key), "-passout", "pass:k3y"]
    subprocess.run(command, check=True, capture_output=True)
    right = Tls(certificate=str(certificates.certificate("client")), key=str(key), key_password="k3y")

    right.context()
    for wrong in (right._replace(key_password="no"), right._replace(key_password=None)):
        with pytest.raises(ConfigurationError):
            wrong.context()

    assert "k3y" not in repr(right)
    assert os.listdir(tmp_path) == []
