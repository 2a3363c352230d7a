"""Connections beyond a limit are closed at once; the limits change while the server runs."""

from __future__ import annotations

import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kconf import Alteration, Op, Resource, SyncAdminClient
from tests.support.process import HOST, KconfProcess
from tests.support.wire import Wire


def opens(server: KconfProcess, stack: ExitStack, listener: str, *, source: str = HOST) -> bool:
    """Whether one more connection is answered; it stays open."""
    port = int(server.address(listener).rpartition(":")[2])
    line = Wire.__new__(Wire)
    line._socket = stack.enter_context(socket.create_connection((HOST, port), 5, source_address=(source, 0)))
    line._client_id, line._correlation = None, 0
    try:
        return line.ask("ApiVersions", 0).error_code == 0  # type: ignore[no-any-return]
    except (ConnectionError, OSError):
        return False


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    properties = {
        "max.connections": "12",
        "max.connections.per.ip": "3",
        "max.connections.per.ip.overrides": "127.0.0.1:10,127.0.0.9:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SMALL:PLAINTEXT",
        "listener.name.small.max.connections": "2",
    }
    with KconfProcess(properties=properties, listeners=("PLAINTEXT", "SMALL"), args=["--metrics", f"{HOST}:0"]) as made:
        yield made


@pytest.fixture(autouse=True)
def nobody_left(server: KconfProcess) -> Iterator[None]:
    yield
    assert server.metrics_url is not None
    deadline = time.monotonic() + 10
    while "kconf_open_connections 0.0" not in urllib.request.urlopen(server.metrics_url).read().decode():
        assert time.monotonic() < deadline, "connections are left"
        time.sleep(0.02)


@pytest.mark.parametrize(("source", "most"), [("127.0.0.1", 10), ("127.0.0.2", 3), ("127.0.0.9", 0)])
def test_one_address_may_have_so_many(server: KconfProcess, source: str, most: int) -> None:
    with ExitStack() as stack:
        opened = [opens(server, stack, "PLAINTEXT", source=source) for _ in range(most + 2)]
    assert opened == [True] * most + [False] * 2


def test_a_listener_may_have_so_many(server: KconfProcess) -> None:
    with ExitStack() as stack:
        assert [opens(server, stack, "SMALL") for _ in range(3)] == [True, True, False]
        assert opens(server, stack, "PLAINTEXT")


def test_all_together_may_be_so_many(server: KconfProcess) -> None:
    with ExitStack() as stack:
        assert all(opens(server, stack, "PLAINTEXT", source=f"127.0.1.{number}") for number in range(1, 13))
        assert not opens(server, stack, "PLAINTEXT", source="127.0.1.13")


def test_who_goes_makes_room(server: KconfProcess) -> None:
    for _ in range(10):
        with ExitStack() as stack:
            assert opens(server, stack, "PLAINTEXT", source="127.0.0.2")
            assert opens(server, stack, "PLAINTEXT", source="127.0.0.2")
        time.sleep(0.05)


def test_a_limit_changes_while_the_server_runs(server: KconfProcess) -> None:
    with SyncAdminClient(server.address("PLAINTEXT")) as admin, ExitStack() as stack:
        change = {Resource.broker(1): [Alteration(Op.SET, "max.connections.per.ip", "1")]}
        admin.incremental_alter_configs(change).raise_for_failures()
        assert [opens(server, stack, "PLAINTEXT", source="127.0.0.3") for _ in range(2)] == [True, False]
        change = {Resource.broker(1): [Alteration(Op.DELETE, "max.connections.per.ip")]}
        admin.incremental_alter_configs(change).raise_for_failures()
        assert opens(server, stack, "PLAINTEXT", source="127.0.0.3")
