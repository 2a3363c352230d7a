"""The order of clients' requests on the connections of a gateway to a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from kconf.client.transport.raw_connection import RawConnection
from kconf.errors import ConnectionFailed, UpstreamUnavailable
from kconf.server.upstream.pool import BrokerPool, PoolLimits, RawRequest

LIMITS = PoolLimits(connections=3, share=2, waiting=4, waiting_bytes=40, request=600.0, connect=600.0)


class Broker:
    """Responds to frames when the test says so, in any order."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.answers: dict[bytes, asyncio.Future[bytes]] = {}
        self.connections: list[RawConnection] = []
        self.refused = 0
        self.is_unreachable = False

    async def connect(self) -> RawConnection:
        if self.is_unreachable:
            self.refused += 1
            raise ConnectionFailed("refused")
        self.connections.append(cast(RawConnection, Connection(self)))
        return self.connections[-1]

    @property
    def opened(self) -> int:
        return len(self.connections)

    def answer(self, frame: bytes) -> None:
        self.answers[frame].set_result(b"answer " + frame)


class Connection:
    def __init__(self, broker: Broker) -> None:
        self.broker, self.is_usable = broker, True

    async def exchange(self, frame: bytes) -> bytes:
        self.broker.asked.append(frame)
        self.broker.answers[frame] = asyncio.get_running_loop().create_future()
        return await self.broker.answers[frame]

    def abort(self) -> None:
        self.is_usable = False


class World:
    def __init__(self, limits: PoolLimits) -> None:
        self.broker = Broker()
        self.pool = BrokerPool("broker 1", self.broker.connect, limits)

    async def send(self, *requests: str) -> list[asyncio.Task[bytes]]:
        """Send requests such as `a1` of client `a`; returns when all of them were sent or are queued."""
        tasks = [asyncio.create_task(self.pool.send(RawRequest(each[0], each.encode()))) for each in requests]
        await self.settle()
        return tasks

    async def answer(self, *requests: str) -> None:
        for each in requests:
            self.broker.answer(each.encode())
            await self.settle()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    @property
    def asked(self) -> list[str]:
        return [each.decode() for each in self.broker.asked]


def play(scene: Callable[[World], Coroutine[Any, Any, None]], limits: PoolLimits = LIMITS) -> None:
    async def run() -> None:
        await scene(World(limits))

    asyncio.run(run())


def test_slow_requests_of_one_client_leave_room_for_another() -> None:
    async def scene(world: World) -> None:
        await world.send("a1", "a2", "a3", "a4")
        (quick,) = await world.send("b1")
        assert world.asked == ["a1", "a2", "b1"]
        await world.answer("b1")
        assert await quick == b"answer b1"
        assert world.asked == ["a1", "a2", "b1"]  # client a has used its share

    play(scene)


def test_clients_take_turns() -> None:
    async def scene(world: World) -> None:
        await world.send("a1", "b1", "b2", "b3", "b4", "c1")
        assert world.asked == ["a1", "b1", "b2"]
        await world.answer("b1", "b2", "b3", "c1")
        assert world.asked == ["a1", "b1", "b2", "b3", "c1", "b4"]
        assert world.broker.opened == 3

    play(scene)


def test_waiting_requests_of_a_client_are_limited_in_number_and_bytes() -> None:
    async def scene(world: World) -> None:
        await world.send("a1", "a2", "a3", "a4", "a5", "a6")
        with pytest.raises(UpstreamUnavailable, match="too many requests are waiting for broker 1"):
            await world.pool.send(RawRequest("a", b"a7"))
        assert len(await world.send("b1")) == 1
        assert world.asked == ["a1", "a2", "b1"]

    async def large(world: World) -> None:
        await world.send("a1", "a2", "a" + "3" * 30)
        with pytest.raises(UpstreamUnavailable, match="too many requests"):
            await world.pool.send(RawRequest("a", b"4" * 20))

    play(scene)
    play(large)


def test_a_client_that_leaves_while_it_waits_frees_its_place() -> None:
    async def scene(world: World) -> None:
        _, _, gone, *_ = await world.send("a1", "a2", "a3", "a4")
        gone.cancel()
        await world.settle()
        await world.answer("a1")
        assert world.asked == ["a1", "a2", "a4"]

    play(scene)


def test_a_waiting_request_can_be_cancelled_by_its_connection() -> None:
    async def scene(world: World) -> None:
        await world.send("a1", "a2")
        turns: list[asyncio.Future[None] | None] = []
        waiting = asyncio.create_task(world.pool.send(RawRequest("a", b"a3", turns.append)))
        await world.settle()
        (turn,) = turns
        assert turn is not None
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert turns == [turn, None]
        await world.answer("a1")
        assert world.asked == ["a1", "a2"]

    play(scene)


def test_requests_to_an_unreachable_broker_fail_without_an_attempt_for_each() -> None:
    async def scene(world: World) -> None:
        world.broker.is_unreachable = True
        failed = await world.send("a1", "a2", "b1", "c1")
        for each in failed:
            with pytest.raises(UpstreamUnavailable):
                await each
        assert world.pool.is_unreachable
        with pytest.raises(UpstreamUnavailable, match="the last attempt to connect failed"):
            await world.pool.send(RawRequest("d", b"d1"))
        assert world.broker.refused <= LIMITS.connections
        assert world.asked == []

    play(scene)


