"""The connections of the SyncAdminClient: opened one after the other, then used concurrently through a selector.

A connection that failed is closed; the next batch opens another.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kconf.client.calls.base import NodeVersions
from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.failures import (
    SilentPeer,
    connect_reason,
    disconnect_hint,
    is_tls_error,
    not_kafka,
    reason,
    wait_for_peer,
)
from kconf.client.transport.frames import FrameReader
from kconf.client.transport.handshake import Login, NodeSession, handshake
from kconf.client.transport.requests import NodeRequest, Reply
from kconf.client.transport.revisions import ClientRevision
from kconf.client.transport.selector.batch import SelectorBatch
from kconf.client.transport.selector.connection import CHUNK, SyncNodeConnection
from kconf.errors import AuthenticationFailed, ConnectionFailed, KconfError, RemoteProtocolError

if TYPE_CHECKING:
    from ssl import SSLContext


class SyncConnectionPool:
    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self.revision = ClientRevision()
        self.nodes: dict[Address, NodeVersions] = {}  # the versions of each node at the last connection
        self._connections: dict[Address, SyncNodeConnection] = {}
        self._context: SSLContext | None = None

    def close(self) -> None:
        while self._connections:
            self._connections.popitem()[1].close()

    def send_batch(self, requests: Sequence[NodeRequest], deadline: float) -> list[Reply]:
        """Send all requests concurrently. Returns a result or an error for each, in their order."""
        batch = SelectorBatch(self._settings, requests, deadline)
        addresses = list(dict.fromkeys(each.address for each in requests))
        try:
            for address in addresses:
                self._add(batch, address, deadline)
            batch.run()
        except BaseException:  # also KeyboardInterrupt: responses may still arrive, so these connections are unusable
            for address in addresses:
                self._drop(address)
            raise
        for address in batch.failed:
            self._drop(address)
        return batch.replies()

    def _add(self, batch: SelectorBatch, address: Address, deadline: float) -> None:
        try:
            batch.add(address, self._connection(address, deadline))
        except TimeoutError as error:
            batch.time_out_queued(address, silent=isinstance(error, SilentPeer))
        except KconfError as error:
            batch.fail_queued(address, error)

    def _connection(self, address: Address, deadline: float) -> SyncNodeConnection:
        connection = self._connections.get(address)
        if connection is not None and connection.is_usable() and not self._settings.has_failed_check:
            return connection
        self._drop(address)
        connection = self._connections[address] = self._open(address, deadline)
        return connection

    def _drop(self, address: Address) -> None:
        connection = self._connections.pop(address, None)
        if connection is not None:
            connection.close()

    def _open(self, address: Address, deadline: float) -> SyncNodeConnection:
        """Connect and log in. Raises TimeoutError at the deadline."""
        login = self._login(address, deadline)
        sock = self._connect(address, deadline)
        try:
            # A login may take as long as any other request.
            limit = min(deadline, time.monotonic() + self._settings.timeouts.request)
            frames = FrameReader(self._settings.limits.max_frame)
            session = self._handshake(_Stream(sock, frames, limit, address), address, login)
            self.nodes[address] = session.node
            return SyncNodeConnection(sock, session, self._settings, frames, self.revision)
        except OSError as error:
            sock.close()
            if isinstance(error, TimeoutError) and limit == deadline:
                raise SilentPeer from error
            if is_tls_error(error):  # with TLS 1.3 a missing client certificate is reported after the handshake
                raise AuthenticationFailed(f"TLS handshake with {address} failed: {reason(error)}") from error
            hint = disconnect_hint(self._settings.security)
            raise ConnectionFailed(f"{address}: {reason(error)}{hint}") from error
        except RemoteProtocolError as error:  # not Kafka, or another security protocol
            sock.close()
            raise not_kafka(address, error) from error
        except BaseException:
            sock.close()
            raise

    def _login(self, address: Address, deadline: float) -> Login | None:
        sasl = self._settings.security.sasl
        if sasl is None or not sasl.blocks:
            return None if sasl is None else Login.start(sasl, address.host)
        return Login.in_thread(sasl, address.host).result(remaining(deadline))

    def _connect(self, address: Address, deadline: float) -> socket.socket:
        """Connect with TCP and TLS, with one time limit for all addresses of the host name."""
        limit = min(deadline, time.monotonic() + self._settings.timeouts.connect)
        try:
            sock = _connect_tcp(address, limit)
            return self._secure(sock, address, limit)
        except KconfError:
            raise
        except Exception as error:  # also unexpected ones, such as that of an invalid host name
            if isinstance(error, TimeoutError) and limit == deadline:
                raise
            why = connect_reason(error, self._settings.security)
            raise ConnectionFailed(f"cannot connect to {address}: {why}") from error

    def _secure(self, sock: socket.socket, address: Address, limit: float) -> socket.socket:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock if self._settings.security.tls is None else self._start_tls(sock, address, limit)
        except BaseException:
            sock.close()
            raise

    def _start_tls(self, sock: socket.socket, address: Address, limit: float) -> socket.socket:
        import ssl

        if self._context is None:
            assert self._settings.security.tls is not None
            self._context = self._settings.security.tls.context()
        try:
            secured = self._context.wrap_socket(sock, server_hostname=address.host, do_handshake_on_connect=False)
            wait_for_peer(secured, limit, secured.do_handshake, address)
            return secured
        except ssl.SSLCertVerificationError as error:
            raise AuthenticationFailed(
                f"the certificate of {address} is not trusted: {error.verify_message}"
            ) from error
        except ssl.SSLError as error:
            raise AuthenticationFailed(f"TLS handshake with {address} failed: {reason(error)}") from error

    def _handshake(self, stream: _Stream, address: Address, login: Login | None) -> NodeSession:
        settings = self._settings
        steps = handshake(
            settings.client_id, address, login, controllers=settings.bootstrap.controllers, check=settings.check
        )
        frame = next(steps)
        while True:
            response = stream.exchange(frame)
            try:
                frame = steps.send(response)
            except StopIteration as done:
                session: NodeSession = done.value
                return session


def remaining(limit: float) -> float:
    """Seconds until a limit. Slightly above 0 if it has passed, since 0 would make a socket non-blocking."""
    return max(limit - time.monotonic(), 0.001)


def _connect_tcp(address: Address, limit: float) -> socket.socket:
    error: OSError | None = None
    for family, kind, protocol, _, place in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
        if error is not None and time.monotonic() >= limit:
            break
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(remaining(limit))
            sock.connect(place)
        except OSError as failed:
            sock.close()
            error = failed
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise error or OSError(f"{address.host} has no address")


class _Stream:
    """A blocking socket during the handshake, with one time limit for all of it."""

    def __init__(self, sock: socket.socket, frames: FrameReader, limit: float, address: Address) -> None:
        self._socket, self._frames, self._limit, self._address = sock, frames, limit, address

    def exchange(self, frame: bytes) -> bytes:
        """Send a frame and wait for the response."""
        self._socket.settimeout(remaining(self._limit))
        self._socket.sendall(frame)
        while True:
            if time.monotonic() >= self._limit:
                raise TimeoutError
            data = wait_for_peer(self._socket, self._limit, lambda: self._socket.recv(CHUNK), self._address)
            if not data:
                raise ConnectionResetError("the broker closed the connection")
            received = self._frames.feed(data)
            if received:
                return received[0]
