"""Beyond max.connections connections wait, beyond max.connections.per.ip they are closed; limits change at any time."""

from __future__ import annotations

import resource
import select
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from kconf import AlterConfigOp, OpType, Resource, SyncAdminClient
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import request
from tests.support.process import HOST, KconfProcess

API_VERSIONS = BY_NAME["ApiVersions"]


def come(server: KconfProcess, stack: ExitStack, listener: str, *, source: str = HOST) -> socket.socket:
    """Open a connection and send ApiVersions; it stays open."""
    port = int(server.address(listener).rpartition(":")[2])
    line = stack.enter_context(socket.create_connection((HOST, port), 20, source_address=(source, 0)))
    with suppress(ConnectionError):
        line.sendall(request(API_VERSIONS, 0, 1, None, API_VERSIONS.request()))
    return line


def is_answered(line: socket.socket) -> bool:
    """Wait for the response; False if the connection was closed."""
    try:
        return len(line.recv(4, socket.MSG_WAITALL)) == 4
    except ConnectionError:
        return False


def opens(server: KconfProcess, stack: ExitStack, listener: str, *, source: str = HOST) -> bool:
    return is_answered(come(server, stack, listener, source=source))


def waits(server: KconfProcess, *lines: socket.socket) -> bool:
    """Whether each acceptor has seen these connections and lets them wait."""
    until(lambda: f"kconf_listeners_paused {len(lines)}.0" in told(server))
    return not select.select(lines, [], [], 0)[0]


def told(server: KconfProcess) -> str:
    assert server.metrics_url is not None
    return str(urllib.request.urlopen(server.metrics_url).read().decode())


def is_empty(server: KconfProcess) -> bool:
    return "kconf_open_connections 0.0" in told(server)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


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
    until(lambda: is_empty(server))


@pytest.mark.parametrize(("source", "most"), [("127.0.0.1", 10), ("127.0.0.2", 3), ("127.0.0.9", 0)])
def test_the_connections_of_one_address_are_limited(server: KconfProcess, source: str, most: int) -> None:
    with ExitStack() as stack:
        opened = [opens(server, stack, "PLAINTEXT", source=source) for _ in range(most + 2)]
    assert opened == [True] * most + [False] * 2


def test_the_connections_of_a_listener_are_limited_and_the_next_waits_until_one_is_closed(server: KconfProcess) -> None:
    with ExitStack() as stack:
        first, second = (come(server, stack, "SMALL") for _ in range(2))
        assert is_answered(first)
        assert is_answered(second)
        third = come(server, stack, "SMALL")
        assert waits(server, third)
        assert opens(server, stack, "PLAINTEXT"), "another listener has room"
        first.close()
        assert is_answered(third)


def test_all_connections_are_limited_and_the_next_waits_until_one_is_closed(server: KconfProcess) -> None:
    with ExitStack() as stack:
        lines = [come(server, stack, "PLAINTEXT", source=f"127.0.1.{number}") for number in range(1, 13)]
        assert all(map(is_answered, lines))
        waiting = [come(server, stack, each, source="127.0.1.13") for each in ("PLAINTEXT", "SMALL")]
        assert waits(server, *waiting)
        lines[0].close()
        lines[1].close()
        assert all(map(is_answered, waiting))


def test_every_waiting_client_is_eventually_accepted(server: KconfProcess) -> None:
    """Eight clients compete for two connections repeatedly, and each gets one."""

    def visit(times: int) -> int:
        answered = 0
        for _ in range(times):
            with ExitStack() as stack:
                answered += opens(server, stack, "SMALL")
        return answered

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(visit, [50] * 8)) == [50] * 8


def test_waiting_connections_are_accepted_when_the_limit_is_raised(server: KconfProcess) -> None:
    key = "listener.name.small.max.connections"
    with SyncAdminClient(server.address("PLAINTEXT")) as admin, ExitStack() as stack:
        admin.describe_cluster()
        assert opens(server, stack, "SMALL")
        assert opens(server, stack, "SMALL")
        third = come(server, stack, "SMALL")
        assert waits(server, third)
        admin.incremental_alter_configs(
            {Resource.broker(1): [AlterConfigOp(OpType.SET, key, "3")]}
        ).raise_for_failures()
        assert is_answered(third)
        admin.incremental_alter_configs({Resource.broker(1): [AlterConfigOp(OpType.DELETE, key)]}).raise_for_failures()


def test_a_closed_connection_makes_room_for_another(server: KconfProcess) -> None:
    for _ in range(10):
        with ExitStack() as stack:
            lines = [come(server, stack, "PLAINTEXT", source="127.0.0.2") for _ in range(3)]
            assert all(map(is_answered, lines))
        until(lambda: is_empty(server))


def test_a_limit_can_be_changed_while_the_server_runs(server: KconfProcess) -> None:
    with SyncAdminClient(server.address("PLAINTEXT")) as admin, ExitStack() as stack:
        change = {Resource.broker(1): [AlterConfigOp(OpType.SET, "max.connections.per.ip", "1")]}
        admin.incremental_alter_configs(change).raise_for_failures()
        assert [opens(server, stack, "PLAINTEXT", source="127.0.0.3") for _ in range(2)] == [True, False]
        change = {Resource.broker(1): [AlterConfigOp(OpType.DELETE, "max.connections.per.ip")]}
        admin.incremental_alter_configs(change).raise_for_failures()
        assert opens(server, stack, "PLAINTEXT", source="127.0.0.3")


def test_a_server_at_its_open_file_limit_lets_connections_wait() -> None:
    """It serves existing connections, and accepts the others when files are available again."""
    properties = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SMALL:PLAINTEXT"}
    with KconfProcess(properties=properties, listeners=("PLAINTEXT", "SMALL")) as server, ExitStack() as stack:
        assert opens(server, stack, "PLAINTEXT")
        files = max(int(each.name) for each in Path(f"/proc/{server.pid}/fd").iterdir())
        _, most = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (files + 4, most))
        lines = [come(server, stack, "PLAINTEXT") for _ in range(10)]
        until(lambda: "Too many open files" in server.log())
        until(lambda: bool(select.select(lines, [], [], 0)[0]))
        answered = [line for line in lines if select.select([line], [], [], 0)[0]]
        waiting = [line for line in lines if line not in answered]
        assert waiting
        assert all(map(is_answered, answered))
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (most, most))
        assert all(map(is_answered, waiting))
        assert "Traceback" not in server.log()