def test_the_connection_of_a_request_without_a_response_is_not_used_again() -> None:
    async def scene(world: World) -> None:
        with pytest.raises(UpstreamUnavailable, match="did not respond in time"):
            await world.pool.send(RawRequest("a", b"a1"))
        assert world.asked == ["a1"]
        world.broker.answers.clear()
        await world.send("a2")
        assert world.broker.opened == 2

    play(scene, LIMITS._replace(request=0.01))


def test_a_throttled_connection_is_paused_and_another_one_is_opened() -> None:
    async def scene(world: World) -> None:
        request = RawRequest("a", b"a1", throttle_of=lambda _: 3_600_000)
        first = asyncio.create_task(world.pool.send(request))
        await world.settle()
        await world.answer("a1")
        assert await first == b"answer a1"
        await world.send("a2")
        await world.answer("a2")
        await world.send("a3")
        assert world.broker.opened == 2

    play(scene)


HOUR = 3_600_000  # milliseconds


async def throttle(world: World, *requests: str) -> list[asyncio.Task[bytes]]:
    """Send requests one after the other, each of which is answered and throttled if it gets its turn."""
    tasks = []
    for each in requests:
        request = RawRequest(each[0], each.encode(), throttle_of=lambda _: HOUR)
        tasks.append(asyncio.create_task(world.pool.send(request)))
        await world.settle()
        if each in world.asked:
            await world.answer(each)
    return tasks


def test_the_number_of_throttled_connections_is_limited() -> None:
    """At most twice the limits: 6 connections, and 4 of one client."""

    async def scene(world: World) -> None:
        names = [f"{client}{number}" for number in range(20) for client in "abcde"]
        tasks = await throttle(world, *names)
        assert world.broker.opened == 6
        assert world.asked == names[:6]
        for each in tasks[6:]:
            each.cancel()
        await world.settle()
        assert world.pool._waiting == world.pool._waiting_bytes == 0

    async def of_one_client(world: World) -> None:
        tasks = await throttle(world, *(f"a{number}" for number in range(100)))
        assert world.broker.opened == 4
        (other,) = await world.send("b1")
        await world.answer("b1")
        assert await other == b"answer b1"
        for each in tasks[4:]:
            each.cancel()

    limits = LIMITS._replace(waiting=100, waiting_bytes=1000)
    play(scene, limits)
    play(of_one_client, limits)


def test_clients_take_turns_on_connections_whose_throttle_time_has_ended() -> None:
    async def scene(world: World) -> None:
        await throttle(world, "a1", "a2", "b1", "b2", "c1", "c2")
        waiting = await world.send("a3", "a4", "b3")
        assert world.asked[6:] == []
        for client, connection in zip("aab", world.broker.connections, strict=False):
            world.pool._end_rest(client, connection)
        await world.settle()
        assert world.asked[6:] == ["a3", "b3", "a4"]
        await world.answer("a3", "b3", "a4")
        await asyncio.gather(*waiting)
        assert world.broker.opened == 6

    play(scene)


def test_requests_that_wait_for_throttled_connections_fail_if_the_broker_leaves() -> None:
    async def scene(world: World) -> None:
        await throttle(world, "a1", "a2", "a3", "a4")
        (waiting,) = await world.send("a5")
        world.pool.close()
        with pytest.raises(UpstreamUnavailable, match="no longer a member"):
            await waiting
        assert world.pool._waiting == 0

    play(scene)


def test_a_pool_of_a_broker_that_left_takes_no_requests() -> None:
    async def scene(world: World) -> None:
        world.pool.close()
        with pytest.raises(UpstreamUnavailable, match="no longer a member"):
            await world.pool.send(RawRequest("a", b"a1"))

    play(scene)


def test_an_unexpected_error_of_a_connection_is_a_broker_that_is_unreachable(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(world: World) -> None:
        async def fail() -> RawConnection:
            raise ValueError("unexpected")

        world.pool._connect = fail
        with pytest.raises(UpstreamUnavailable, match="cannot connect to broker 1: ValueError"):
            await world.pool.send(RawRequest("a", b"a1"))
        assert world.pool.is_unreachable
        assert [each.exc_info[0] for each in caplog.records if each.exc_info] == [ValueError]

    play(scene)


def test_a_broker_that_hangs_is_unreachable_until_it_responds() -> None:
    """Also if callers wait for a shorter time than for a connection."""

    async def scene(world: World) -> None:
        (slow,) = await world.send("a1")
        with pytest.raises(UpstreamUnavailable, match="did not respond in time"):
            await world.pool.send(RawRequest("b", b"b1", timeout=0.01))
        assert world.pool.is_unreachable
        await world.answer("a1")
        assert await slow == b"answer a1"
        assert not world.pool.is_unreachable

    play(scene)


def test_one_slow_request_does_not_make_a_broker_unreachable() -> None:
    async def scene(world: World) -> None:
        late = asyncio.create_task(world.pool.send(RawRequest("a", b"a1", timeout=0.05)))
        await world.settle()
        (quick,) = await world.send("b1")
        await world.answer("b1")
        await quick
        with pytest.raises(UpstreamUnavailable, match="did not respond in time"):
            await late
        assert not world.pool.is_unreachable

    play(scene)


def test_the_time_limit_of_a_request_includes_its_wait_for_a_turn() -> None:
    async def scene(world: World) -> None:
        await world.send("a1", "a2")
        with pytest.raises(UpstreamUnavailable, match="earlier requests to broker 1 took too long"):
            await world.pool.send(RawRequest("a", b"a3", timeout=0.01))
        assert world.asked == ["a1", "a2"]
        assert not world.pool.is_unreachable
        await world.answer("a1", "a2")
        assert not world.pool.is_busy

    play(scene)
