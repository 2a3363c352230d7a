"""One deadline for a whole call: the server sends single bytes, but never a complete response."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kconf import (
    ClientCredentials,
    ConnectionFailed,
    OAuthBearer,
    Plain,
    RequestTimedOut,
    Resource,
    SyncAdminClient,
    Tls,
)
from kconf.protocol.apis import APIS
from kconf.protocol.headers import HEAD
from kconf.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kconf.protocol.messages.sasl_handshake import SaslHandshakeResponse
from tests.unit.client.drivers import driver
from tests.unit.client.fake import CLOSE, FakeBroker

ORDERS = Resource.topic("orders")
LONG_FRAME = (100_000).to_bytes(4, "big")
TLS_RECORD = b"\x16\x03\x03\x40\x00"
HTTP_HEAD = b"HTTP/1.1 200 OK\r\nX-Long: "
BYTES = 120  # after this the connection is closed, and the test fails


def drip(connection: socket.socket, start: bytes) -> None:
    connection.sendall(start)
    for _ in range(BYTES):
        connection.sendall(b"\x01")
        time.sleep(0.05)


class DrippingBroker(FakeBroker):
    """Responds to all APIs except one, whose response does not end."""

    def __init__(self, drips: str) -> None:
        super().__init__()
        self.drips = drips
        self.dripping = threading.Event()
        self.handlers["SaslHandshake"] = lambda asked, version: SaslHandshakeResponse(0, [asked.mechanism])
        self.handlers["SaslAuthenticate"] = lambda asked, version: SaslAuthenticateResponse(0, None, b"")

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError), connection.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                frame = stream.read(int.from_bytes(head, "big"))
                if APIS[HEAD.unpack_from(frame, 0)[0]].name == self.drips:
                    self.dripping.set()
                    drip(connection, LONG_FRAME)
                    return
                connection.sendall(self._answer(frame))


@contextlib.contextmanager
def dripping_server(start: bytes) -> Iterator[int]:
    """Sends these bytes to every client, and then single bytes; yields its port."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(10_000)
            drip(connection, start)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def describe(kind: str, address: str, **options: Any) -> None:
    with driver(kind, address, timeout=0.7, **options) as admin:
        admin.describe_configs([ORDERS])


@pytest.mark.parametrize("api", ["ApiVersions", "SaslHandshake", "SaslAuthenticate", "DescribeConfigs"])
def test_a_response_that_does_not_end_is_given_up_at_the_deadline(kind: str, api: str) -> None:
    with DrippingBroker(api) as broker, pytest.raises(RequestTimedOut) as raised:
        describe(kind, broker.address, sasl=Plain("alice", "secret"))

    assert raised.value.sent == (api == "DescribeConfigs")


def test_a_tls_handshake_that_does_not_end_is_given_up_at_the_deadline(kind: str) -> None:
    with dripping_server(TLS_RECORD) as port, pytest.raises(RequestTimedOut, match="was not sent"):
        describe(kind, f"127.0.0.1:{port}", tls=Tls())


def test_a_token_that_does_not_arrive_is_given_up_at_the_deadline(kind: str) -> None:
    with dripping_server(HTTP_HEAD) as port, FakeBroker() as broker:
        token = ClientCredentials(f"http://127.0.0.1:{port}/token", "me", "secret")
        with pytest.raises(RequestTimedOut, match="not sent"):
            describe(kind, broker.address, sasl=OAuthBearer(token))


def test_all_addresses_of_a_host_name_share_the_connect_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise each address of a host name would get the whole time again."""
    asked: list[float] = []

    class NeverConnects(socket.socket):
        def connect(self, address: Any) -> None:
            asked.append(self.gettimeout() or 0.0)
            time.sleep(0.02)
            raise TimeoutError

    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 9))] * 3
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: found)
    monkeypatch.setattr(socket, "socket", NeverConnects)
    admin = SyncAdminClient("many:9", connect_timeout=5.0, connect_attempts=1)
    with admin, pytest.raises(ConnectionFailed, match="no response in time"):
        admin.describe_configs([ORDERS])

    first, second, third = asked
    assert first > second > third


def test_waiting_for_calls_of_other_threads_counts_towards_the_deadline() -> None:
    with DrippingBroker("DescribeConfigs") as broker, SyncAdminClient(broker.address) as admin:
        other = threading.Thread(target=_gives_up, args=(admin,))
        other.start()
        broker.dripping.wait()
        with pytest.raises(RequestTimedOut, match="other calls of this client") as raised:
            admin.describe_configs([ORDERS], timeout=0.1)
        other.join()

    assert not raised.value.sent


def _gives_up(admin: SyncAdminClient) -> None:
    with contextlib.suppress(RequestTimedOut):
        admin.describe_configs([ORDERS], timeout=3.0)


def test_a_request_to_every_broker_times_out_if_one_is_lost_until_the_deadline(kind: str) -> None:
    with FakeBroker() as broker, driver(kind, broker.address) as admin:
        admin.describe_configs([ORDERS])
        broker.handlers["Metadata"] = lambda asked, version: CLOSE
        lost = r"ListGroups did not succeed in .*; last error: .* was lost before"
        with pytest.raises(RequestTimedOut, match=rf"{lost}|did not respond to Metadata in time"):  # the last attempt
            admin.list_groups(timeout=0.5)
