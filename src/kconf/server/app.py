"""The server process: opens the store, listens, and stops without losing an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from logging import INFO, getLogger

from kconf.keys.catalogue import kafka_43
from kconf.server import throttling
from kconf.server.archiver import Archiver, Archiving
from kconf.server.connection import Connection
from kconf.server.context import Context
from kconf.server.dispatch import Made, Peer, answer
from kconf.server.doors import Door
from kconf.server.limits import Limits
from kconf.server.listeners import Address, Listener, SecurityProtocol
from kconf.server.policies import load_policies
from kconf.server.retention import Retention, keep
from kconf.server.settings import check_static
from kconf.server.sparingly import Sparingly
from kconf.server.statistics import Statistics
from kconf.service import Service
from kconf.store.base import open_store
from kconf.store.vault import Secrets

log = getLogger(__name__)

_GRACE = 10.0  # seconds that open requests get at shutdown
_LINGER = 1.0  # seconds that peers get to take their last answers


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kconf serve` was told."""

    store: str
    host: str = "127.0.0.1"
    port: int = 9092
    node_id: int = 1
    static: Mapping[str, str] = field(default_factory=dict)
    listeners: Sequence[Listener] = ()  # where there are none: a plain one on `host` and `port`

    @property
    def doors(self) -> Sequence[Listener]:
        plain = Listener("PLAINTEXT", SecurityProtocol.PLAINTEXT, Address(self.host, self.port))
        return self.listeners or (plain,)


class Server:
    """Owns the listener, the connections and the service. `async with` it."""

    context: Context
    port: int

    def __init__(self, settings: Settings) -> None:
        check_static(settings.static)
        self._policies = load_policies(settings.static, kafka_43())
        self._retention = Retention.of(settings.static)
        self._archiving = Archiving.of(settings.static)
        self.archiver: Archiver | None = None
        self.settings = settings
        self.statistics = Statistics()
        self._failed_logins = Sparingly(log)
        self._turned_away = Sparingly(log)
        self._refusals = Sparingly(log, INFO)
        self.doors: list[Door] = []
        self._connections: set[Connection] = set()
        self._stopping = False

    async def __aenter__(self) -> Server:
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        store = open_store(self.settings.store, Secrets.of(self.settings.static))
        service = Service(store, node_id=self.settings.node_id, catalogue=kafka_43(), static=self.settings.static)
        try:
            await service.start()
            ladder = service.state.ladder
            self.largest_frame = ladder.number("socket.request.max.bytes")
            self._idle = ladder.number("connections.max.idle.ms") / 1000
            self.context = Context.over(service, self.now, self._policies)
            self._limits = Limits(service)
            if self._archiving is not None:
                self.archiver = Archiver(self._archiving, service, self.context.attempts)
            for listener in self.settings.doors:
                door = Door(listener, service, self.context.authorizer)
                self.doors.append(door)
                await door.open(lambda door: Connection(self, door))
                self.context.certificates.add(door)
        except BaseException:
            self._shut()
            await service.stop()
            raise
        self.port = self.doors[0].port
        service.subscribe(self.context.certificates.follow)
        self._sweeper = asyncio.create_task(self._sweep(), name="idle connections")
        if self.archiver is not None:
            self.archiver.start()
        self._keeper = asyncio.create_task(keep(self._retention, service, self.archiver)) if self._retention else None
        return self

    async def __aexit__(self, *_: object) -> None:
        """Take no more, answer what has been read, close the store."""
        self._stopping = True
        self._sweeper.cancel()
        if self._keeper is not None:
            self._keeper.cancel()
        self._shut()
        self.context.feed.rest()
        for connection in tuple(self._connections):
            connection.stop()
        await self._until(lambda: all(each.closing or each.is_stuck for each in self._connections), _GRACE)
        await self._until(lambda: not self._connections, _LINGER)
        for connection in tuple(self._connections):
            connection.abort()
        await self.context.feed.close()
        await self.context.attempts.close()
        if self.archiver is not None:
            await self.archiver.close()
        await self.context.service.stop()
        await self._policies.close()

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        deadline = self.now() + seconds
        while not condition() and self.now() < deadline:
            await asyncio.sleep(0.005)

    def _shut(self) -> None:
        for door in self.doors:
            door.close()

    def flush_archive(self) -> None:
        """SIGUSR1: do not wait with the archive."""
        if self.archiver is not None and not self._stopping:
            self.archiver.flush_soon()

    def opened(self, connection: Connection) -> None:
        if self._stopping:
            connection.abort()
            return
        host, listener = connection.peer.host, connection.door.listener
        too_many = self._limits.refusal(host, listener)
        if too_many is not None:
            self.statistics.turned_away += 1
            self._turned_away.say("connection turned away peer=%s reason=%r", host, too_many)
            connection.abort()
            return
        self._connections.add(connection)
        self._limits.opened(host, listener)
        self.statistics.connections += 1
        delay_ms = self.context.quotas.connected(connection.peer.host)
        if delay_ms:
            connection.turn_away(delay_ms)

    def closed(self, connection: Connection) -> None:
        if connection in self._connections:
            self._connections.remove(connection)
            self._limits.closed(connection.peer.host, connection.door.listener)

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    def answer(self, peer: Peer, frame: bytes) -> Made:
        if self.context.quotas.limiting:
            return throttling.answer(self.context, self.statistics, peer, frame)
        return answer(self.context, self.statistics, peer, frame)

    def login_failed(self, peer: Peer, why: str) -> None:
        self.statistics.failed_logins += 1
        self._failed_logins.say("login failed peer=%s reason=%r", peer.host, why)

    def refused(self, peer: Peer, why: str) -> None:
        self.statistics.refused += 1
        self._refusals.say("connection closed peer=%s reason=%r", peer.host, why)

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
