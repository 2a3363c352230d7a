"""Sockets for the SyncAdminClient: opened and logged in one by one, then read and written all at once.

No thread and no asyncio: a selector waits for all lines of an exchange. A line on which something went wrong is closed;
the next exchange opens another.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Sequence
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import TYPE_CHECKING, Any

from kconf.client.conduct import Ask, Reply
from kconf.client.line import Frames, Line, Opened, hello, is_tls, reason
from kconf.client.settings import Address, Settings
from kconf.errors import AuthenticationFailed, ConnectionFailed, KconfError, ProtocolError, RequestTimedOut

if TYPE_CHECKING:
    from ssl import SSLContext

_CHUNK = 1 << 18


class Wire:
    """A socket that does not block, with what is still to be written to it."""

    def __init__(self, sock: socket.socket, opened: Opened, settings: Settings, frames: Frames) -> None:
        self._socket, self._frames = sock, frames
        self.line: Line[int] = Line(opened.peer, settings.client_id)
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

    def send(self, ask: Ask, whom: int) -> None:
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
                data = self._socket.recv(_CHUNK)
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


class Wires:
    """All lines of a client, by address."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._wires: dict[Address, Wire] = {}
        self._context: SSLContext | None = None

    def close(self) -> None:
        while self._wires:
            self._wires.popitem()[1].close()

    def exchange(self, asks: Sequence[Ask], deadline: float) -> list[Reply]:
        """An answer or an error for each ask, in their order."""
        run = _Exchange(self._settings, asks, deadline)
        addresses = list(dict.fromkeys(ask.address for ask in asks))
        try:
            for address in addresses:
                try:
                    run.add(address, self._wire(address, deadline))
                except KconfError as error:
                    run.fail(address, error)
            run.run()
        except BaseException:  # also KeyboardInterrupt: answers may still be on their way, so the lines are no good
            for address in addresses:
                self._drop(address)
            raise
        for address in run.broken:
            self._drop(address)
        return run.replies()

    def _wire(self, address: Address, deadline: float) -> Wire:
        wire = self._wires.get(address)
        if wire is not None and wire.is_usable():
            return wire
        self._drop(address)
        wire = self._wires[address] = self._open(address, deadline)
        return wire

    def _drop(self, address: Address) -> None:
        wire = self._wires.pop(address, None)
        if wire is not None:
            wire.close()

    def _open(self, address: Address, deadline: float) -> Wire:
        settings = self._settings
        now = time.monotonic()
        until = min(deadline, now + settings.connect_timeout)
        tokens = settings.sasl.talk(address.host) if settings.sasl is not None else None
        try:
            sock = socket.create_connection(address, timeout=max(until - now, 0.001))
        except OSError as error:
            raise ConnectionFailed(f"cannot connect to {address}: {reason(error)}") from error
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if settings.tls is not None:
                sock = self._wrap(sock, address)
            # A login may take a broker a while; the answer to it is as good as any other request's.
            until = min(deadline, time.monotonic() + settings.request_timeout)
            frames = Frames(settings.max_frame)
            opened = _greet(sock, frames, settings, address, tokens, until)
            return Wire(sock, opened, settings, frames)
        except OSError as error:
            sock.close()
            if is_tls(error):  # with TLS 1.3 a missing certificate is told after the handshake
                raise AuthenticationFailed(f"no TLS with {address}: {reason(error)}") from error
            raise ConnectionFailed(f"{address}: {reason(error)}{_hint(settings)}") from error
        except BaseException:
            sock.close()
            raise

    def _wrap(self, sock: socket.socket, address: Address) -> socket.socket:
        import ssl

        if self._context is None:
            assert self._settings.tls is not None
            self._context = self._settings.tls.context()
        try:
            return self._context.wrap_socket(sock, server_hostname=address.host)
        except ssl.SSLCertVerificationError as error:
            raise AuthenticationFailed(
                f"the certificate of {address} is not accepted: {error.verify_message}"
            ) from error
        except ssl.SSLError as error:
            raise AuthenticationFailed(f"no TLS with {address}: {error.reason or error}") from error


def _greet(
    sock: socket.socket, frames: Frames, settings: Settings, address: Address, tokens: Any, until: float
) -> Opened:
    talk = hello(settings, address, tokens)
    frame = next(talk)
    while True:
        sock.settimeout(max(until - time.monotonic(), 0.001))
        sock.sendall(frame)
        answer: list[bytes] = []
        while not answer:
            data = sock.recv(_CHUNK)
            if not data:
                raise ConnectionResetError("the broker closed the connection")
            answer = frames.feed(data)
        try:
            frame = talk.send(answer[0])
        except StopIteration as done:
            opened: Opened = done.value
            return opened


