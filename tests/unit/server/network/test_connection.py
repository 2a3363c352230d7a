"""A connection on an in-memory transport, with a scripted handler."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.protocol.headers import HEAD, LENGTH
from kconf.server.auth.authenticator import Authenticator
from kconf.server.connection_context import ConnectionContext
from kconf.server.counters import Counters
from kconf.server.listener_config import EndPoint, SecurityProtocol, SocketAddress
from kconf.server.network.connection import Connection
from kconf.server.network.connection_registry import ConnectionRegistry
from kconf.server.quotas.manager import QuotaManager
from kconf.server.request_handler import Response
from kconf.service import Service
from kconf.store.memory import MemoryStore

PLAIN = EndPoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, SocketAddress("127.0.0.1", 9092))
METADATA = 3


class MemoryTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = False
        self.reading = True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 9092) if name == "sockname" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def write(self, data: Any) -> None:
        self.sent += data

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True

    abort = close


class Handler:
    """Responds with the correlation ID, or with its entry in `pending`."""

    max_request_bytes = 1000

    def __init__(self) -> None:
        self.handled: list[int] = []
        self.pending: dict[int, Awaitable[Response]] = {}
        self.throttle: dict[int, int] = {}
        self.now = 0.0
        self.takes = 0.0

    def handle(
        self, connection: ConnectionContext, data: bytes, start: int, stop: int
    ) -> Response | Awaitable[Response]:
        _, _, number = HEAD.unpack_from(data, start)
        self.handled.append(number)
        self.now += self.takes
        connection.mute_ms = self.throttle.get(number, 0)
        return self.pending.get(number) or answer(number)

    def is_served(self, api_key: int, version: int) -> bool:
        return api_key == METADATA


def frame(number: int, *, key: int = METADATA, body: bytes = b"") -> bytes:
    return LENGTH.pack(HEAD.size + len(body)) + HEAD.pack(key, 0, number) + body


def answer(number: int) -> Response:
    return 1, (b"%d," % number,)


class World:
    def __init__(self) -> None:
        service = Service(MemoryStore(), node_id=1, catalog=kafka_43(), static={})
        self.handler = Handler()
        self.counters = Counters()
        registry = ConnectionRegistry(service, QuotaManager(self.now), self.counters, self.now)
        authenticator = Authenticator(PLAIN, service, None, self.now)
        self.connection = Connection(PLAIN, "127.0.0.1", authenticator, self.handler, registry)
        self.transport = MemoryTransport()
        self.connection.connection_made(self.transport)

    def now(self) -> float:
        return self.handler.now

    def send(self, data: bytes) -> None:
        self.connection.data_received(data)

    @property
    def sent(self) -> bytes:
        return self.transport.sent


def with_connection(scene: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        await scene(World())

    asyncio.run(run())


def test_frames_are_answered_in_order_for_any_split_of_the_stream() -> None:
    async def scene(world: World) -> None:
        data = b"".join(frame(number, body=bytes(20)) for number in range(5))
        for at in range(0, len(data), 7):
            world.send(data[at : at + 7])
        assert world.sent == b"0,1,2,3,4,"

    with_connection(scene)


def test_requests_after_a_waiting_one_wait_for_it() -> None:
    async def scene(world: World) -> None:
        promise: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        world.handler.pending[1] = promise
        world.send(frame(0) + frame(1) + frame(2))
        assert world.sent == b"0,"
        assert world.handler.handled == [0, 1]
        promise.set_result((4, (b"one", b",")))
        await asyncio.sleep(0)
        assert world.sent == b"0,one,2,"

    with_connection(scene)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(LENGTH.pack(7), id="too small"),
        pytest.param(LENGTH.pack(1001), id="too large"),
        pytest.param(LENGTH.pack(-1), id="negative"),
        pytest.param(frame(0, key=99, body=bytes(500))[:8], id="an API that is not served, before its body arrives"),
    ],
)
def test_an_invalid_frame_closes_the_connection_after_earlier_requests_are_answered(data: bytes) -> None:
    async def scene(world: World) -> None:
        world.send(frame(0) + data)
        assert world.sent == b"0,"
        assert world.transport.closed
        assert world.counters.invalid_requests == 1
        assert world.handler.handled == [0]

    with_connection(scene)


def test_a_throttled_connection_is_answered_and_then_not_read_for_the_throttle_time() -> None:
    async def scene(world: World) -> None:
        world.handler.throttle[0] = 20
        world.send(frame(0) + frame(1))
        assert world.sent == b"0,"
        assert world.handler.handled == [0]
        while len(world.handler.handled) < 2:
            await asyncio.sleep(0.005)
        assert world.sent == b"0,1,"

    with_connection(scene)


@pytest.mark.parametrize(("takes", "at_once"), [(0.0, 1000), (0.0001, 128)])
def test_many_slow_requests_are_handled_in_parts(takes: float, at_once: int) -> None:
    async def scene(world: World) -> None:
        world.handler.takes = takes
        world.send(b"".join(frame(number) for number in range(1000)))
        assert len(world.handler.handled) == at_once
        while len(world.handler.handled) < 1000:
            await asyncio.sleep(0)
        assert world.sent == b"".join(b"%d," % number for number in range(1000))

    with_connection(scene)


def test_a_long_poll_ends_when_the_client_sends_more() -> None:
    async def scene(world: World) -> None:
        promise: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        world.handler.pending[0] = promise
        world.send(frame(0))
        woken: list[bool] = []
        world.connection.context.long_poll.wake = lambda: woken.append(True)
        assert not world.connection.context.long_poll.is_over
        world.send(frame(1))
        assert woken == [True]
        promise.set_result(answer(0))
        await asyncio.sleep(0)
        assert world.sent == b"0,1,"

    with_connection(scene)
