"""All lines of a SyncAdminClient: opened and logged in one by one, then used together.

A line on which something went wrong is closed; the next exchange opens another.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.call_runner import NodeRequest, Reply
from kconf.client.transport.in_flight import Frames, Opened, Tokens, hello, hint, is_tls, reason
from kconf.client.transport.selector_connection import CHUNK, SyncNodeConnection
from kconf.client.transport.selector_exchange import SyncSendBatch
from kconf.errors import AuthenticationFailed, ConnectionFailed, KconfError

if TYPE_CHECKING:
    from ssl import SSLContext


class SyncConnectionPool:
    """All lines of a client, by address."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._wires: dict[Address, SyncNodeConnection] = {}
        self._context: SSLContext | None = None

    def close(self) -> None:
        while self._wires:
            self._wires.popitem()[1].close()

    def exchange(self, asks: Sequence[NodeRequest], deadline: float) -> list[Reply]:
        """An answer or an error for each ask, in their order."""
        run = SyncSendBatch(self._settings, asks, deadline)
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

    def _wire(self, address: Address, deadline: float) -> SyncNodeConnection:
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

    def _open(self, address: Address, deadline: float) -> SyncNodeConnection:
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
            return SyncNodeConnection(sock, opened, settings, frames)
        except OSError as error:
            sock.close()
            if is_tls(error):  # with TLS 1.3 a missing certificate is told after the handshake
                raise AuthenticationFailed(f"no TLS with {address}: {reason(error)}") from error
            raise ConnectionFailed(f"{address}: {reason(error)}{hint(settings)}") from error
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
    sock: socket.socket, frames: Frames, settings: ClientSettings, address: Address, tokens: Tokens | None, until: float
) -> Opened:
    talk = hello(settings, address, tokens)
    frame = next(talk)
    while True:
        sock.settimeout(max(until - time.monotonic(), 0.001))
        sock.sendall(frame)
        answer: list[bytes] = []
        while not answer:
            data = sock.recv(CHUNK)
            if not data:
                raise ConnectionResetError("the broker closed the connection")
            answer = frames.feed(data)
        try:
            frame = talk.send(answer[0])
        except StopIteration as done:
            opened: Opened = done.value
            return opened
