"""SASL mechanisms of a client, without a broker."""

from __future__ import annotations

from typing import Any

import pytest

from kconf import AuthenticationFailed, ConfigurationError, OAuthBearer, Plain, Scram
from kconf.client.auth.sasl import Token
from tests.unit.client.auth.exchanges import messages


def test_a_bearer_token_is_sent_with_extensions_and_its_refusal_is_raised() -> None:
    bearer = OAuthBearer(lambda: "t0ken", extensions={"cluster": "c"})

    assert messages(bearer, b"") == [b"n,,\x01auth=Bearer t0ken\x01cluster=c\x01\x01"]
    assert messages(OAuthBearer(lambda: Token("t", {"a": "b"})), b"") == [b"n,,\x01auth=Bearer t\x01a=b\x01\x01"]
    with pytest.raises(AuthenticationFailed, match="invalid_token"):
        messages(bearer, b'{"status":"invalid_token"}', b"")
    assert "t0ken" not in repr(bearer) + repr(Token("t0ken"))


def test_a_server_with_a_wrong_signature_is_refused() -> None:
    exchange = Scram("user", "pencil").exchange("host")
    nonce = next(exchange).rpartition(b"r=")[2]
    exchange.send(b"r=" + nonce + b"x,s=AAAA,i=4096")
    with pytest.raises(AuthenticationFailed, match="does not know the password"):
        exchange.send(b"v=AAAA")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Plain("", "x"), "PLAIN needs a username and a password"),
        (lambda: Plain("x", ""), "PLAIN needs a username and a password"),
        (lambda: Scram("", "x"), "SCRAM-SHA-512 needs a username and a password"),
        (lambda: Scram("x", "", "SCRAM-SHA-256"), "SCRAM-SHA-256 needs a username and a password"),
        (lambda: Scram("x", "y", "MD5"), "MD5 is not a SCRAM mechanism"),
    ],
)
def test_a_login_without_a_required_property_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()
