"""The open connections of a server, and what is counted and logged about them.

Log lines that strangers can cause are limited in rate (util/rate_limited_log.py). How many connections there may be is
in connection_quotas.py; a limit on something else, such as connections per user, belongs there too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from logging import INFO, getLogger
from typing import Final, Protocol

from kconf.errors import UpstreamAway
from kconf.server.connection_context import ConnectionContext
from kconf.server.counters import Counters
from kconf.server.listener_config import EndPoint
from kconf.server.network.connection_quotas import ConnectionQuotas
from kconf.server.quotas.manager import QuotaManager
from kconf.service import Service
from kconf.util.rate_limited_log import RateLimitedLogger

log = getLogger(__name__)

_GRACE: Final = 10.0  # seconds that open requests get at shutdown
_LINGER: Final = 1.0  # seconds that clients get to read their last responses
_BATCH: Final = 100  # connections checked before other tasks may run


class OpenConnection(Protocol):
    """What the registry needs of a connection (connection.py)."""

    context: ConnectionContext
    last_seen: float
    busy: bool
    closing: bool

    @property
    def is_stuck(self) -> bool: ...
    def stop(self) -> None: ...
    def finish(self) -> None: ...
    def abort(self) -> None: ...
    def reject(self, delay_ms: int) -> None: ...


class ConnectionRegistry:
    """All connections of a server. Used from its event loop only."""

    def __init__(self, service: Service, rates: QuotaManager, counters: Counters, now: Callable[[], float]) -> None:
        self.quotas = ConnectionQuotas(service)
        self.now = now
        self.paused_listeners = 0  # sockets that accept no connections now
        self._rates, self._counters = rates, counters
        self._max_idle = service.settings.number("connections.max.idle.ms") / 1000
        self._open: set[OpenConnection] = set()
        self._stopping = False
        self._failed_logins = RateLimitedLogger(log)
        self._rejections = RateLimitedLogger(log)
        self._invalid_requests = RateLimitedLogger(log, INFO)
        self._failed_relays = RateLimitedLogger(log)

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, connection: OpenConnection) -> None:
        if self._stopping:
            connection.abort()
            return
        self._open.add(connection)
        self._counters.connections += 1
        delay_ms = self._rates.record_connection(connection.context.host)
        if delay_ms:
            connection.reject(delay_ms)

    def closed(self, connection: OpenConnection) -> None:
        self._open.discard(connection)

    def login_failed(self, host: str, reason: str) -> None:
        self._counters.failed_logins += 1
        self._failed_logins.log("login failed peer=%s reason=%r", host, reason)

    def handshake_failed(self, host: str, reason: str) -> None:
        """A failed TLS handshake is a failed login too: for some clients it is the only authentication."""
        self._counters.failed_handshakes += 1
        self.login_failed(host, f"TLS handshake: {reason}")

    def request_failed(self, host: str, error: BaseException) -> None:
        """A connection is closed because of what it sent, or because a broker behind a gateway is away."""
        if isinstance(error, UpstreamAway):
            self._counters.failed_relays += 1
            self._failed_relays.log("connection closed peer=%s reason=%r", host, str(error))
        else:
            self._counters.invalid_requests += 1
            self._invalid_requests.log("connection closed peer=%s reason=%r", host, str(error))

    def rejected(self, host: str, reason: str) -> None:
        self._counters.rejected_connections += 1
        self._rejections.log("connection rejected peer=%s reason=%r", host, reason)

    def listener_paused(self, endpoint: EndPoint, reason: str) -> None:
        """A listener accepts no connections for now; `listener_resumed` follows."""
        self.paused_listeners += 1
        self._rejections.log("listener paused listener=%s reason=%r", endpoint, reason)

    def listener_resumed(self) -> None:
        self.paused_listeners -= 1

    async def close_idle(self) -> None:
        """Close what has been silent for connections.max.idle.ms, until cancelled."""
        while self._max_idle >= 0:
            await asyncio.sleep(min(max(self._max_idle / 4, 0.05), 30))
            oldest = self.now() - self._max_idle
            for number, connection in enumerate(tuple(self._open)):
                if number % _BATCH == _BATCH - 1:
                    await asyncio.sleep(0)
                if connection.last_seen < oldest and not connection.busy:
                    self._close(connection)

    def _close(self, connection: OpenConnection) -> None:
        if connection.closing:
            connection.abort()
        else:
            self._counters.idle_connections += 1
            connection.finish()

    async def shutdown(self) -> None:
        """Answer all requests that have been read, and let clients read the responses, for a limited time."""
        self._stopping = True
        for connection in tuple(self._open):
            connection.stop()
        await self._until(lambda: all(each.closing or each.is_stuck for each in self._open), _GRACE)
        await self._until(lambda: not self._open, _LINGER)
        for connection in tuple(self._open):
            connection.abort()

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        deadline = self.now() + seconds
        while not condition() and self.now() < deadline:
            await asyncio.sleep(0.005)
