"""SCRAM according to the RFCs and Kafka's restrictions, and with scramp as the peer."""

from __future__ import annotations

from base64 import b64decode
from importlib import import_module
from typing import Any

import pytest

from kconf.model.scram import Credential, Mechanism
from kconf.security.scram import (
    ScramClient,
    ScramError,
    ScramServer,
    credential,
    from_text,
    read_client_first,
    salted_password,
    to_text,
)

SHA_256, SHA_512 = Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512
BOTH = pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])

# RFC 7677, section 3: user "user", password "pencil".
NONCE = "rOprNGfwEbeRWgbNEkqO"
FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
FINAL = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")


def kept(mechanism: Mechanism, password: str, salt: bytes = SALT, iterations: int = 4096) -> Credential:
    return credential(mechanism, salted_password(mechanism, password, salt, iterations), salt, iterations)


def test_the_client_sends_the_messages_of_rfc_7677() -> None:
    client = ScramClient(SHA_256, "user", "pencil", NONCE)

    assert client.first() == FIRST
    assert client.final(SERVER_FIRST) == FINAL
    client.verify(SERVER_FINAL)


def test_the_server_sends_the_messages_of_rfc_7677() -> None:
    server = ScramServer(SHA_256, read_client_first(FIRST), kept(SHA_256, "pencil"), SERVER_NONCE)

    assert server.first() == SERVER_FIRST
    assert server.final(FINAL) == SERVER_FINAL


@BOTH
@pytest.mark.parametrize("user", ["user", "=2C", "a,b=c", "ünï"])
@pytest.mark.parametrize("password", ["pencil", "pass,word=", "\u00a0 not normalised \u2168"])
def test_client_and_server_authenticate_each_other(mechanism: Mechanism, user: str, password: str) -> None:
    client = ScramClient(mechanism, user, password, "abc", extensions="tokenauth=true")
    opened = read_client_first(client.first())
    server = ScramServer(mechanism, opened, kept(mechanism, password), "def")

    client.verify(server.final(client.final(server.first())))

    assert (opened.user, opened.extensions) == (user, {"tokenauth": "true"})


@BOTH
def test_a_wrong_password_fails_the_proof(mechanism: Mechanism) -> None:
    client = ScramClient(mechanism, "user", "wrong", "abc")
    server = ScramServer(mechanism, read_client_first(client.first()), kept(mechanism, "right"), "def")

    with pytest.raises(ScramError, match="proof"):
        server.final(client.final(server.first()))


@pytest.mark.parametrize(
    "message",
    [
        b"y,,n=u,r=x",
        b"p=tls-unique,,n=u,r=x",
        b"n,,r=x,n=u",
        b"n,,n=u",
        b"n,,n=,r=x",
        b"n,a=other,n=u,r=x",
        b"n,,n=a=b,r=x",
        b"",
        b"n,,",
        b"\xff\xfe",
        b"n,x,n=u,r=x",
        b"n,,n=u,r=",
    ],
)
def test_an_invalid_first_message_is_refused_by_the_server(message: bytes) -> None:
    with pytest.raises(ScramError):
        read_client_first(message)


def test_an_authzid_equal_to_the_user_is_accepted() -> None:
    opened = read_client_first(b"n,a=u,n=u,r=x")
    server = ScramServer(SHA_256, opened, kept(SHA_256, "p"), "y")

    assert opened.authzid == "u"
    with pytest.raises(ScramError, match="header"):
        server.final(b"c=biws,r=xy,p=AAAA")


@pytest.mark.parametrize(
    "final",
    [
        b"c=biws,r=abc,p=AAAA",
        b"c=biws,r=abcdefx,p=AAAA",
        b"c=biws,r=abcdef",
        b"c=eSws,r=abcdef,p=AAAA",
        b"c=biws,r=abcdef,p=AAAA",
        b"c=biws,r=abcdef,p=!",
        b"",
        b"\xff",
    ],
)
def test_an_invalid_final_message_is_refused_by_the_server(final: bytes) -> None:
    server = ScramServer(SHA_256, read_client_first(b"n,,n=u,r=abc"), kept(SHA_256, "p"), "def")

    with pytest.raises(ScramError):
        server.final(final)


@pytest.mark.parametrize(
    "message",
    [
        b"r=other,s=AAAA,i=4096",
        b"r=abc,s=AAAA,i=4096",
        b"r=abcdef,i=4096",
        b"r=abcdef,s=AAAA",
        b"e=other-error",
        b"r=abcdef,s=AAAA,i=0",
        b"r=abcdef,s=AAAA,i=99999999",
        b"r=abcdef,s=!!!,i=4096",
        b"nonsense",
        b"\xff",
    ],
)
def test_an_invalid_challenge_is_refused_by_the_client(message: bytes) -> None:
    with pytest.raises(ScramError):
        ScramClient(SHA_256, "u", "p", "abc").final(message)


@pytest.mark.parametrize("message", [b"v=AAAA", b"e=invalid-proof", b"", b"x"])
def test_a_server_that_does_not_know_the_password_is_detected(message: bytes) -> None:
    client = ScramClient(SHA_256, "user", "pencil", NONCE)
    client.final(SERVER_FIRST)

    with pytest.raises(ScramError):
        client.verify(message)


def test_a_credential_is_written_and_read_in_kafkas_format() -> None:
    stored = kept(SHA_512, "secret", b"salt", 8192)

    text = to_text(stored)

    assert text.startswith("salt=c2FsdA==,stored_key=")
    assert text.endswith(",iterations=8192")
    assert from_text(text) == stored
    for wrong in ("", "salt=x", text + ",more=1", text.replace("8192", "x"), text.replace("c2FsdA==", "?")):
        with pytest.raises(ScramError):
            from_text(wrong)


@BOTH
def test_a_client_logs_in_to_a_scramp_server(mechanism: Mechanism) -> None:
    scramp: Any = import_module("scramp")
    peer = scramp.ScramMechanism(mechanism.word)
    salt, stored, server_key, count = peer.make_auth_info("pencil", iteration_count=4096)
    server = peer.make_server(lambda user: (salt, stored, server_key, count))
    client = ScramClient(mechanism, "user", "pencil", "abcdefghij")

    server.set_client_first(client.first().decode())
    final = client.final(server.get_server_first().encode())
    server.set_client_final(final.decode())
    client.verify(server.get_server_final().encode())


@BOTH
def test_a_client_that_uses_scramp_logs_in(mechanism: Mechanism) -> None:
    scramp: Any = import_module("scramp")
    client = scramp.ScramClient([mechanism.word], "user", "pencil")

    server = ScramServer(
        mechanism, read_client_first(client.get_client_first().encode()), kept(mechanism, "pencil"), "xyz"
    )
    client.set_server_first(server.first().decode())
    client.set_server_final(server.final(client.get_client_final().encode()).decode())
