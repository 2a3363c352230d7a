"""One connection of the SyncAdminClient: a non-blocking socket and its unsent bytes."""

from __future__ import annotations

import socket
import time
from selectors import EVENT_READ, EVENT_WRITE

from kconf.client.settings import ClientSettings
from kconf.client.transport.frames import FrameReader
from kconf.client.transport.handshake import NodeSession
from kconf.client.transport.in_flight import InFlightRequests
from kconf.client.transport.requests import NodeRequest
from kconf.client.transport.revisions import ClientRevision

CHUNK = 1 << 18


class SyncNodeConnection:
    """A connection that is open and logged in."""

    def __init__(
        self,
        sock: socket.socket,
        session: NodeSession,
        settings: ClientSettings,
        frames: FrameReader,
        revision: ClientRevision,
    ) -> None:
        self._socket, self._frames = sock, frames
        self.in_flight: InFlightRequests[int] = InFlightRequests(session.node, settings.client_id, revision)
        self.throttled_until = 0.0
        self._unsent = bytearray()
        self._would_block: tuple[type[OSError], ...] = (BlockingIOError, InterruptedError)
        self._expires_at = session.expires_at(time.monotonic())
        if settings.security.tls is not None:
            from ssl import SSLWantReadError, SSLWantWriteError

            self._would_block = (*self._would_block, SSLWantReadError, SSLWantWriteError)
        sock.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def events(self) -> int:
        return EVENT_READ | EVENT_WRITE if self._unsent else EVENT_READ

    def is_usable(self) -> bool:
        """Whether the connection can be used. False if the broker has closed it or its session expires."""
        if time.monotonic() >= self._expires_at:
            return False
        try:
            self._socket.recv(1)
        except self._would_block:
            return True
        except OSError:
            return False
        return False  # closed, or data without a request

    def send(self, request: NodeRequest, handle: int) -> None:
        self._unsent += self.in_flight.add(request, handle)
        self.write()

    def write(self) -> None:
        while self._unsent:
            try:
                sent = self._socket.send(self._unsent)
            except self._would_block:
                return
            del self._unsent[:sent]

    def read(self) -> list[bytes]:
        """Read until there is a frame or no more data. Returns the complete frames."""
        frames: list[bytes] = []
        while not frames:
            try:
                data = self._socket.recv(CHUNK)
            except self._would_block:
                return frames
            if not data:
                raise ConnectionResetError("the broker closed the connection")
            frames = self._frames.feed(data)
        return frames

    def has_buffered_data(self) -> bool:
        """Whether TLS has decrypted bytes that a selector cannot detect."""
        pending = getattr(self._socket, "pending", None)
        return pending is not None and pending() > 0

    def close(self) -> None:
        self._socket.close()
