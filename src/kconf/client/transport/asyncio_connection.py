"""One connection of the AdminClient, on asyncio. Requests are pipelined.

If the task that waits for a response is cancelled, the response is discarded when it arrives, and the connection stays
in use.
"""

from __future__ import annotations

import asyncio
from typing import cast

from kconf.client.calls.base import CallResult, NodeVersions
from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.failures import disconnect_hint, is_tls_error, not_kafka, reason
from kconf.client.transport.frames import FrameReader
from kconf.client.transport.handshake import Login, NodeSession, handshake
from kconf.client.transport.in_flight import InFlightRequests
from kconf.client.transport.requests import NodeRequest, no_response
from kconf.client.transport.revisions import ClientRevision
from kconf.errors import AuthenticationFailed, ConnectionFailed, ProtocolError

_RETIRE_POLL = 1.0  # seconds


class AsyncNodeConnection(asyncio.Protocol):
    """Passes frames to the handshake first, then to the futures of the requests in flight.

    `slots` limits the requests in flight: a caller holds one while it sends and waits.
    """

    def __init__(self, settings: ClientSettings, address: Address, revision: ClientRevision) -> None:
        self._settings, self._address, self._revision = settings, address, revision
        self._frames = FrameReader(settings.limits.max_frame)
        self._handshake: asyncio.Queue[bytes | None] | None = asyncio.Queue()
        self._transport: asyncio.Transport | None = None
        self._in_flight: InFlightRequests[asyncio.Future[CallResult]] | None = None
        self._error: Exception | None = None
        self._expires_at = float("inf")
        self._last_response = self._throttled_until = 0.0
        self.closed = False
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.slots = asyncio.Semaphore(settings.limits.in_flight)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # not isinstance: uvloop's transports are not instances

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                if self._handshake is not None:
                    self._handshake.put_nowait(frame)
                elif self._in_flight is not None:
                    self._complete(self._in_flight, frame)
        except ProtocolError as error:
            self.abort(error)

    def _complete(self, in_flight: InFlightRequests[asyncio.Future[CallResult]], frame: bytes) -> None:
        future, result = in_flight.complete(frame)
        self._last_response = asyncio.get_running_loop().time()
        if result.throttle_ms > 0:
            self._throttled_until = self._last_response + result.throttle_ms / 1000
        if not future.done():
            future.set_result(result)

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        if not self.lost.done():
            self.lost.set_result(None)
        self._error = cause = self._error or error
        if self._handshake is not None:
            self._handshake.put_nowait(None)
        for each in list(self._in_flight.waiting) if self._in_flight is not None else []:
            if not each.handle.done():
                each.handle.set_exception(cause if isinstance(cause, ProtocolError) else self._lost(cause))

    def _lost(self, cause: Exception | None) -> ConnectionFailed:
        error = ConnectionFailed(
            f"the connection to {self._address} was lost before the response: {cause or 'closed by the broker'}"
        )
        error.sent = True
        return error

    async def open(self, login: Login | None) -> NodeVersions:
        """Negotiate versions and log in."""
        assert self._transport is not None
        assert self._handshake is not None
        settings = self._settings
        steps = handshake(
            settings.client_id, self._address, login, controllers=settings.bootstrap.controllers, check=settings.check
        )
        frame = next(steps)
        while True:
            self._transport.write(frame)
            response = await self._handshake.get()
            if response is None:
                raise self._handshake_error()
            try:
                frame = steps.send(response)
            except StopIteration as done:
                session: NodeSession = done.value
                break
        self._handshake = None
        self._in_flight = InFlightRequests(session.node, self._settings.client_id, self._revision)
        self._expires_at = session.expires_at(asyncio.get_running_loop().time())
        return session.node

    def _handshake_error(self) -> Exception:
        if isinstance(self._error, ProtocolError):  # not Kafka, or another security protocol
            return not_kafka(self._address, self._error)
        if isinstance(self._error, OSError) and is_tls_error(self._error):
            # With TLS 1.3 a missing client certificate is reported after the handshake.
            return AuthenticationFailed(f"TLS handshake with {self._address} failed: {reason(self._error)}")
        return ConnectionFailed(f"{self._address} closed the connection{disconnect_hint(self._settings.security)}")

    def is_usable(self) -> bool:
        if self.closed or self._settings.has_failed_check:
            return False
        return asyncio.get_running_loop().time() < self._expires_at

    async def send(self, request: NodeRequest, deadline: float) -> CallResult:
        """Send a request and wait for its response, until the request timeout or the deadline."""
        if self.closed or self._in_flight is None or self._transport is None:
            raise ConnectionFailed(f"the connection to {self._address} was lost")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[CallResult] = loop.create_future()
        self._transport.write(self._in_flight.add(request, future))
        return await self._wait(future, request, loop.time(), deadline)

    async def _wait(
        self, future: asyncio.Future[CallResult], request: NodeRequest, sent_at: float, deadline: float
    ) -> CallResult:
        """Wait for a response. The request timeout restarts with every response, since the broker answers in order."""
        loop = asyncio.get_running_loop()
        while True:
            remaining = max(min(self._timeout_at(sent_at), deadline) - loop.time(), 0)
            try:
                done, _ = await asyncio.wait((future,), timeout=remaining)
            except asyncio.CancelledError:
                future.cancel()  # the response is discarded
                raise
            if done:
                return future.result()
            now = loop.time()
            if now < deadline and now < self._timeout_at(sent_at):
                continue
            future.cancel()
            error = no_response(request)
            self._expires_at = 0.0  # no new requests; those in flight may still be answered
            if now < deadline:
                self.abort(error)
            raise error

    def _timeout_at(self, sent_at: float) -> float:
        return max(sent_at, self._last_response, self._throttled_until) + self._settings.timeouts.request

    def close(self) -> None:
        """Close after pending writes. Requests in flight fail."""
        self._error = self._error or ConnectionFailed("the client was closed")
        self.closed = True
        if self._transport is not None:
            self._transport.close()

    def abort(self, error: Exception | None = None) -> None:
        """Close immediately. Requests in flight fail."""
        self._error = self._error or error
        self.closed = True
        if self._transport is not None:
            self._transport.abort()

    def retire(self) -> None:
        """Close when no request is in flight."""
        if self._in_flight is None or all(each.handle.done() for each in self._in_flight.waiting):
            self.abort()
        else:
            asyncio.get_running_loop().call_later(_RETIRE_POLL, self.retire)
