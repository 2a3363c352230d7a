"""The steps of a login on raw sockets: responses, error codes, and when the connection is closed (spec 7.5)."""

from __future__ import annotations

import random
import socket
import struct
import time
import urllib.request
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest

from kconf import Mechanism, SyncAdminClient, scram_upsertion
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import LENGTH, request
from kconf.security.scram import ScramClient
from kconf.util.rate_limited_log import BURST, PER_SECOND
from tests.security.sasl_server import ALICE, BOB, PLAIN_MODULE
from tests.support.process import KconfProcess
from tests.support.wire import Wire

UNSUPPORTED, ILLEGAL, FAILED = 33, 34, 58
GOOD = b"\0alice\0alice-secret"
BAD = b"\0alice\0wr0ng"
DELAY = 0.3
LIFETIMES = {"BRIEF": 1000, "LASTING": 600_000}
"""Listeners and how long their sessions last, in milliseconds. tests/unit/server/auth sets a clock instead."""


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    users = " ".join(f'user_{each.name}="{each.password}"' for each in (ALICE, BOB))
    properties = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "plain.sasl.jaas.config": f"{PLAIN_MODULE} required {users};",
        "connection.failed.authentication.delay.ms": str(int(DELAY * 1000)),
        "listener.security.protocol.map": ",".join(
            ["PLAINTEXT:PLAINTEXT", *(f"{each}:SASL_PLAINTEXT" for each in ("SASL", *LIFETIMES))]
        ),
        **{f"listener.name.{each.lower()}.connections.max.reauth.ms": str(ms) for each, ms in LIFETIMES.items()},
    }
    args = ["--metrics", "127.0.0.1:0"]
    with KconfProcess(properties=properties, listeners=("PLAINTEXT", "SASL", *LIFETIMES), args=args) as made:
        keep(made)
        yield made


class Line(Wire):
    """A connection to the SASL listener, with the steps of a login."""

    def shake(self, mechanism: str = "PLAIN", version: int = 1) -> Any:
        return self.ask("SaslHandshake", version, mechanism=mechanism)

    def token(self, token: bytes, version: int = 2) -> Any:
        return self.ask("SaslAuthenticate", version, auth_bytes=token)

    def bare(self, token: bytes) -> bytes:
        self._socket.sendall(LENGTH.pack(len(token)) + token)
        return self.receive()

    def metadata(self) -> Any:
        return self.ask("Metadata", 9, topics=[])

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def is_closed(self) -> bool:
        try:
            return self._socket.recv(1) == b""
        except ConnectionError:
            return True


@pytest.fixture
def line(server: KconfProcess) -> Iterator[Line]:
    with Line(server.address("SASL")) as made:
        yield made


@pytest.fixture
def lasting(server: KconfProcess) -> Iterator[Line]:
    """Its session can be renewed, and does not end during a test."""
    with Line(server.address("LASTING")) as made:
        yield made


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_client_logs_in_with_plain(line: Line, version: int) -> None:
    shaken = line.shake()
    assert (shaken.error_code, list(shaken.mechanisms)) == (0, ["PLAIN", "SCRAM-SHA-256"])
    answer = line.token(GOOD, version)
    assert (answer.error_code, answer.auth_bytes, answer.session_lifetime_ms) == (0, b"", 0)
    assert line.metadata().brokers


def test_api_versions_may_be_requested_first_and_more_than_once(line: Line) -> None:
    assert line.ask("ApiVersions", 3, client_software_name="x", client_software_version="1").error_code == 0
    assert line.say(18, 99)[:2] == struct.pack(">h", 35)
    assert line.ask("ApiVersions", 0).error_code == 0
    assert line.shake().error_code == 0


@pytest.mark.parametrize("api", [name for name in BY_NAME if name not in ("ApiVersions", "SaslHandshake")])
def test_anything_else_before_a_login_closes_the_connection_without_a_response(line: Line, api: str) -> None:
    line.send(struct.pack(">ihhih", 10, BY_NAME[api].key, 0, 1, -1))
    assert line.is_closed()


def test_a_mechanism_that_is_not_enabled_is_refused(line: Line) -> None:
    shaken = line.shake("SCRAM-SHA-512")
    assert (shaken.error_code, list(shaken.mechanisms)) == (UNSUPPORTED, ["PLAIN", "SCRAM-SHA-256"])
    assert line.is_closed()


def test_a_failed_login_is_answered_after_a_pause_and_ends_the_connection(line: Line) -> None:
    line.shake()
    began = time.monotonic()
    answer = line.token(BAD)
    assert time.monotonic() - began >= DELAY * 0.9
    assert (answer.error_code, answer.auth_bytes) == (FAILED, b"")
    assert line.is_closed()


