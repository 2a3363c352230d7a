"""One socket of the SyncAdminClient, which does not block, with what is still to be written to it."""

from __future__ import annotations

import socket
import time
from selectors import EVENT_READ, EVENT_WRITE

from kconf.client.settings import ClientSettings
from kconf.client.transport.call_runner import NodeRequest
from kconf.client.transport.in_flight import Frames, InFlightRequests, Opened

CHUNK = 1 << 18


class SyncNodeConnection:
    """A line that is open and logged in."""

    def __init__(self, sock: socket.socket, opened: Opened, settings: ClientSettings, frames: Frames) -> None:
        self._socket, self._frames = sock, frames
        self.line: InFlightRequests[int] = InFlightRequests(opened.peer, settings.client_id)
        self.muted = 0.0
        self._out = bytearray()
        self._retry: tuple[type[OSError], ...] = (BlockingIOError, InterruptedError)
        self._retires = time.monotonic() + 0.85 * opened.lifetime if opened.lifetime else float("inf")
        if settings.tls is not None:
            from ssl import SSLWantReadError, SSLWantWriteError

            self._retry = (*self._retry, SSLWantReadError, SSLWantWriteError)
        sock.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def events(self) -> int:
        return EVENT_READ | EVENT_WRITE if self._out else EVENT_READ

    def is_usable(self) -> bool:
        """Whether an idle line is still one: the broker may have closed it, or its session be over."""
        if time.monotonic() >= self._retires:
            return False
        try:
            self._socket.recv(1)
        except self._retry:
            return True
        except OSError:
            return False
        return False  # closed, or talking out of turn

    def send(self, ask: NodeRequest, whom: int) -> None:
        self._out += self.line.send(ask, whom)
        self.write()

    def write(self) -> None:
        while self._out:
            try:
                sent = self._socket.send(self._out)
            except self._retry:
                return
            del self._out[:sent]

    def read(self) -> list[bytes]:
        """The frames that have come, until the socket has no more."""
        found: list[bytes] = []
        while True:
            try:
                data = self._socket.recv(CHUNK)
            except self._retry:
                return found
            if not data:
                raise ConnectionResetError("the broker closed the connection")
            found += self._frames.feed(data)
            if found:
                return found

    def has_more(self) -> bool:
        """Whether TLS holds bytes that a selector cannot see."""
        pending = getattr(self._socket, "pending", None)
        return pending is not None and pending() > 0

    def close(self) -> None:
        self._socket.close()
