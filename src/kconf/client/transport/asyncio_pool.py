"""Connections for the AdminClient, on asyncio. One line per address, shared by all tasks; requests are pipelined.

A task that is cancelled leaves its answer to be thrown away when it comes: the line goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from ssl import SSLCertVerificationError, SSLContext, SSLError
from typing import TYPE_CHECKING, cast

from kconf.client.calls.base import CallResult
from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.call_runner import NodeRequest, Reply
from kconf.client.transport.in_flight import Frames, InFlightRequests, Opened, Tokens, hello, hint, is_tls, reason
from kconf.errors import AuthenticationFailed, ConnectionFailed, KconfError, ProtocolError, RequestTimedOut

if TYPE_CHECKING:
    Pending = asyncio.Future[CallResult]


class AsyncNodeConnection(asyncio.Protocol):
    """A connection: first the opening talk, frame by frame, then answers to whoever waits for them."""

    def __init__(self, settings: ClientSettings, address: Address) -> None:
        self._settings, self._address = settings, address
        self._frames = Frames(settings.max_frame)
        self._greeting: asyncio.Queue[bytes | None] | None = asyncio.Queue()
        self._transport: asyncio.Transport | None = None
        self._line: InFlightRequests[Pending] | None = None
        self._why: Exception | None = None
        self._retires = float("inf")
        self._heard = self._muted = 0.0
        self.closed = False
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.slots = asyncio.Semaphore(settings.in_flight)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are no instances of it

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                if self._greeting is not None:
                    self._greeting.put_nowait(frame)
                elif self._line is not None:
                    self._answer(self._line, frame)
        except ProtocolError as error:
            self.abort(error)

    def _answer(self, line: InFlightRequests[Pending], frame: bytes) -> None:
        future, answer = line.answered(frame)
        self._heard = asyncio.get_running_loop().time()
        if answer.throttle_ms > 0:
            self._muted = self._heard + answer.throttle_ms / 1000
        if not future.done():
            future.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        if not self.gone.done():
            self.gone.set_result(None)
        self._why = why = self._why or error
        if self._greeting is not None:
            self._greeting.put_nowait(None)
        waiting = list(self._line.waiting) if self._line is not None else []
        for each in waiting:
            if not each.whom.done():
                each.whom.set_exception(why if isinstance(why, ProtocolError) else self._broken(why))

    def _broken(self, why: Exception | None) -> ConnectionFailed:
        error = ConnectionFailed(
            f"the line to {self._address} broke before the answer: {why or 'closed by the broker'}"
        )
        error.sent = True
        return error

    async def greet(self, tokens: Tokens | None) -> None:
        """Open the line: versions, then login."""
        assert self._transport is not None
        assert self._greeting is not None
        talk = hello(self._settings, self._address, tokens)
        frame = next(talk)
        while True:
            self._transport.write(frame)
            answer = await self._greeting.get()
            if answer is None:
                if isinstance(self._why, ProtocolError):
                    raise self._why
                if is_tls(self._why):  # with TLS 1.3 a missing certificate is told after the handshake
                    raise AuthenticationFailed(f"no TLS with {self._address}: {reason(self._why)}")  # type: ignore[arg-type]
                raise ConnectionFailed(f"{self._address} closed the connection{hint(self._settings)}")
            try:
                frame = talk.send(answer)
            except StopIteration as done:
                opened: Opened = done.value
                break
        self._greeting = None
        self._line = InFlightRequests(opened.peer, self._settings.client_id)
        if opened.lifetime:
            self._retires = asyncio.get_running_loop().time() + 0.85 * opened.lifetime

    def is_usable(self) -> bool:
        return not self.closed and asyncio.get_running_loop().time() < self._retires

    async def ask(self, ask: NodeRequest, deadline: float) -> CallResult:
        """Send, and wait for the answer, but no longer than a request may take. The caller holds one of `slots`."""
        if self.closed or self._line is None or self._transport is None:
            raise ConnectionFailed(f"the line to {self._address} broke")
        loop = asyncio.get_running_loop()
        future: Pending = loop.create_future()
        self._transport.write(self._line.send(ask, future))
        return await self._wait(future, ask, loop.time(), deadline)

    async def _wait(self, future: Pending, ask: NodeRequest, began: float, deadline: float) -> CallResult:
        """The time runs from the last answer on: others before us may keep the broker busy."""
        loop = asyncio.get_running_loop()
        while True:
            limit = max(began, self._heard, self._muted) + self._settings.request_timeout
            done, _ = await asyncio.wait((future,), timeout=max(min(limit, deadline) - loop.time(), 0))
            if done:
                return future.result()
            now = loop.time()
            if now < deadline and now < max(began, self._heard, self._muted) + self._settings.request_timeout:
                continue
            future.cancel()
            error = RequestTimedOut(f"{self._address} gave no answer to {ask.call.name} in time")
            self._retires = 0.0  # a line that may owe an answer is used no more; others may still get theirs
            if now < deadline:
                self.abort(error)
            raise error

    def close(self) -> None:
        """Say goodbye. Whoever still waits for an answer is told."""
        self._why = self._why or ConnectionFailed("the client was closed")
        self.closed = True
        if self._transport is not None:
            self._transport.close()

    def abort(self, why: Exception | None = None) -> None:
        """Close at once. Whoever waits for an answer is told."""
        self._why = self._why or why
        self.closed = True
        if self._transport is not None:
            self._transport.abort()

    def retire(self) -> None:
        """Close once nobody waits for an answer."""
        if self._line is None or all(each.whom.done() for each in self._line.waiting):
            self.abort()
        else:
            asyncio.get_running_loop().call_later(1.0, self.retire)


class AsyncConnectionPool:
    """All lines of a client, by address."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._wires: dict[Address, AsyncNodeConnection] = {}
        self._opening: dict[Address, asyncio.Lock] = {}
        self._context: SSLContext | None = None

    async def close(self) -> None:
        wires = list(self._wires.values())
        self._wires.clear()
        for each in wires:
            each.close()
        if wires:
            await asyncio.wait([each.gone for each in wires], timeout=1.0)
        for each in wires:
            each.abort()

    async def exchange(self, asks: Sequence[NodeRequest], deadline: float) -> list[Reply]:
        """An answer or an error for each ask, in their order."""
        if len(asks) == 1:
            return [await self._ask(asks[0], deadline)]
        tasks = [asyncio.create_task(self._ask(each, deadline)) for each in asks]
        try:
            return await asyncio.gather(*tasks)
        except BaseException:  # what a token callable raises, say: no task of ours may outlive the call
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _ask(self, ask: NodeRequest, deadline: float) -> Reply:
        try:
            async with asyncio.timeout_at(deadline):
                wire = await self._wire(ask.address, deadline)
                await wire.slots.acquire()
        except TimeoutError:
            return ConnectionFailed(f"no line to {ask.address} was free in time")
        except KconfError as error:
            return error
        try:
            return await wire.ask(ask, deadline)
        except KconfError as error:
            return error
        finally:
            wire.slots.release()

    async def _wire(self, address: Address, deadline: float) -> AsyncNodeConnection:
        wire = self._wires.get(address)
        if wire is not None and wire.is_usable():
            return wire
        async with self._opening.setdefault(address, asyncio.Lock()):
            wire = self._wires.get(address)
            if wire is not None and wire.is_usable():
                return wire
            if wire is not None:
                del self._wires[address]
                wire.retire()
            self._wires[address] = wire = await self._open(address, deadline)
            return wire

    async def _open(self, address: Address, deadline: float) -> AsyncNodeConnection:
        settings, loop = self._settings, asyncio.get_running_loop()
        tokens: Tokens | None = None
        if settings.sasl is not None:
            talk = settings.sasl.talk
            # Fetching a token may take a round trip or two, and must not stop the loop.
            tokens = await asyncio.to_thread(talk, address.host) if settings.sasl.blocks else talk(address.host)
        wire = AsyncNodeConnection(settings, address)
        try:
            async with asyncio.timeout_at(min(deadline, loop.time() + settings.connect_timeout)):
                await self._connect(wire, address)
            async with asyncio.timeout_at(min(deadline, loop.time() + settings.request_timeout)):
                await wire.greet(tokens)
        except TimeoutError:
            wire.abort()
            raise ConnectionFailed(f"cannot connect to {address}: no answer in time") from None
        except BaseException:
            wire.abort()
            raise
        return wire

    async def _connect(self, wire: AsyncNodeConnection, address: Address) -> None:
        loop = asyncio.get_running_loop()
        if self._settings.tls is not None and self._context is None:
            self._context = self._settings.tls.context()
        try:
            if self._context is None:
                await loop.create_connection(lambda: wire, *address)
            else:
                await loop.create_connection(lambda: wire, *address, ssl=self._context, server_hostname=address.host)
        except SSLCertVerificationError as error:
            raise AuthenticationFailed(
                f"the certificate of {address} is not accepted: {error.verify_message}"
            ) from error
        except SSLError as error:
            raise AuthenticationFailed(f"no TLS with {address}: {error.reason or error}") from error
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionFailed(f"cannot connect to {address}: {reason(error)}") from error