def test_bytes_after_a_failed_login_are_ignored(line: Line) -> None:
    line.shake()
    metadata = request(BY_NAME["Metadata"], 9, 99, "x", BY_NAME["Metadata"].request(topics=[]))
    token = BY_NAME["SaslAuthenticate"].request(auth_bytes=BAD)
    line.send(request(BY_NAME["SaslAuthenticate"], 2, 7, "x", token) + metadata)
    assert line.receive()[:4] == LENGTH.pack(7)
    assert line.is_closed()


TOKENS = {
    "wrong password": BAD,
    "unknown user": b"\0nobody\0wr0ng",
    "no password": b"\0alice\0",
    "no user": b"\0\0alice-secret",
    "another's name": b"bob\0alice\0alice-secret",
    "two parts": b"alice\0alice-secret",
    "four parts": b"\0alice\0alice-secret\0",
    "not UTF-8": b"\0alice\0\xff\xfe",
    "nothing": b"",
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS.keys())
def test_an_invalid_plain_token_is_refused(line: Line, token: bytes) -> None:
    line.shake()
    answer = line.token(token)
    assert answer.error_code == FAILED
    assert "alice" not in answer.error_message
    assert line.is_closed()


def test_an_authorization_id_equal_to_the_user_is_accepted(line: Line) -> None:
    line.shake()
    assert line.token(b"alice\0alice\0alice-secret").error_code == 0


def test_an_unknown_user_and_a_wrong_password_get_the_same_message(server: KconfProcess) -> None:
    said = []
    for token in (BAD, b"\0nobody\0wr0ng"):
        with Line(server.address("SASL")) as line:
            line.shake()
            said.append(line.token(token).error_message)
    assert said[0] == said[1]


def test_another_request_in_the_middle_of_a_login_is_refused(line: Line) -> None:
    line.shake()
    answer = line.ask("Metadata", 9, topics=[_topic("t")])
    assert [each.error_code for each in answer.topics] == [ILLEGAL]
    assert line.is_closed()


def _topic(name: str) -> Any:
    from kconf.protocol.messages.metadata import MetadataRequestTopic

    return MetadataRequestTopic(name=name)


def test_a_second_handshake_in_the_middle_of_a_login_is_refused(line: Line) -> None:
    line.shake()
    assert line.shake().error_code == ILLEGAL
    assert line.is_closed()


def test_a_client_may_not_authenticate_again_if_sessions_do_not_expire(line: Line) -> None:
    line.shake()
    line.token(GOOD)
    assert line.shake().error_code == ILLEGAL
    assert line.token(GOOD).error_code == ILLEGAL
    assert line.metadata().brokers, "and the connection stays"


def test_a_login_on_a_plaintext_listener_is_refused(server: KconfProcess) -> None:
    with Line(server.address("PLAINTEXT")) as line:
        assert line.shake().error_code == ILLEGAL
        assert line.token(GOOD).error_code == ILLEGAL
        assert line.metadata().brokers


def test_after_a_handshake_of_version_0_tokens_are_sent_without_a_header(line: Line) -> None:
    assert line.shake(version=0).error_code == 0
    assert line.bare(GOOD) == b""
    assert line.metadata().brokers


def test_requests_sent_right_after_a_token_of_version_0_are_answered(line: Line) -> None:
    """Like kafka-python 2.0: ApiVersions and Metadata version 0 without waiting."""
    line.shake(version=0)
    line.send(LENGTH.pack(len(GOOD)) + GOOD + struct.pack(">ihhih", 10, 18, 0, 1, -1))
    line.send(struct.pack(">ihhihi", 14, 3, 0, 2, -1, 0))
    assert line.receive() == b""
    assert line.receive()[:4] == LENGTH.pack(1)
    assert line.receive()[:4] == LENGTH.pack(2)


def test_a_failed_login_of_version_0_closes_the_connection_after_a_pause(line: Line) -> None:
    line.shake(version=0)
    began = time.monotonic()
    line.send(LENGTH.pack(len(BAD)) + BAD)
    assert line.is_closed()
    assert time.monotonic() - began >= DELAY * 0.9


@pytest.mark.parametrize("version", [0, 1])
def test_a_client_logs_in_with_scram(line: Line, version: int) -> None:
    client = ScramClient(Mechanism.SCRAM_SHA_256, ALICE.name, ALICE.password, "nonce")
    line.shake("SCRAM-SHA-256", version)

    def say(token: bytes) -> bytes:
        if version == 0:
            return line.bare(token)
        answer = line.token(token)
        assert answer.error_code == 0
        return bytes(answer.auth_bytes)

    client.verify(say(client.final(say(client.first()))))
    assert line.metadata().brokers


