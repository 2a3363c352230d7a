"""The open connections of a server, with their metrics and log messages.

Log messages that unauthenticated clients can cause are rate-limited (util/rate_limited_log.py). The limits on the
number of connections are in connection_quotas.py; a new one, such as connections per user, belongs there too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from logging import INFO, getLogger
from typing import Final, Protocol

from kconf.errors import UpstreamUnavailable
from kconf.server.connection_context import ConnectionContext
from kconf.server.counters import Counters
from kconf.server.listener_config import EndPoint
from kconf.server.network.connection_quotas import ConnectionQuotas
from kconf.server.quotas.manager import QuotaManager
from kconf.service import Service
from kconf.util.rate_limited_log import RateLimitedLogger

log = getLogger(__name__)

_GRACE: Final = 10.0  # seconds for pending requests to finish at shutdown
_LINGER: Final = 1.0  # seconds for clients to read their last responses
_BATCH: Final = 100  # connections checked before other tasks may run


class OpenConnection(Protocol):
    """The methods of a connection (connection.py) that the registry uses."""

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
        self.paused_listeners = 0  # sockets that currently accept no connections
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
        """Count a failed TLS handshake as a failed login: for some clients it is the only authentication."""
        self._counters.failed_handshakes += 1
        self.login_failed(host, f"TLS handshake: {reason}")

    def request_failed(self, host: str, error: BaseException) -> None:
        """Log why a connection is closed: it sent an invalid request, or a broker behind a gateway is unavailable."""
        if isinstance(error, UpstreamUnavailable):
            self._counters.failed_relays += 1
            self._failed_relays.log("connection closed peer=%s reason=%r", host, str(error))
        else:
            self._counters.invalid_requests += 1
            self._invalid_requests.log("connection closed peer=%s reason=%r", host, str(error))

    def rejected(self, host: str, reason: str) -> None:
        self._counters.rejected_connections += 1
        self._rejections.log("connection rejected peer=%s reason=%r", host, reason)

    def listener_paused(self, endpoint: EndPoint, reason: str) -> None:
        """A listener stops accepting connections until `listener_resumed` is called."""
        self.paused_listeners += 1
        self._rejections.log("listener paused listener=%s reason=%r", endpoint, reason)

    def listener_resumed(self) -> None:
        self.paused_listeners -= 1

    async def close_idle(self) -> None:
        """Close connections that are idle for connections.max.idle.ms. Runs until cancelled."""
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
        """Answer all requests that have been read and let clients read the responses, within a time limit."""
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
