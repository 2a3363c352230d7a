"""Tokens from an OIDC endpoint, from AWS, and unsecured ones."""

from __future__ import annotations

import json
import socket
import sys
import threading
import types
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest

from kconf import AuthenticationFailed, ClientCredentials, ConfigurationError, MskIam
from kconf.client.auth.oauth import msk_region, unsecured
from tests.support.packages import hide_package


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


def test_client_credentials_are_exchanged_for_a_token_that_is_cached(endpoint: Endpoint) -> None:
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
def test_a_token_endpoint_that_returns_no_token_fails_the_login(
    endpoint: Endpoint, status: int, body: bytes, says: str
) -> None:
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
def test_a_token_is_renewed_after_80_percent_of_its_lifetime(endpoint: Endpoint, body: bytes, lifetime: float) -> None:
    """RFC 6749 only recommends expires_in: without it, a token is cached for at most five minutes."""
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


def test_an_unreachable_or_unsupported_token_endpoint_is_an_error() -> None:
    with pytest.raises(AuthenticationFailed, match="returned no token"):
        ClientCredentials("http://127.0.0.1:9/token", "id", "s3cret")()
    with pytest.raises(ConfigurationError):
        ClientCredentials("file:///etc/passwd", "id", "s3cret")


def test_an_unsecured_token_names_the_principal() -> None:
    head, claims, signature = unsecured("alice").split(".")

    assert json.loads(b64decode(head + "==")) == {"alg": "none"}
    assert json.loads(b64decode(claims + "=="))["sub"] == "alice"
    assert signature == ""


def test_the_region_comes_from_the_msk_host_name_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)

    assert msk_region("b-1.name.x1y2.c3.kafka.eu-west-1.amazonaws.com") == "eu-west-1"
    assert msk_region("boot-x.c1.kafka-serverless.us-east-1.amazonaws.com") == "us-east-1"
    with pytest.raises(ConfigurationError, match="AWS_REGION"):
        msk_region("localhost")
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    assert msk_region("localhost") == "eu-north-1"


def test_a_client_logs_in_to_msk_with_the_token_of_its_signer(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_without_its_package_msk_explains_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_package(monkeypatch, "aws_msk_iam_sasl_signer")
    with pytest.raises(ConfigurationError, match=r"pip install 'kconf\[msk\]'"):
        MskIam(region="x").exchange("host")


@pytest.mark.parametrize(
    "response",
    [b"s3cret\r\n\r\n", b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"access_token": "s3cret'],
    ids=["no HTTP", "cut off"],
)
def test_an_endpoint_that_does_not_send_a_whole_http_response_returns_no_token(response: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def respond() -> None:
            with server.accept()[0] as connection:
                connection.recv(1 << 16)
                connection.sendall(response)

        threading.Thread(target=respond, daemon=True).start()
        tokens = ClientCredentials(f"http://127.0.0.1:{server.getsockname()[1]}/", "id", "s3cret")
        with pytest.raises(AuthenticationFailed, match=r"returned no token: (BadStatusLine|IncompleteRead)") as raised:
            tokens()
        assert "s3cret" not in str(raised.value)


def test_an_endpoint_with_an_invalid_host_name_returns_no_token() -> None:
    with pytest.raises(AuthenticationFailed, match="returned no token"):
        ClientCredentials("http://a..b/token", "id", "s3cret")()