def test_an_unknown_user_gets_the_same_scram_steps(server: KconfProcess) -> None:
    salts = []
    for name in ("alice", "nobody", "nobody"):
        with Line(server.address("SASL")) as line:
            client = ScramClient(Mechanism.SCRAM_SHA_256, name, "wr0ng", "nonce")
            line.shake("SCRAM-SHA-256")
            first = line.token(client.first())
            assert first.error_code == 0
            salts.append(bytes(first.auth_bytes).partition(b",s=")[2])
            refused = line.token(client.final(first.auth_bytes))
            assert refused.error_code == FAILED
            assert "SCRAM-SHA-256" in refused.error_message
            assert name not in refused.error_message
    assert salts[1] == salts[2], "a salt that changed would tell that there is no such user"


def challenge(server: KconfProcess, name: str) -> tuple[bytes, int]:
    """The salt and iterations that the server sends for this user name."""
    with Line(server.address("SASL")) as line:
        line.shake("SCRAM-SHA-256")
        first = bytes(line.token(ScramClient(Mechanism.SCRAM_SHA_256, name, "x", "nonce").first()).auth_bytes)
    parts = dict(each.partition(b"=")[::2] for each in first.split(b","))
    return b64decode(parts[b"s"]), int(parts[b"i"])


@pytest.mark.parametrize(("salt", "iterations"), [(bytes(32), 8192), (b"1qmhuw5r3o7iwmcs6ee7e0u5tn", 4096)])
def test_an_unknown_user_gets_a_salt_and_iterations_like_those_of_real_users(
    server: KconfProcess, salt: bytes, iterations: int
) -> None:
    keep(server, salt=salt, iterations=iterations)
    real, decoy = challenge(server, ALICE.name), challenge(server, "nobody")
    assert real == (salt, iterations)
    assert decoy[1] == iterations
    assert decoy[0].isalnum() == salt.isalnum()
    assert abs(len(decoy[0]) - len(salt)) <= (2 if salt.isalnum() else 0)
    server.restart()
    assert challenge(server, "nobody") == decoy, "the same after a restart"
    keep(server)


def keep(server: KconfProcess, **how: Any) -> None:
    requested = scram_upsertion(ALICE.name, Mechanism.SCRAM_SHA_256, ALICE.password, **how)
    with SyncAdminClient(server.address("PLAINTEXT")) as admin:
        admin.alter_user_scram_credentials([requested]).raise_for_failures()


@pytest.mark.parametrize("size", [-1, 7, 524289, 2**31 - 1])
def test_a_frame_of_an_invalid_size_before_a_login_closes_the_connection(line: Line, size: int) -> None:
    line.send(LENGTH.pack(size))
    assert line.is_closed()


def test_an_invalid_token_of_the_maximum_size_closes_the_connection(line: Line) -> None:
    line.shake(version=0)
    line.send(LENGTH.pack(524288) + b"x" * 524288)
    assert line.is_closed()


def test_a_token_that_arrives_byte_by_byte_is_accepted(line: Line) -> None:
    line.shake(version=0)
    for byte in LENGTH.pack(len(GOOD)) + GOOD:
        line.send(bytes([byte]))
    assert line.receive() == b""


def test_larger_frames_are_accepted_after_a_login(line: Line) -> None:
    line.shake()
    line.token(GOOD)
    assert line.ask("Metadata", 9, topics=[_topic("t" * 200) for _ in range(4000)]).topics


def test_a_session_has_a_lifetime_and_can_be_renewed(lasting: Line) -> None:
    lasting.shake()
    assert lasting.token(GOOD).session_lifetime_ms == LIFETIMES["LASTING"]
    assert lasting.shake().error_code == 0
    assert lasting.token(GOOD).session_lifetime_ms == LIFETIMES["LASTING"]
    assert lasting.metadata().brokers


def test_a_session_that_was_not_renewed_is_closed_at_a_request_after_its_end(server: KconfProcess) -> None:
    with Line(server.address("BRIEF")) as line:
        line.shake()
        began = time.monotonic()
        assert line.token(GOOD).session_lifetime_ms == LIFETIMES["BRIEF"]
        while not _ends(line):
            pass
        milliseconds = (time.monotonic() - began) * 1000
        assert milliseconds > LIFETIMES["BRIEF"] - 1  # the server counts whole milliseconds


