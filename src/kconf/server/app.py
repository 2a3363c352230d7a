"""The server process: opens the store, listens, and stops without losing an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from logging import getLogger

from kconf.keys.catalogue import kafka_43
from kconf.server import throttling
from kconf.server.connection import Connection
from kconf.server.context import Context
from kconf.server.dispatch import Made, Peer, answer
from kconf.server.policies import load_policies
from kconf.server.retention import Retention, keep
from kconf.server.settings import check_static, naming
from kconf.server.statistics import Statistics
from kconf.service import Service
from kconf.store.base import open_store

log = getLogger(__name__)

_GRACE = 10.0  # seconds that open requests get at shutdown
_LINGER = 1.0  # seconds that peers get to take their last answers
_BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kconf serve` was told."""

    store: str
    host: str = "127.0.0.1"
    port: int = 9092
    node_id: int = 1
    static: Mapping[str, str] = field(default_factory=dict)


class Server:
    """Owns the listener, the connections and the service. `async with` it."""

    context: Context
    port: int

    def __init__(self, settings: Settings) -> None:
        check_static(settings.static)
        self._policies = load_policies(settings.static, kafka_43())
        self._retention = Retention.of(settings.static)
        self.settings = settings
        self.statistics = Statistics()
        self._connections: set[Connection] = set()
        self._stopping = False

    async def __aenter__(self) -> Server:
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        store = open_store(self.settings.store)
        service = Service(store, node_id=self.settings.node_id, catalogue=kafka_43(), static=self.settings.static)
        try:
            await service.start()
            ladder = service.state.ladder
            self.largest_frame = ladder.number("socket.request.max.bytes")
            self._idle = ladder.number("connections.max.idle.ms") / 1000
            self.context = Context.over(service, self.now, self._policies)
            host, port = self.settings.host, self.settings.port
            with naming(host, port):
                self._listener = await self._loop.create_server(lambda: Connection(self), host, port, backlog=_BACKLOG)
        except BaseException:
            await service.stop()
            raise
        self.port = self._listener.sockets[0].getsockname()[1]
        self._sweeper = asyncio.create_task(self._sweep(), name="idle connections")
        self._keeper = asyncio.create_task(keep(self._retention, service)) if self._retention else None
        return self

    async def __aexit__(self, *_: object) -> None:
        """Take no more, answer what has been read, close the store."""
        self._stopping = True
        self._sweeper.cancel()
        if self._keeper is not None:
            self._keeper.cancel()
        self._listener.close()
        self.context.feed.rest()
        for connection in tuple(self._connections):
            connection.stop()
        await self._until(lambda: all(each.closing or each.is_stuck for each in self._connections), _GRACE)
        await self._until(lambda: not self._connections, _LINGER)
        for connection in tuple(self._connections):
            connection.abort()
        await self.context.feed.close()
        await self.context.attempts.close()
        await self.context.service.stop()
        await self._policies.close()

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        deadline = self.now() + seconds
        while not condition() and self.now() < deadline:
            await asyncio.sleep(0.005)

    def advertised(self, transport: asyncio.BaseTransport) -> tuple[str, int]:
        """The address that a client is told: the one by which it reached us."""
        host, port = transport.get_extra_info("sockname")[:2]
        return host, port

    def opened(self, connection: Connection) -> None:
        if self._stopping:
            connection.abort()
            return
        self._connections.add(connection)
        self.statistics.connections += 1
        delay_ms = self.context.quotas.connected(connection.peer.host)
        if delay_ms:
            connection.turn_away(delay_ms)

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    def answer(self, peer: Peer, frame: bytes) -> Made:
        if self.context.quotas.limiting:
            return throttling.answer(self.context, self.statistics, peer, frame)
        return answer(self.context, self.statistics, peer, frame)

    def refused(self, peer: Peer, why: str) -> None:
        self.statistics.refused += 1
        log.info("connection closed peer=%s reason=%r", peer.host, why)

    async def _sweep(self) -> None:
        """Close what has been silent for connections.max.idle.ms."""
        if self._idle < 0:
            return
        while True:
            await asyncio.sleep(min(max(self._idle / 4, 0.05), 30))
            oldest = self.now() - self._idle
            for connection in tuple(self._connections):
                if connection.last_seen >= oldest or connection.busy:
                    continue
                if connection.closing:
                    connection.abort()
                else:
                    self.statistics.idle += 1
                    connection.finish()
