"""A gateway opens and closes the ports of brokers as they join and leave."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.errors import ConfigurationError
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.server.auth.authenticator import Authenticator
from kconf.server.counters import Counters
from kconf.server.listener_config import EndPoint, SecurityProtocol, SocketAddress
from kconf.server.network.broker_listeners import BrokerListeners
from kconf.server.network.connection_registry import ConnectionRegistry
from kconf.server.network.listener import Listener, bind
from kconf.server.quotas.manager import QuotaManager
from kconf.server.upstream.addresses import BrokerAddresses
from kconf.service import Service
from kconf.store.memory import MemoryStore
from tests.unit.server.network.test_connection import Handler

HOST = "127.0.0.1"


class World:
    def __init__(self, static: Mapping[str, str]) -> None:
        self.addresses = BrokerAddresses()
        self.brokers: set[int] = set()
        self.listeners = BrokerListeners(static, self.members, self.addresses)

    def members(self) -> ClusterMembers:
        return ClusterMembers({}, {each: ClusterMember(each, {}, None, (HOST, 1)) for each in self.brokers})

    async def open(self, *brokers: int, port: int = 0) -> int:
        """Returns the port of the listener itself."""
        endpoint = EndPoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, SocketAddress(HOST, port))
        sockets = await bind(endpoint)
        service = Service(MemoryStore(), node_id=1, catalog=kafka_43(), static={})
        registry = ConnectionRegistry(service, QuotaManager(lambda: 0.0), Counters(), lambda: 0.0)
        authenticator = Authenticator(endpoint, service, None, lambda: 0.0)
        self.listener = Listener(endpoint, sockets, authenticator, Handler(), registry)
        self.listener.accept()
        self.brokers = set(brokers)
        await self.listeners.open([self.listener])
        return self.listener.port

    async def become(self, *brokers: int) -> None:
        self.brokers = set(brokers)
        await self.listeners.update()

    def port(self, broker: int) -> int:
        return self.addresses.port("PLAINTEXT", broker, -1)

    def close(self) -> None:
        self.listeners.close()
        if hasattr(self, "listener"):
            self.listener.stop_accepting()


def play(scene: Callable[[World], Coroutine[Any, Any, None]], static: Mapping[str, str] | None = None) -> None:
    async def run() -> None:
        world = World(static or {})
        try:
            await scene(world)
        finally:
            world.close()

    asyncio.run(run())


def accepts(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


def free_range(size: int) -> int:
    """The first of this many consecutive free ports."""
    for first in range(20000, 60000, size):
        with ExitStack() as taken:
            try:
                for port in range(first, first + size):
                    taken.enter_context(socket.create_server((HOST, port)))
            except OSError:
                continue
            return first
    raise AssertionError("no ports are free")


def test_a_single_broker_has_the_address_of_the_listener() -> None:
    async def scene(world: World) -> None:
        port = await world.open(1)
        assert world.port(1) == port

    play(scene)


def test_brokers_that_join_get_ports_and_those_that_leave_lose_them() -> None:
    async def scene(world: World) -> None:
        own = await world.open(1)
        await world.become(1, 2)
        first, second = world.port(1), world.port(2)
        assert len({own, first, second}) == 3
        assert accepts(first)
        assert accepts(second)
        await world.become(1)
        assert world.port(1) == first
        assert world.port(2) == own
        assert not accepts(second)
        await world.become(1, 2, 3)
        assert world.port(2) == second
        assert accepts(second)

    play(scene)


def test_the_port_of_a_broker_is_the_first_port_plus_the_broker_id() -> None:
    first = free_range(6)

    async def scene(world: World) -> None:
        await world.open(2, 5)
        assert (world.port(2), world.port(5)) == (first + 2, first + 5)

    play(scene, {"gateway.broker.ports": f"{first}-{first + 5}"})


def test_by_default_the_first_port_is_the_one_after_the_listener() -> None:
    first = free_range(5)

    async def scene(world: World) -> None:
        await world.open(0, 3, port=first)
        assert (world.port(0), world.port(3)) == (first + 1, first + 4)

    play(scene)


def test_broker_ports_can_be_set_for_one_listener() -> None:
    first = free_range(3)

    async def scene(world: World) -> None:
        await world.open(1)
        assert world.port(1) == first + 1

    play(scene, {"gateway.broker.ports": "none", "listener.name.plaintext.gateway.broker.ports": str(first)})


def test_all_brokers_can_share_one_address() -> None:
    async def scene(world: World) -> None:
        port = await world.open(1, 2)
        assert (world.port(1), world.port(2)) == (port, port)

    play(scene, {"gateway.broker.ports": "none"})


def test_a_port_in_use_prevents_the_start_with_advice() -> None:
    first = free_range(4)

    async def scene(world: World) -> None:
        with (
            socket.create_server((HOST, first + 2)),
            pytest.raises(
                ConfigurationError,
                match=rf"broker 2 of listener PLAINTEXT: .*:{first + 2}: [\w ]+; set gateway\.broker",
            ),
        ):
            await world.open(1, 2)

    play(scene, {"gateway.broker.ports": str(first)})


def test_a_broker_beyond_the_range_prevents_the_start() -> None:
    async def scene(world: World) -> None:
        with pytest.raises(ConfigurationError, match=r"broker 1001 .* port 10201, which is beyond 9300"):
            await world.open(1001)

    play(scene, {"gateway.broker.ports": "9200-9300"})


def test_a_broker_that_joins_has_the_address_of_the_listener_while_its_port_is_in_use() -> None:
    first = free_range(4)

    async def scene(world: World) -> None:
        own = await world.open(1)
        with socket.create_server((HOST, first + 2)):
            await world.become(1, 2)
            assert world.port(2) == own
        await world.become(1, 2)
        assert world.port(2) == first + 2

    play(scene, {"gateway.broker.ports": str(first)})
