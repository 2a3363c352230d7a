"""A connection for encoded frames, which a gateway forwards unchanged.

It has one request in flight, since a broker answers the requests of a connection one after the other. Only the
correlation id of a frame is replaced, which is at the same position in all versions.
"""

from __future__ import annotations

import asyncio
from typing import Self, cast

from kconf.client.calls.base import NodeVersions
from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.connector import Connector
from kconf.client.transport.frames import FrameReader
from kconf.client.transport.handshake import handshake
from kconf.errors import ConnectionFailed, KconfError, ProtocolError, RemoteProtocolError
from kconf.protocol.headers import LENGTH

_FIRST_CORRELATION = 2  # ids up to here are for the handshake


class RawConnection(asyncio.Protocol):
    """A connection, opened by `connect`."""

    node: NodeVersions

    def __init__(self, settings: ClientSettings, address: Address) -> None:
        self._settings, self._address = settings, address
        self._frames = FrameReader(settings.limits.max_frame)
        self._transport: asyncio.Transport | None = None
        self._response: asyncio.Future[bytes] | None = None
        self._error: Exception | None = None
        self._expires_at = float("inf")
        self._correlation = _FIRST_CORRELATION
        self.closed = False

    @classmethod
    async def connect(cls, connector: Connector, settings: ClientSettings, address: Address) -> Self:
        """Connect, negotiate versions and log in. Raises KconfError. The caller enforces the timeout."""
        connection = cls(settings, address)
        try:
            login = await connector.login(address)
            await connector.connect(connection, address)
            steps = handshake(settings.client_id, address, login, check=settings.check)
            frame = next(steps)
            while True:
                response = await connection._exchange(frame)
                try:
                    frame = steps.send(response)
                except StopIteration as done:
                    connection.node = done.value.node
                    connection._expires_at = done.value.expires_at(asyncio.get_running_loop().time())
                    return connection
        except BaseException:
            connection.abort()
            raise

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # not isinstance: uvloop's transports are not instances

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                if self._response is None or self._response.done():
                    raise RemoteProtocolError(f"{self._address} sent a response without a request")
                self._response.set_result(frame)
        except ProtocolError as error:
            self._error = error
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        cause = self._error or error
        if self._response is not None and not self._response.done():
            lost = f"the connection to {self._address} was lost before the response: {cause or 'closed by the broker'}"
            self._response.set_exception(cause if isinstance(cause, KconfError) else ConnectionFailed(lost))

    @property
    def is_usable(self) -> bool:
        if self.closed or self._settings.has_failed_check:
            return False
        return asyncio.get_running_loop().time() < self._expires_at

    async def exchange(self, frame: bytes) -> bytes:
        """Send a request and return the response, both without length prefix and with the request's correlation id.

        Raises KconfError. If the caller is cancelled, the connection is closed, since a response is still pending.
        """
        self._correlation = self._correlation + 1 & 0x7FFFFFFF
        own = LENGTH.pack(self._correlation)
        try:
            response = await self._exchange(b"".join((LENGTH.pack(len(frame)), frame[:4], own, frame[8:])))
        except BaseException:
            self.abort()
            raise
        if response[:4] != own:
            self.abort()
            raise RemoteProtocolError(f"{self._address} sent a response to another request")
        return frame[4:8] + response[4:]

    async def _exchange(self, data: bytes) -> bytes:
        if self.closed or self._transport is None:
            raise ConnectionFailed(f"the connection to {self._address} was lost")
        self._response = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        return await self._response

    def abort(self) -> None:
        self.closed = True
        if self._transport is not None:
            self._transport.abort()
