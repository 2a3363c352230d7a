"""A listener that is open: its sockets, its TLS context, and who may log in there.

When the certificates change, new connections meet the new ones, and connections that are there keep what they have.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from logging import getLogger
from typing import TYPE_CHECKING, Final

from kconf.server.api.router import ConnectionContext
from kconf.server.auth.authorizer import authorize_function
from kconf.server.auth.sasl_authenticator import SaslServerAuthenticator
from kconf.server.auth.sasl_config import ConnectionRejected, principal_mapping_of, sasl_config_of
from kconf.server.network.acceptor import Acceptor
from kconf.server.network.listener_config import EndPoint, SocketAddress
from kconf.server.static_config import naming
from kconf.service import Service

if TYPE_CHECKING:
    from kconf.engine.access.acls import Authorizer
    from kconf.server.network.tls_alerts import AlertingSslContext
    from kconf.server.server import Server

log = getLogger(__name__)

_BACKLOG: Final = 1024


class Listener:
    """One open listener."""

    def __init__(self, listener: EndPoint, service: Service, authorizer: Authorizer | None) -> None:
        self.listener = listener
        self._service, self._authorizer = service, authorizer
        self._sockets: list[socket.socket] = []
        self._arrivals: Acceptor | None = None
        self.context: AlertingSslContext | None = None  # that of new connections
        self._realm = sasl_config_of(listener, service) if listener.protocol.sasl else None
        self._naming = principal_mapping_of(listener, service) if listener.protocol.tls else None

    @property
    def port(self) -> int:
        return int(self._sockets[0].getsockname()[1])

    @property
    def address(self) -> SocketAddress:
        return SocketAddress(self.listener.address.host, self.port)

    @property
    def told(self) -> tuple[str, int]:
        """The address at which other servers say that this one can be reached."""
        if self.listener.advertised is not None:
            return self.listener.advertised
        host = self.listener.address.host
        return (socket.gethostname() if host in ("", "0.0.0.0", "::") else host), self.port

    async def open(self, server: Server) -> None:
        """Listen. Says what is wrong with the address, or with the certificates."""
        self.context = self._new_context()
        host, port = self.listener.address
        with naming(host or "*", port):
            self._sockets = await _listening(host, port)
        self._arrivals = Acceptor(self, server)
        for each in self._sockets:
            self._arrivals.begin(each)
        if self.listener.is_exposed and self.listener.is_clear:
            log.warning(
                "listener %s can be reached from other machines and does not encrypt: "
                "whoever is on the way can read%s and change what is said",
                self.listener,
                " passwords" if self.listener.protocol.sasl else "",
            )

    def renew(self) -> None:
        """Meet new connections with the certificates that are in force now."""
        self.context = self._new_context()
        log.info("listener %s has new certificates", self.listener)

    def close(self) -> None:
        if self._arrivals is not None:
            self._arrivals.end()

    def meet(
        self, transport: asyncio.BaseTransport, host: str, now: Callable[[], float]
    ) -> tuple[ConnectionContext, SaslServerAuthenticator | None]:
        """Who is there, as far as is known, and the gate that they have to pass. Raises `ConnectionRejected`."""
        advertised, port = self.listener.advertised or transport.get_extra_info("sockname")[:2]
        peer = ConnectionContext(host, advertised, port, self.listener.name)
        peer.authorize = _nothing
        if self._realm is not None:

            def welcome(user: str) -> None:
                self._known_as(peer, f"User:{user}")

            return peer, SaslServerAuthenticator(self._realm, welcome, now)
        if self._naming is not None:
            der = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
            try:
                named = None if der is None else self._naming(der)
            except ValueError as error:
                raise ConnectionRejected(peer, str(error)) from None
            if der is not None and named is None:
                raise ConnectionRejected(peer, "no rule of ssl.principal.mapping.rules fits the client's certificate")
            peer.principal = named or peer.principal
        self._known_as(peer, peer.principal)
        return peer, None

    def _known_as(self, peer: ConnectionContext, principal: str) -> None:
        peer.principal = principal
        peer.authorize = authorize_function(self._authorizer, principal, peer.host)

    def _new_context(self) -> AlertingSslContext | None:
        if not self.listener.protocol.tls:
            return None
        from kconf.server.auth.tls_context import server_context

        return server_context(self.listener, self._service.state.ladder.effective)


def _nothing(*_: object) -> bool:
    """What may be done by who has not logged in."""
    return False


async def _listening(host: str, port: int) -> list[socket.socket]:
    """A socket for every address that the host stands for; port 0 is the same free one for all."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            try:
                made = socket.socket(family, kind, protocol)
            except OSError:
                continue  # a family that the machine does not have
            sockets.append(made)
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                with suppress(OSError):
                    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            taken = port or (sockets[0].getsockname()[1] if len(sockets) > 1 else 0)
            made.bind((address[0], taken, *address[2:]))
            made.listen(_BACKLOG)
        if not sockets:
            raise OSError(f"no address for {host}")
    except BaseException:
        for each in sockets:
            each.close()
        raise
    return sockets
