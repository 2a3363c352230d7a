"""Accepts the connections of one listener, within the connection limits; the rest wait in the socket's backlog.

A connection is counted as soon as it is accepted, before the TLS handshake. When `max.connections` is reached, the
listener stops accepting until a connection is closed, as in Kafka. A connection beyond `max.connections.per.ip` is
closed immediately.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from logging import getLogger
from typing import TYPE_CHECKING, Final

from kconf.engine.access.acls import same_host
from kconf.server.auth.listener_security import ListenerTls
from kconf.server.listener_config import EndPoint
from kconf.server.network.connection import Connection
from kconf.server.network.connection_registry import ConnectionRegistry

if TYPE_CHECKING:
    from ssl import SSLContext

log = getLogger(__name__)

_HANDSHAKE: Final = 15.0  # seconds that a TLS handshake may take
_RETRY: Final = 0.5  # seconds until the next attempt after running out of file descriptors or memory


class Acceptor:
    """Accepts connections on a listener's sockets and completes their TLS handshakes."""

    def __init__(
        self,
        endpoint: EndPoint,
        tls: ListenerTls | None,
        registry: ConnectionRegistry,
        new_connection: Callable[[str], Connection],
    ) -> None:
        self._endpoint, self._tls, self._registry, self._new_connection = endpoint, tls, registry, new_connection
        self._loop = asyncio.get_running_loop()
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self, listening: socket.socket) -> None:
        self._sockets.append(listening)
        self._loop.add_reader(listening, self._accept, listening)

    def close(self) -> None:
        """Stop accepting, close the sockets, and cancel TLS handshakes in progress."""
        self._closed = True
        for listening in self._sockets:
            self._loop.remove_reader(listening)
            listening.close()
        for task in tuple(self._tasks):
            task.cancel()

    def _accept(self, listening: socket.socket) -> None:
        """Accept one connection. If more are waiting, the event loop calls this again."""
        full = self._registry.quotas.full(self._endpoint)
        if full is not None:
            self._pause(listening, full)
            self._registry.quotas.changed().add_done_callback(lambda _: self._resume(listening))
            return
        try:
            accepted, (address, *_) = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # the client has already disconnected
        except OSError as error:  # out of file descriptors or memory
            self._pause(listening, error.strerror or "accept failed")
            self._loop.call_later(_RETRY, self._resume, listening)
            return
        accepted.setblocking(False)
        self._admit(accepted, same_host(address))

    def _pause(self, listening: socket.socket, reason: str) -> None:
        self._registry.listener_paused(self._endpoint, reason)
        self._loop.remove_reader(listening)

    def _resume(self, listening: socket.socket) -> None:
        self._registry.listener_resumed()
        if not self._closed:
            self._loop.add_reader(listening, self._accept, listening)

    def _admit(self, accepted: socket.socket, host: str) -> None:
        reason = self._registry.quotas.over_address_limit(host)
        if reason is None:
            self._registry.quotas.opened(host, self._endpoint)
            self._spawn(self._set_up(accepted, host))
        else:
            accepted.close()
            self._registry.rejected(host, reason)

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work, name=self._endpoint.name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _set_up(self, accepted: socket.socket, host: str) -> None:
        connection = self._new_connection(host)
        try:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is None:
                await self._loop.connect_accepted_socket(lambda: connection, accepted)
            else:
                await self._handshake(connection, accepted, self._tls.context)
        except OSError as error:
            log.debug("could not set up a connection from %s: %s", host, error)
        finally:
            if not connection.is_made:  # otherwise the connection does this when it is closed
                self._registry.quotas.closed(host, self._endpoint)

    async def _handshake(self, connection: Connection, accepted: socket.socket, context: SSLContext) -> None:
        """Complete the TLS handshake. Invalid data and timeouts count as failed; a disconnect does not."""
        from ssl import SSLError

        from kconf.server.auth.tls_alerts import TlsHandshake, current

        handshake = TlsHandshake(accepted)
        current.set(handshake)  # a context variable: set for this task only
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection, accepted, ssl=context, ssl_handshake_timeout=_HANDSHAKE
            )
        except SSLError as error:
            self._registry.handshake_failed(connection.host, (error.reason or "failed").replace("_", " ").lower())
            await handshake.close()
        except ConnectionAbortedError:
            self._registry.handshake_failed(connection.host, f"not completed within {_HANDSHAKE:.0f} s")
