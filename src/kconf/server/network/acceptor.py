"""How connections come in by a door: one after the other, while there is room; the rest wait in the system's queue.

A connection counts from its first moment, before TLS has been agreed on. Where `max.connections` is reached the door
takes no more until someone goes, as Kafka does; one too many from the same address is closed at once.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from logging import getLogger
from typing import TYPE_CHECKING, Final

from kconf.engine.access.acls import same_host
from kconf.server.network.connection import Connection

if TYPE_CHECKING:
    from ssl import SSLContext

    from kconf.server.network.listener import Listener
    from kconf.server.server import Server

log = getLogger(__name__)

_HANDSHAKE: Final = 15.0  # seconds that a TLS handshake may take
_PAUSE: Final = 0.5  # seconds until the next try, where the system has nothing left to give


class Acceptor:
    """Takes connections from a door's sockets, and brings each as far as its protocol."""

    def __init__(self, door: Listener, server: Server) -> None:
        self._door, self._server, self._guests = door, server, server.guests
        self._limits, self._listener = server.guests.limits, door.listener
        self._loop = asyncio.get_running_loop()
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = False

    def begin(self, listening: socket.socket) -> None:
        self._sockets.append(listening)
        self._loop.add_reader(listening, self._arrived, listening)

    def end(self) -> None:
        """Take no more, and close the sockets. Handshakes under way are broken off."""
        self._ended = True
        for listening in self._sockets:
            self._loop.remove_reader(listening)
            listening.close()
        for task in tuple(self._tasks):
            task.cancel()

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work, name=self._listener.name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _arrived(self, listening: socket.socket) -> None:
        """Someone waits in the queue of the system. Where there are more, they come after others had their turn."""
        full = self._limits.full(self._listener)
        if full is not None:
            self._rest(listening, full)
            self._limits.change().add_done_callback(lambda _: self._resume(listening))
            return
        try:
            line, (address, *_) = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # they have gone again
        except OSError as error:  # the system has no files or no memory left
            self._rest(listening, error.strerror or "the system refuses")
            self._loop.call_later(_PAUSE, self._resume, listening)
            return
        line.setblocking(False)
        self._take(line, same_host(address))

    def _rest(self, listening: socket.socket, why: str) -> None:
        """Take nobody for a while."""
        self._guests.rests(self._listener, why)
        self._loop.remove_reader(listening)

    def _resume(self, listening: socket.socket) -> None:
        self._guests.goes_on()
        if not self._ended:
            self._loop.add_reader(listening, self._arrived, listening)

    def _take(self, line: socket.socket, host: str) -> None:
        refusal = self._limits.refusal(host)
        if refusal is None:
            self._limits.opened(host, self._listener)
            self._spawn(self._bring_in(line, host))
        else:
            line.close()
            self._guests.turned_away(host, refusal)

    async def _bring_in(self, line: socket.socket, host: str) -> None:
        connection = Connection(self._server, self._door, host)
        context = self._door.context
        try:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is None:
                await self._loop.connect_accepted_socket(lambda: connection, line)
            else:
                await self._shake(connection, line, context)
        except OSError as error:
            log.debug("a connection from %s came to nothing: %s", host, error)
        finally:
            if not connection.is_made:  # else it counts itself out; the line is the loop's to close
                self._limits.closed(host, self._listener)

    async def _shake(self, connection: Connection, line: socket.socket, context: SSLContext) -> None:
        """Agree on TLS. Who goes away half-way has not failed; who says the wrong thing, or nothing for long, has."""
        from ssl import SSLError

        from kconf.server.network.tls_alerts import TlsHandshake, current

        handshake = TlsHandshake(line)
        current.set(handshake)  # in this task alone
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection, line, ssl=context, ssl_handshake_timeout=_HANDSHAKE
            )
        except SSLError as error:
            self._guests.handshake_failed(connection.host, (error.reason or "failed").replace("_", " ").lower())
            await handshake.settle()
        except ConnectionAbortedError:
            self._guests.handshake_failed(connection.host, f"it took longer than {_HANDSHAKE:.0f} s")
