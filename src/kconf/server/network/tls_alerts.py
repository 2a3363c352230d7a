"""TLS handshakes that fail are told why: the event loop would close the line before OpenSSL's last words are sent.

When a handshake fails, OpenSSL leaves an alert in the buffer of what is to be sent. The context below takes it from
there, so that a client reads "certificate required" or "unknown CA" and not just the end of the line.
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

_LINGER: Final = 1.0  # seconds that a peer gets to take an alert
_MOST: Final = 1 << 16  # bytes of what it said behind a handshake that failed


class TlsHandshake:
    """One line's. It is that of every TLS object that is made while it is `current`."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._left: socket.socket | None = None  # what outlives the transport

    def say(self, alert: bytes) -> None:
        with suppress(OSError):
            self._line.send(alert)
            self._left = self._line.dup()

    async def settle(self) -> None:
        """After a failure. To close with bytes unread would throw the alert away."""
        if self._left is None:
            return
        loop = asyncio.get_running_loop()
        with self._left as left, suppress(OSError, TimeoutError):
            left.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(_LINGER):
                read = 0
                while read < _MOST and (part := await loop.sock_recv(left, 4096)):
                    read += len(part)


current: ContextVar[TlsHandshake | None] = ContextVar("the handshake that is begun", default=None)


class _Talking(ssl.SSLObject):
    """Says why it fails."""

    handshake: tuple[TlsHandshake, ssl.MemoryBIO] | None = None

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            if self.handshake is not None and self.handshake[1].pending:
                self.handshake[0].say(self.handshake[1].read())
            raise
        self.handshake = None


class AlertingSslContext(ssl.SSLContext):
    """A context whose handshakes send their alerts, and that knows whose certificate it shows."""

    sslobject_class = _Talking
    identity: Identity | None = None

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **options: Any) -> ssl.SSLObject:
        made = super().wrap_bio(incoming, outgoing, *args, **options)
        handshake = current.get()
        if isinstance(made, _Talking) and handshake is not None:
            made.handshake = handshake, outgoing
        return made
