"""The server process: opens the store, listens, and stops without losing an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from logging import getLogger

from kconf.errors import ConfigurationError, ProtocolError, RemoteProtocolError
from kconf.keys.catalogue import kafka_43
from kconf.server.answers import Answers
from kconf.server.connection import Connection
from kconf.server.context import Context
from kconf.server.dispatch import Peer, answer
from kconf.server.loggers import Loggers
from kconf.server.settings import check_static
from kconf.server.statistics import Statistics
from kconf.service import Service
from kconf.store.base import open_store

log = getLogger(__name__)

_GRACE = 10.0  # seconds that open requests get at shutdown
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
        self.settings = settings
        self.statistics = Statistics()
        self._connections: set[Connection] = set()
        self._stopping = False

    async def __aenter__(self) -> Server:
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        store = open_store(self.settings.store)
        try:
            catalogue = kafka_43()
            service = Service(store, node_id=self.settings.node_id, catalogue=catalogue, static=self.settings.static)
            await service.start()
            ladder = service.state.ladder
            self.largest_frame = ladder.number("socket.request.max.bytes")
            self._idle = ladder.number("connections.max.idle.ms") / 1000
            answers = Answers()
            service.subscribe(answers.follow)
            self.context = Context(
                service, self.settings.node_id, store.cluster_id, ladder.value("broker.rack"), answers, Loggers()
            )
            self._listener = await self._listen()
        except BaseException:
            store.close()
            raise
        self.port = self._listener.sockets[0].getsockname()[1]
        self._sweeper = asyncio.create_task(self._sweep(), name="idle connections")
        return self

    async def _listen(self) -> asyncio.Server:
        host, port = self.settings.host, self.settings.port
        try:
            return await self._loop.create_server(lambda: Connection(self), host, port, backlog=_BACKLOG)
        except OSError as error:
            raise ConfigurationError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None

    async def __aexit__(self, *_: object) -> None:
        """Take no more, answer what has been read, close the store."""
        self._stopping = True
        self._sweeper.cancel()
        self._listener.close()
        for connection in tuple(self._connections):
            connection.stop()
        deadline = self.now() + _GRACE
        while self._connections and self.now() < deadline:
            await asyncio.sleep(0.005)
        for connection in tuple(self._connections):
            connection.abort()
        await self.context.service.stop()

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

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    def answer(self, peer: Peer, frame: bytes) -> bytes | Awaitable[bytes]:
        """The answer to a frame; whatever goes wrong inside closes this line only."""
        try:
            made = answer(self.context, peer, frame)
        except ProtocolError:
            raise
        except Exception:
            log.exception("a request could not be answered")
            self.statistics.failures += 1
            raise RemoteProtocolError("the request could not be answered") from None
        self.statistics.count(frame)
        return made

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
                if connection.last_seen < oldest and not connection.busy:
                    self.statistics.idle += 1
                    connection.abort()
