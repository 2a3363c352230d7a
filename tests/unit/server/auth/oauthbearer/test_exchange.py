"""The messages of OAUTHBEARER: the client's first one, the refusal of a token, extensions, lifetimes."""

from __future__ import annotations

import pytest

from kconf.server.auth.login_failed import LoginFailed
from kconf.server.auth.oauthbearer.exchange import INVALID_TOKEN, OAuthBearerExchange, read_initial_response
from kconf.server.auth.oauthbearer.jwt_validator import BearerToken, InvalidToken

NOW = 1_000_000.0


class Judge:
    """Accepts one token."""

    def validate(self, token: str) -> BearerToken:
        if token != "good":
            raise InvalidToken("it has expired")
        return BearerToken("alice", NOW + 60.5, frozenset())


def exchange(at: float = NOW) -> OAuthBearerExchange:
    return OAuthBearerExchange(Judge(), lambda: at)


def test_a_valid_token_logs_its_principal_in_until_it_expires() -> None:
    login = exchange()

    assert login.step(b"n,,\x01auth=Bearer good\x01\x01") == b""
    assert (login.user, login.lifetime_ms) == ("alice", 60_500)


def test_a_token_that_expired_within_the_clock_skew_gives_a_session_of_0_ms() -> None:
    login = exchange(NOW + 70)
    login.step(b"n,,\x01auth=Bearer good\x01\x01")

    assert (login.user, login.lifetime_ms) == ("alice", 0)


def test_a_refused_token_is_answered_and_fails_after_the_clients_byte() -> None:
    login = exchange()

    assert login.step(b"n,,\x01auth=Bearer bad\x01\x01") == b'{"status":"invalid_token"}'
    assert login.user is None
    with pytest.raises(LoginFailed) as failed:
        login.step(b"\x01")
    assert str(failed.value) == INVALID_TOKEN
    assert failed.value.reason == "OAUTHBEARER: the token is not valid: it has expired"


def test_another_token_after_a_refused_one_is_refused() -> None:
    login = exchange()
    login.step(b"n,,\x01auth=Bearer bad\x01\x01")

    with pytest.raises(LoginFailed, match="invalid credentials"):
        login.step(b"n,,\x01auth=Bearer good\x01\x01")
    assert login.user is None


@pytest.mark.parametrize(("asked", "granted"), [(b"alice", True), (b"bob", False), (b"alice=2C", False)])
def test_an_authorization_id_must_be_the_principal(asked: bytes, granted: bool) -> None:
    login = exchange()
    message = b"n,a=" + asked + b",\x01auth=Bearer good\x01\x01"

    if granted:
        assert login.step(message) == b""
    else:
        with pytest.raises(LoginFailed, match="authorization id"):
            login.step(message)
    assert login.user == ("alice" if granted else None)


def test_extensions_are_read_with_the_token() -> None:
    found = read_initial_response(b"n,,\x01host=a b\x01auth=bearer  a.b-c_d\x01traceId=1,2=3\x01\x01")

    assert found == ("a.b-c_d", "", {"host": "a b", "traceId": "1,2=3"})
    assert "a.b-c_d" not in repr(found)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer good\x01",
        b"n,,auth=Bearer good\x01\x01",
        b"y,,\x01auth=Bearer good\x01\x01",
        b"n,x=1,\x01auth=Bearer good\x01\x01",
        b"n,a=,\x01auth=Bearer good\x01\x01",
        b"n,,\x01auth=Basic good\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer go od\x01\x01",
        b"n,,\x01auth=Bearer g\xc3\xb6d\x01\x01",
        b"n,,\x01auth=Bearer good\x01no1=x\x01\x01",
        b"n,,\x01auth=Bearer good\x01empty=\x01\x01",
        b"n,,\x01auth=Bearer good\x01alone\x01\x01",
        b"n,,\x01auth=Bearer good\x01bell=\x07\x01\x01",
    ],
)
def test_a_malformed_first_message_fails_the_login(message: bytes) -> None:
    login = exchange()

    with pytest.raises(LoginFailed, match="invalid credentials with SASL mechanism OAUTHBEARER") as failed:
        login.step(message)
    assert "good" not in failed.value.reason
    assert login.user is None
