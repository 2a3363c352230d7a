"""Accepts the connections of one listener, one after the other, while there is room; the rest wait in the backlog.

A connection counts from the moment it is accepted, before the TLS handshake. At `max.connections` the listener accepts
no more until a connection is closed, as in Kafka; a connection beyond `max.connections.per.ip` is closed at once.
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
_RETRY: Final = 0.5  # seconds until the next attempt, when the system has no files or memory left


class Acceptor:
    """Accepts from the sockets of a listener, and brings each connection as far as its protocol."""

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
        """Accept no more, and close the sockets. TLS handshakes under way are cancelled."""
        self._closed = True
        for listening in self._sockets:
            self._loop.remove_reader(listening)
            listening.close()
        for task in tuple(self._tasks):
            task.cancel()

    def _accept(self, listening: socket.socket) -> None:
        """Accept one connection. If there are more, the event loop calls again, after other work."""
        full = self._registry.quotas.full(self._endpoint)
        if full is not None:
            self._pause(listening, full)
            self._registry.quotas.changed().add_done_callback(lambda _: self._resume(listening))
            return
        try:
            accepted, (address, *_) = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # the client has gone again
        except OSError as error:  # no files or no memory left
            self._pause(listening, error.strerror or "the system refuses")
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
        reason = self._registry.quotas.over_limit(host)
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
            log.debug("a connection from %s could not be set up: %s", host, error)
        finally:
            if not connection.is_made:  # else the connection does it when it is closed; the loop closes the socket
                self._registry.quotas.closed(host, self._endpoint)

    async def _handshake(self, connection: Connection, accepted: socket.socket, context: SSLContext) -> None:
        """A client that disconnects during the handshake has not failed; one that sends garbage or stalls has."""
        from ssl import SSLError

        from kconf.server.auth.tls_alerts import TlsHandshake, current

        handshake = TlsHandshake(accepted)
        current.set(handshake)  # in this task alone
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection, accepted, ssl=context, ssl_handshake_timeout=_HANDSHAKE
            )
        except SSLError as error:
            self._registry.handshake_failed(connection.host, (error.reason or "failed").replace("_", " ").lower())
            await handshake.close()
        except ConnectionAbortedError:
            self._registry.handshake_failed(connection.host, f"not completed within {_HANDSHAKE:.0f} s")
