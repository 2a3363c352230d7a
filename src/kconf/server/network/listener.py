"""A listener: its sockets, its authenticator and its connections."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from logging import getLogger
from typing import Final

from kconf.server.auth.authenticator import Authenticator
from kconf.server.auth.listener_security import ListenerTls
from kconf.server.listener_config import EndPoint, SocketAddress, explain_bind_error
from kconf.server.network.acceptor import Acceptor
from kconf.server.network.connection import Connection
from kconf.server.network.connection_registry import ConnectionRegistry
from kconf.server.request_handler import RequestHandler

log = getLogger(__name__)

_BACKLOG: Final = 1024


class Listener:
    """One listener on bound sockets. `tls` is None if connections are not encrypted."""

    def __init__(
        self,
        endpoint: EndPoint,
        sockets: Sequence[socket.socket],
        authenticator: Authenticator,
        handler: RequestHandler,
        registry: ConnectionRegistry,
        tls: ListenerTls | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._authenticator, self._handler, self._registry = authenticator, handler, registry
        self._tls = tls
        self._sockets = sockets
        self._acceptor: Acceptor | None = None

    @property
    def port(self) -> int:
        return self.address.port

    @property
    def address(self) -> SocketAddress:
        return bound_address(self.endpoint, self._sockets)

    @property
    def advertised(self) -> tuple[str, int]:
        """The advertised address: where clients reach this listener."""
        if self.endpoint.advertised is not None:
            return self.endpoint.advertised
        host = self.endpoint.address.host
        return (socket.gethostname() if host in ("", "0.0.0.0", "::") else host), self.port

    async def open(self) -> None:
        """Start accepting connections. Raises ConfigurationError if another process has taken the port."""
        await self._authenticator.open()
        self.accept()
        if self.endpoint.is_exposed and self.endpoint.is_clear:
            log.warning(
                "listener %s accepts connections from other machines without encryption: anyone on the network path "
                "can read and change the traffic%s",
                self.endpoint,
                ", including PLAIN passwords and bearer tokens" if self.endpoint.protocol.sasl else "",
            )

    def accept(self) -> None:
        """Start accepting connections. Raises ConfigurationError if another process has taken the port."""
        with explain_bind_error(self.endpoint.address.host or "*", self.port):
            for each in self._sockets:
                each.listen(_BACKLOG)
        self._acceptor = Acceptor(self.endpoint, self._tls, self._registry, self.new_connection)
        for each in self._sockets:
            self._acceptor.start(each)

    def for_broker(self, node: int, sockets: Sequence[socket.socket]) -> Listener:
        """The same listener on another port, for requests to one broker."""
        advertised = self.endpoint.advertised
        port = int(sockets[0].getsockname()[1])
        endpoint = replace(
            self.endpoint,
            address=SocketAddress(self.endpoint.address.host, port),
            advertised=None if advertised is None else SocketAddress(advertised.host, port),
            node=node,
        )
        return Listener(endpoint, sockets, self._authenticator, self._handler, self._registry, self._tls)

    def new_connection(self, host: str) -> Connection:
        return Connection(self.endpoint, host, self._authenticator, self._handler, self._registry)

    def close(self) -> None:
        self._authenticator.close()
        self.stop_accepting()

    def stop_accepting(self) -> None:
        if self._acceptor is not None:
            self._acceptor.close()


def bound_address(endpoint: EndPoint, sockets: Sequence[socket.socket]) -> SocketAddress:
    """The address of a listener with the port that it is bound to."""
    return SocketAddress(endpoint.address.host, int(sockets[0].getsockname()[1]))


async def bind(endpoint: EndPoint) -> list[socket.socket]:
    """Bind the sockets of a listener, which do not listen yet. Raises ConfigurationError."""
    with explain_bind_error(endpoint.address.host or "*", endpoint.address.port):
        return await bind_address(endpoint.address)


async def bind_address(wanted: SocketAddress) -> list[socket.socket]:
    """Bind one socket per address of the host. For port 0, all of them use the same free port."""
    host, port = wanted
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            try:
                made = socket.socket(family, kind, protocol)
            except OSError:
                continue  # an address family that this machine does not support
            sockets.append(made)
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                with suppress(OSError):
                    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            taken = port or (sockets[0].getsockname()[1] if len(sockets) > 1 else 0)
            made.bind((address[0], taken, *address[2:]))
        if not sockets:
            raise OSError(f"the host name {host} has no address")
    except BaseException:
        for each in sockets:
            each.close()
        raise
    return sockets
