"""Sends the TLS alert of a failed handshake, which asyncio discards.

When a handshake fails, OpenSSL writes an alert to its outgoing buffer, and asyncio closes the connection without
sending it. The context below sends it, so that a client gets "certificate required" or "unknown CA" and not just a
closed connection.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kconf.security.x509_names import Identity

_LINGER: Final = 1.0  # seconds for a client to read an alert
_MAX_DISCARDED: Final = 1 << 16  # bytes read from the client after a failed handshake


class TlsHandshake:
    """The handshake of one socket. It applies to TLS objects created while it is `current`."""

    def __init__(self, accepted: socket.socket) -> None:
        self._socket = accepted
        self._copy: socket.socket | None = None  # outlives the transport, which closes the original

    def send_alert(self, alert: bytes) -> None:
        with suppress(OSError):
            self._socket.send(alert)
            self._copy = self._socket.dup()

    async def close(self) -> None:
        """Close the socket after a failure. Reads first, because closing with unread bytes would discard the alert."""
        if self._copy is None:
            return
        loop = asyncio.get_running_loop()
        with self._copy as left, suppress(OSError, TimeoutError):
            left.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(_LINGER):
                read = 0
                while read < _MAX_DISCARDED and (part := await loop.sock_recv(left, 4096)):
                    read += len(part)


current: ContextVar[TlsHandshake | None] = ContextVar("the handshake under way", default=None)


class _AlertingSslObject(ssl.SSLObject):
    """Sends an alert when its handshake fails."""

    handshake: tuple[TlsHandshake, ssl.MemoryBIO] | None = None

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            if self.handshake is not None and self.handshake[1].pending:
                self.handshake[0].send_alert(self.handshake[1].read())
            raise
        self.handshake = None


class AlertingSslContext(ssl.SSLContext):
    """An SSLContext that sends alerts and has the identity of its certificate."""

    sslobject_class = _AlertingSslObject
    identity: Identity | None = None

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **options: Any) -> ssl.SSLObject:
        made = super().wrap_bio(incoming, outgoing, *args, **options)
        handshake = current.get()
        if isinstance(made, _AlertingSslObject) and handshake is not None:
            made.handshake = handshake, outgoing
        return made
