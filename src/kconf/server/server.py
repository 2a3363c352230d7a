"""The server process: opens the store, listens, and stops without losing an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from logging import getLogger

from kconf.configdef.catalog import kafka_39, kafka_43
from kconf.model.membership import ClusterMember
from kconf.security.value_cipher import Secrets
from kconf.server.api import throttling
from kconf.server.api.router import ConnectionContext, PendingResponse, answer
from kconf.server.context import ServerContext
from kconf.server.counters import Counters
from kconf.server.journal.archiver import Archiver, Archiving
from kconf.server.journal.retention import Retention, keep, tidy
from kconf.server.network.connection_registry import ConnectionRegistry
from kconf.server.network.listener import Listener
from kconf.server.network.listener_config import EndPoint, SecurityProtocol, SocketAddress
from kconf.server.policy.manager import load_policies
from kconf.server.static_config import check_static
from kconf.service import Service
from kconf.store.registry import open_store

log = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What `kconf serve` was told."""

    store: str
    host: str = "127.0.0.1"
    port: int = 9092
    node_id: int = 1
    static: Mapping[str, str] = field(default_factory=dict, repr=False)
    listeners: Sequence[EndPoint] = ()  # where there are none: a plain one on `host` and `port`
    read_only: bool = False

    @property
    def doors(self) -> Sequence[EndPoint]:
        plain = EndPoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, SocketAddress(self.host, self.port))
        return self.listeners or (plain,)


class Server:
    """Owns the listener, the connections and the service. `async with` it."""

    context: ServerContext
    port: int

    def __init__(self, settings: ServerSettings) -> None:
        check_static(settings.static)
        self._policies = load_policies(settings.static, kafka_43())
        self._retention = Retention.of(settings.static, settings.store)
        self._archiving = Archiving.of(settings.static)
        self.archiver: Archiver | None = None
        self.settings = settings
        self.statistics = Counters()
        self.doors: list[Listener] = []
        self._stopping = False

    async def __aenter__(self) -> Server:
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        settings = self.settings
        store = open_store(settings.store, Secrets.of(settings.static), read_only=settings.read_only)
        service = Service(
            store,
            node_id=settings.node_id,
            catalog=kafka_43(),
            static=settings.static,
            beside=kafka_39,
            read_only=settings.read_only,
        )
        try:
            await service.start()
            self.largest_frame = service.state.ladder.number("socket.request.max.bytes")
            self.context = ServerContext.over(service, self.now, self._policies)
            self.guests = ConnectionRegistry(service, self.context.quotas, self.statistics, self.now)
            if self._archiving is not None:
                self.archiver = Archiver(self._archiving, service, self.context.attempts)
            for listener in self.settings.doors:
                door = Listener(listener, service, self.context.authorizer)
                self.doors.append(door)
                await door.open(self)
                self.context.certificates.add(door)
            await service.in_store(lambda store: store.join(self._member()))
        except BaseException:
            self._shut()
            await service.stop()
            raise
        self.port = self.doors[0].port
        service.subscribe(self.context.certificates.follow)
        self._sweeper = asyncio.create_task(self.guests.sweep(), name="idle connections")
        if self.archiver is not None:
            self.archiver.start()
        self._tidier = asyncio.create_task(tidy(service), name="tidying")
        self._keeper = asyncio.create_task(keep(self._retention, service, self.archiver)) if self._retention else None
        return self

    async def __aexit__(self, *_: object) -> None:
        """Take no more, answer what has been read, close the store."""
        self._stopping = True
        self._sweeper.cancel()
        self._tidier.cancel()
        if self._keeper is not None:
            self._keeper.cancel()
        self._shut()
        self.context.feed.rest()
        await self.guests.leave()
        await self.context.feed.close()
        await self.context.attempts.close()
        if self.archiver is not None:
            await self.archiver.close()
        await self.context.service.stop()
        await self._policies.close()

    def _member(self) -> ClusterMember:
        """This server, as the others are told of it."""
        endpoints = {door.listener.name: door.told for door in self.doors}
        return ClusterMember(self.settings.node_id, endpoints, self.context.rack)

    def _shut(self) -> None:
        for door in self.doors:
            door.close()

    def flush_archive(self) -> None:
        """SIGUSR1: do not wait with the archive."""
        if self.archiver is not None and not self._stopping:
            self.archiver.flush_soon()

    def answer(self, peer: ConnectionContext, frame: bytes) -> PendingResponse:
        if self.context.quotas.limiting:
            return throttling.answer(self.context, self.statistics, peer, frame)
        return answer(self.context, self.statistics, peer, frame)