def _hint(settings: Settings) -> str:
    if settings.tls is None:
        return " (does this listener expect TLS?)"
    return ""


class _Exchange:
    """Requests under way on several lines."""

    def __init__(self, settings: Settings, asks: Sequence[Ask], deadline: float) -> None:
        self._settings, self._asks, self._deadline = settings, asks, deadline
        self._replies: dict[int, Reply] = {}
        self._queues: dict[Address, deque[int]] = {}
        self._wires: dict[Address, Wire] = {}
        self._heard: dict[Address, float] = {}
        self.broken: list[Address] = []
        for number, ask in enumerate(asks):
            self._queues.setdefault(ask.address, deque()).append(number)

    def add(self, address: Address, wire: Wire) -> None:
        self._wires[address] = wire
        self._heard[address] = time.monotonic()

    def replies(self) -> list[Reply]:
        return [self._replies[number] for number in range(len(self._asks))]

    def run(self) -> None:
        with DefaultSelector() as selector:
            for address, wire in self._wires.items():
                selector.register(wire, EVENT_READ, address)
            for address in list(self._wires):
                self._guarded(selector, address, write=True, read=False)
            while len(self._replies) < len(self._asks):
                for key, events in selector.select(self._patience()):
                    self._guarded(selector, key.data, bool(events & EVENT_WRITE), bool(events & EVENT_READ))
                self._time_out(selector)

    def _guarded(self, selector: DefaultSelector, address: Address, write: bool, read: bool) -> None:
        """Move what can be moved on a line; what goes wrong there concerns that line alone."""
        wire = self._wires.get(address)
        if wire is None:
            return
        try:
            if write:
                wire.write()
            if read:
                self._read(address, wire)
            self._fill(address, wire)
            selector.modify(wire, wire.events, address)
        except OSError as error:
            self._break(selector, address, reason(error))
        except ProtocolError as error:
            self._replies.update(dict.fromkeys((each.whom for each in wire.line.waiting), error))
            self._break(selector, address, str(error))

    def _read(self, address: Address, wire: Wire) -> None:
        more = True
        while more:
            for frame in wire.read():
                whom, answer = wire.line.answered(frame)
                self._replies[whom] = answer
                self._heard[address] = now = time.monotonic()
                if answer.throttle_ms > 0:
                    wire.muted = now + answer.throttle_ms / 1000
                self._fill(address, wire)
            more = wire.has_more()

    def _fill(self, address: Address, wire: Wire) -> None:
        queue = self._queues[address]
        while queue and len(wire.line.waiting) < self._settings.in_flight:
            number = queue.popleft()
            try:
                wire.send(self._asks[number], number)
            except KconfError as error:
                self._replies[number] = error

    def fail(self, address: Address, error: KconfError) -> None:
        """Nothing that is queued for an address can be sent."""
        queue = self._queues[address]
        while queue:
            self._replies[queue.popleft()] = error

    def _break(self, selector: DefaultSelector, address: Address, why: str) -> None:
        wire = self._wires.pop(address)
        selector.unregister(wire)
        self.broken.append(address)
        for waiting in wire.line.waiting:
            error = ConnectionFailed(f"the line to {address} broke before the answer: {why}")
            error.sent = True
            self._replies.setdefault(waiting.whom, error)
        self.fail(address, ConnectionFailed(f"the line to {address} broke: {why}"))

    def _limit(self, address: Address) -> float:
        since = max(self._heard[address], self._wires[address].muted)
        return min(self._deadline, since + self._settings.request_timeout)

    def _patience(self) -> float:
        ends = [self._limit(address) for address in self._wires if self._is_busy(address)]
        return max(min(ends, default=self._deadline) - time.monotonic(), 0.0)

    def _is_busy(self, address: Address) -> bool:
        return bool(self._wires[address].line.waiting or self._queues[address])

    def _time_out(self, selector: DefaultSelector) -> None:
        now = time.monotonic()
        for address in [each for each in self._wires if self._is_busy(each) and now >= self._limit(each)]:
            for waiting in self._wires[address].line.waiting:
                self._replies[waiting.whom] = RequestTimedOut(
                    f"{address} gave no answer to {waiting.call.name} in time"
                )
            self._break(selector, address, "no answer in time")
