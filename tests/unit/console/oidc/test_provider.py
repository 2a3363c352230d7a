"""Discovery, changed keys, client authentication, and failed requests."""

from __future__ import annotations

import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest

from kconf.console.security.oidc.http import MAX_BYTES, ProviderHttp, ProviderRefused, ProviderUnavailable
from kconf.console.security.oidc.provider import Provider
from kconf.server.auth.oauthbearer.jwt_validator import InvalidToken
from tests.support.token_server import SigningKey
from tests.unit.console.oidc.world import CLIENT, ISSUER, SECRET, SIGNER, FakeHttp, id_token, settings


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"issuer": f"{ISSUER}/"}, "another issuer, 'https://idp.test/'; --oidc-issuer must match it exactly"),
        ({"issuer": None}, "another issuer;"),
        ({"token_endpoint": "http://idp.test/token"}, "token_endpoint that is not an https URL"),
        ({"jwks_uri": "http://127.0.0.1/keys"}, "jwks_uri that is not an https URL"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "authorization_endpoint that is not an https URL"),
        ({"authorization_endpoint": None}, "lacks an endpoint"),
        ({"code_challenge_methods_supported": ["plain"]}, "does not support PKCE with S256"),
    ],
    ids=str,
)
def test_metadata_that_cannot_be_trusted_is_refused(metadata: dict[str, Any], why: str) -> None:
    with pytest.raises(ProviderUnavailable, match=why):
        Provider(settings(), FakeHttp(**metadata)).metadata()


def test_metadata_is_read_once_an_hour_and_stays_valid_if_the_provider_is_unreachable() -> None:
    now = [0.0]
    http = FakeHttp()
    provider = Provider(settings(), http, lambda: now[0])
    first = provider.metadata()
    assert provider.metadata() is first
    assert len(http.fetched) == 1
    now[0], http.is_unreachable = 4000.0, True
    assert provider.metadata() is first


def test_a_failing_provider_is_not_queried_again_for_each_login() -> None:
    now = [0.0]
    http = FakeHttp(issuer="https://other.test")
    provider = Provider(settings(), http, lambda: now[0])
    for _ in range(3):
        with pytest.raises(ProviderUnavailable, match="another issuer"):
            provider.metadata()
    assert len(http.fetched) == 1
    now[0], http.metadata["issuer"] = 4.0, ISSUER
    assert provider.metadata().token == f"{ISSUER}/token"


def test_an_unknown_key_is_fetched_at_once_but_not_for_every_token() -> None:
    now = [0.0]
    http = FakeHttp()
    provider = Provider(settings(), http, lambda: now[0])
    provider.verified(id_token())
    new = SigningKey("two", "ES256")
    http.keys = [new, SIGNER]
    assert provider.verified(id_token(new))["sub"] == "id-1"
    count = len(http.fetched)
    for _ in range(3):
        with pytest.raises(InvalidToken):
            provider.verified(id_token(SigningKey("three")))
    assert len(http.fetched) == count
    now[0] = 11.0
    with pytest.raises(InvalidToken):
        provider.verified(id_token(SigningKey("three")))
    assert len(http.fetched) == count + 1


def test_known_keys_stay_valid_if_the_provider_is_unreachable() -> None:
    now = [0.0]
    http = FakeHttp()
    provider = Provider(settings(), http, lambda: now[0])
    provider.verified(id_token())
    now[0], http.is_unreachable = 4000.0, True
    assert provider.verified(id_token())["sub"] == "id-1"
    with pytest.raises(ProviderUnavailable):
        Provider(settings(), http).verified(id_token())


def test_the_secret_is_sent_in_the_way_that_the_provider_supports() -> None:
    def sent(secret: str | None, **metadata: Any) -> tuple[dict[str, str], str | None]:
        http = FakeHttp(**metadata)
        Provider(settings(client_secret=secret), http).tokens({"grant_type": "authorization_code"})
        _, form, headers = http.posted[0]
        return dict(form), headers.get("Authorization")

    form, basic = sent(SECRET)
    assert "client_secret" not in form
    assert basic is not None
    assert [unquote(each) for each in b64decode(basic.split()[1]).decode().split(":")] == [CLIENT, SECRET]
    form, basic = sent(SECRET, token_endpoint_auth_methods_supported=["client_secret_post"])
    assert (form["client_id"], form["client_secret"], basic) == (CLIENT, SECRET, None)
    form, basic = sent(None)
    assert (form["client_id"], "client_secret" in form, basic) == (CLIENT, False, None)


