"""Who is connected: the set of open connections, how many there may be, and what is counted and said of them.

What strangers can cause to be logged is logged at a bounded rate (util/rate_limited_log.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from logging import INFO, getLogger
from typing import TYPE_CHECKING, Final

from kconf.server.counters import Counters
from kconf.server.network.connection_quotas import ConnectionQuotas
from kconf.server.network.listener_config import EndPoint
from kconf.server.quotas.manager import QuotaManager
from kconf.service import Service
from kconf.util.rate_limited_log import RateLimitedLogger

if TYPE_CHECKING:
    from kconf.server.network.connection import Connection

log = getLogger(__name__)

_GRACE: Final = 10.0  # seconds that open requests get at shutdown
_LINGER: Final = 1.0  # seconds that peers get to take their last answers
_LOOKS: Final = 100  # connections looked at before others get their turn


class ConnectionRegistry:
    """All connections of a server. Used from its event loop only."""

    def __init__(self, service: Service, quotas: QuotaManager, statistics: Counters, now: Callable[[], float]) -> None:
        self.limits = ConnectionQuotas(service)
        self._quotas, self._statistics, self._now = quotas, statistics, now
        self._idle = service.state.ladder.number("connections.max.idle.ms") / 1000
        self.resting = 0  # sockets from which nobody is taken now
        self._here: set[Connection] = set()
        self._stopping = False
        self._failed_logins = RateLimitedLogger(log)
        self._crowded = RateLimitedLogger(log)
        self._refusals = RateLimitedLogger(log, INFO)

    def __len__(self) -> int:
        return len(self._here)

    def opened(self, connection: Connection) -> None:
        if self._stopping:
            connection.abort()
            return
        self._here.add(connection)
        self._statistics.connections += 1
        delay_ms = self._quotas.connected(connection.peer.host)
        if delay_ms:
            connection.turn_away(delay_ms)

    def closed(self, connection: Connection) -> None:
        self._here.discard(connection)

    def login_failed(self, host: str, why: str) -> None:
        self._statistics.failed_logins += 1
        self._failed_logins.log("login failed peer=%s reason=%r", host, why)

    def handshake_failed(self, host: str, why: str) -> None:
        """TLS is the first login, and for some the only one."""
        self._statistics.failed_handshakes += 1
        self.login_failed(host, f"TLS handshake: {why}")

    def refused(self, host: str, why: str) -> None:
        self._statistics.refused += 1
        self._refusals.log("connection closed peer=%s reason=%r", host, why)

    def turned_away(self, host: str, why: str) -> None:
        self._statistics.turned_away += 1
        self._crowded.log("connection turned away peer=%s reason=%r", host, why)

    def rests(self, listener: EndPoint, why: str) -> None:
        """A listener takes no more for now; `goes_on` follows."""
        self.resting += 1
        self._crowded.log("new connections wait listener=%s reason=%r", listener, why)

    def goes_on(self) -> None:
        self.resting -= 1

    async def sweep(self) -> None:
        """Close what has been silent for connections.max.idle.ms, looking at a few at a time."""
        while self._idle >= 0:
            await asyncio.sleep(min(max(self._idle / 4, 0.05), 30))
            oldest = self._now() - self._idle
            for number, connection in enumerate(tuple(self._here)):
                if number % _LOOKS == _LOOKS - 1:
                    await asyncio.sleep(0)
                if connection.last_seen < oldest and not connection.busy:
                    self._close(connection)

    def _close(self, connection: Connection) -> None:
        if connection.closing:
            connection.abort()
        else:
            self._statistics.idle += 1
            connection.finish()

    async def leave(self) -> None:
        """The server stops: all that has been read is answered, and taken if the peer takes it."""
        self._stopping = True
        for connection in tuple(self._here):
            connection.stop()
        await self._until(lambda: all(each.closing or each.is_stuck for each in self._here), _GRACE)
        await self._until(lambda: not self._here, _LINGER)
        for connection in tuple(self._here):
            connection.abort()

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        deadline = self._now() + seconds
        while not condition() and self._now() < deadline:
            await asyncio.sleep(0.005)