def _ends(line: Line) -> bool:
    """Whether the server closes the connection instead of answering a request."""
    try:
        line.metadata()
    except ConnectionError:
        return True
    return False


def test_a_session_is_not_renewed_twice_in_a_second(lasting: Line) -> None:
    lasting.shake()
    assert lasting.token(GOOD).error_code == 0
    assert lasting.shake().error_code == 0
    assert lasting.token(GOOD).error_code == 0
    while (shaken := lasting.shake()).error_code == 0:  # more than a second later, on a busy machine
        assert lasting.token(GOOD).error_code == 0
    assert shaken.error_code == ILLEGAL
    assert lasting.metadata().brokers


def test_a_renewal_may_not_change_the_principal(lasting: Line) -> None:
    lasting.shake()
    lasting.token(GOOD)
    lasting.shake()
    assert lasting.token(b"\0bob\0bob-secret").error_code == FAILED
    assert lasting.is_closed()


def test_a_renewal_may_not_change_the_mechanism(lasting: Line) -> None:
    lasting.shake()
    lasting.token(GOOD)
    assert lasting.shake("SCRAM-SHA-256").error_code == 0
    client = ScramClient(Mechanism.SCRAM_SHA_256, ALICE.name, ALICE.password, "nonce")
    assert lasting.token(client.first()).error_code == FAILED
    assert lasting.is_closed()


def test_a_renewal_between_other_requests_is_answered_in_order(lasting: Line) -> None:
    """Requests sent right after it are answered after it, in order."""
    lasting.shake()
    lasting.token(GOOD)
    rows = BY_NAME["SaslHandshake"], BY_NAME["SaslAuthenticate"], BY_NAME["Metadata"]
    shake, token, metadata = (
        request(rows[0], 1, 71, "x", rows[0].request(mechanism="PLAIN")),
        request(rows[1], 2, 72, "x", rows[1].request(auth_bytes=GOOD)),
        request(rows[2], 9, 73, "x", rows[2].request(topics=[])),
    )
    lasting.send(metadata + shake + token + metadata)
    assert [lasting.receive()[:4] for _ in range(4)] == [LENGTH.pack(each) for each in (73, 71, 72, 73)]


def test_failed_logins_are_counted_and_logged_at_a_limited_rate(server: KconfProcess) -> None:
    before, counted = server.log().count("login failed"), failed_logins(server)
    began = time.monotonic()
    lines = []
    for _ in range(60):
        line = Line(server.address("SASL"))
        lines.append(line)
        line.shake()
        line.send(_failing())
    for line in lines:
        line.receive()
        line.close()
    assert failed_logins(server) == counted + 60
    logged = server.log().count("login failed") - before
    assert 1 <= logged <= BURST + PER_SECOND * (time.monotonic() - began)
    assert not any("alice" in each for each in server.log().splitlines() if "login failed" in each)


def failed_logins(server: KconfProcess) -> int:
    assert server.metrics_url is not None
    told = urllib.request.urlopen(server.metrics_url).read().decode()
    return int(float(told.partition("\nkconf_failed_logins_total ")[2].split()[0]))


def _failing() -> bytes:
    row = BY_NAME["SaslAuthenticate"]
    return request(row, 2, 1, "x", row.request(auth_bytes=BAD))


def test_a_peer_that_disconnects_during_the_delay_does_not_affect_others(server: KconfProcess) -> None:
    line = Line(server.address("SASL"))
    line.shake()
    line.send(_failing())
    line._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()
    with Line(server.address("SASL")) as later:
        later.shake()
        assert later.token(BAD).error_code == FAILED, "its delay ended after that of the first"
    assert "Traceback" not in server.log()


def test_random_bytes_before_a_login_do_not_affect_later_connections(server: KconfProcess) -> None:
    dice = random.Random(7)
    for _ in range(300):
        line = Line(server.address("SASL"))
        if dice.random() < 0.5:
            line.shake(dice.choice(("PLAIN", "SCRAM-SHA-256")), dice.choice((0, 1)))
        noise = dice.randbytes(dice.randrange(1, 200))
        if dice.random() < 0.7:
            key = dice.choice((17, 18, 36, 3, 32))
            noise = struct.pack(">hhih", key, dice.randrange(-1, 5), 1, dice.choice((-1, 0, 3, 32000))) + noise
            noise = LENGTH.pack(len(noise)) + noise
        line.send(noise)
        line.close()
    with Line(server.address("SASL")) as line:
        line.shake()
        assert line.token(GOOD).error_code == 0
    assert "Traceback" not in server.log()
    assert "error=" not in server.log()