def test_the_resource_of_the_token_is_also_named_to_the_token_endpoint() -> None:
    http = FakeHttp()
    parameters = {"resource": "https://kafka.test", "prompt": "login"}
    Provider(settings(parameters=parameters), http).tokens({"grant_type": "refresh_token"})
    assert http.posted[0][1] == {"resource": "https://kafka.test", "grant_type": "refresh_token"}


@pytest.mark.parametrize("answer", [{"token_type": "mac"}, {"access_token": ""}, {"access_token": 7}], ids=str)
def test_an_answer_without_a_bearer_token_is_refused(answer: dict[str, Any]) -> None:
    http = FakeHttp()
    http.answer = answer
    with pytest.raises(ProviderUnavailable, match="did not return a bearer token"):
        Provider(settings(), http).tokens({})


@pytest.mark.parametrize(
    ("expires_in", "lifetime"), [(60, 60.0), ("60", 60.0), (None, None), ("soon", None), (float("inf"), None)]
)
def test_the_lifetime_of_a_token_may_be_a_text_or_unknown(expires_in: object, lifetime: float | None) -> None:
    http = FakeHttp()
    http.answer = {"expires_in": expires_in}
    assert Provider(settings(), http).tokens({}).lifetime == lifetime


def test_the_logout_at_the_provider_has_no_token() -> None:
    assert Provider(settings(), FakeHttp()).logout_url() == f"{ISSUER}/logout?from=app&client_id={CLIENT}"
    assert Provider(settings(), FakeHttp(end_session_endpoint=None)).logout_url() is None


# -- requests --------------------------------------------------------------------------------------------------------


@contextmanager
def serving(status: int, body: bytes, **headers: str) -> Iterator[tuple[str, list[str]]]:
    """A server with a fixed response, and the requested paths."""
    asked: list[str] = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def test_an_oauth_error_is_distinguished_from_a_failing_server() -> None:
    with serving(400, b'{"error":"invalid_grant","error_description":"secret"}') as (url, _):
        with pytest.raises(ProviderRefused, match=r"refused the request: invalid_grant$") as caught:
            ProviderHttp(url).post(url, {"code": "c0de"}, {})
        assert caught.value.code == "invalid_grant"
    for status, body in ((500, b'{"error":"server_error"}'), (404, b"<html>"), (400, b'{"error":"<b> x"}')):
        with serving(status, body) as (url, _), pytest.raises(ProviderUnavailable, match=f"HTTP {status}$"):
            ProviderHttp(url).get_json(url)


def test_a_redirection_is_not_followed() -> None:
    with serving(200, b"{}") as (elsewhere, asked), serving(307, b"", Location=elsewhere) as (url, _):
        with pytest.raises(ProviderUnavailable, match="HTTP 307"):
            ProviderHttp(url).post(url, {"code": "c0de"}, {})
        assert asked == []


@pytest.mark.parametrize("body", [b"no JSON", b"[]", b"[" * 100_000], ids=["text", "list", "deep"])
def test_a_response_that_is_not_a_json_object_is_refused(body: bytes) -> None:
    with serving(200, body) as (url, _), pytest.raises(ProviderUnavailable, match="JSON object"):
        ProviderHttp(url).get_json(url)


def test_a_response_that_is_too_large_is_refused() -> None:
    with serving(200, b" " * (MAX_BYTES + 1)) as (url, _), pytest.raises(ProviderUnavailable, match="more than"):
        ProviderHttp(url).get_json(url)


def test_an_unreachable_provider_is_reported_in_one_sentence() -> None:
    with pytest.raises(ProviderUnavailable, match=r"^http://127\.0\.0\.1:1 cannot be reached: .*refused"):
        ProviderHttp("http://127.0.0.1:1").get_json("http://127.0.0.1:1/")
