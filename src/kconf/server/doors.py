"""A listener that is open: its sockets, its TLS context, and who may log in there.

The listening sockets are ours and stay. What accepts from them is replaced when the certificates change: new
connections meet the new ones, connections that are there keep what they have, and none is refused in between.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from hmac import digest
from logging import getLogger
from typing import TYPE_CHECKING, Final

from kconf.client.jaas import parse
from kconf.engine.acls import same_host
from kconf.errors import ConfigurationError, RemoteProtocolError
from kconf.model.journal import Caller, Change, ChangeKind, Revision
from kconf.model.resource import Resource
from kconf.server.decoys import Decoys
from kconf.server.dispatch import Peer
from kconf.server.gate import Gate
from kconf.server.listeners import Address, Listener
from kconf.server.rights import rights_of
from kconf.server.sasl import MECHANISMS, PLAIN, Realm
from kconf.server.settings import naming
from kconf.service import Service

if TYPE_CHECKING:
    from ssl import SSLContext

    from kconf.engine.acls import Authorizer

log = getLogger(__name__)

_BACKLOG: Final = 1024
_HANDSHAKE: Final = 15.0  # seconds that a TLS handshake may take
_SALTS: Final = Change(ChangeKind.CONFIG, Resource.brokers(), "", None, "salts of unknown users", "set", sensitive=True)


class TurnedAway(RemoteProtocolError):
    """Someone who may not come in, whatever they say."""

    def __init__(self, peer: Peer, why: str) -> None:
        super().__init__(why)
        self.peer = peer


class Door:
    """One open listener."""

    def __init__(self, listener: Listener, service: Service, authorizer: Authorizer | None) -> None:
        self.listener = listener
        self._service, self._authorizer = service, authorizer
        self._sockets: list[socket.socket] = []
        self._servers: list[asyncio.Server] = []
        self._realm = realm_of(listener, service) if listener.protocol.sasl else None
        self._naming = _principals(listener, service) if listener.protocol.tls else None

    @property
    def port(self) -> int:
        return int(self._sockets[0].getsockname()[1])

    @property
    def address(self) -> Address:
        return Address(self.listener.address.host, self.port)

    async def open(self, factory: Callable[[Door], asyncio.Protocol]) -> None:
        """Listen. Says what is wrong with the address, or with the certificates."""
        self._factory = lambda: factory(self)
        context = self._context()
        host, port = self.listener.address
        with naming(host or "*", port):
            self._sockets = await _listening(host, port)
        self._servers = await self._accepting(context)
        if self.listener.is_exposed and self.listener.is_clear:
            log.warning(
                "listener %s can be reached from other machines and does not encrypt: "
                "whoever is on the way can read%s and change what is said",
                self.listener,
                " passwords" if self.listener.protocol.sasl else "",
            )

    async def renew(self) -> None:
        """Meet new connections with the certificates that are in force now."""
        if not self.listener.protocol.tls:
            return
        context = self._context()
        old, self._servers = self._servers, await self._accepting(context)
        for server in old:
            server.close()
        log.info("listener %s has new certificates", self.listener)

    def close(self) -> None:
        for server in self._servers:
            server.close()
        for each in self._sockets:
            each.close()

    def meet(self, transport: asyncio.BaseTransport, now: Callable[[], float]) -> tuple[Peer, Gate | None]:
        """Who is there, as far as is known, and the gate that they have to pass. Raises `TurnedAway`."""
        host = same_host((transport.get_extra_info("peername") or ("?",))[0])
        told = self.listener.advertised or transport.get_extra_info("sockname")[:2]
        peer = Peer(host, *told)
        peer.authorise = _nothing
        if self._realm is not None:

            def welcome(user: str) -> None:
                self._known_as(peer, f"User:{user}")

            return peer, Gate(self._realm, welcome, now)
        if self._naming is not None:
            der = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
            named = None if der is None else self._naming(der)
            if der is not None and named is None:
                raise TurnedAway(peer, "no rule of ssl.principal.mapping.rules fits the client's certificate")
            peer.principal = named or peer.principal
        self._known_as(peer, peer.principal)
        return peer, None

    def _known_as(self, peer: Peer, principal: str) -> None:
        peer.principal = principal
        peer.authorise = rights_of(self._authorizer, principal, peer.host)

    def _context(self) -> SSLContext | None:
        if not self.listener.protocol.tls:
            return None
        from kconf.server.tls import server_context

        return server_context(self.listener, self._service.state.ladder.effective)

    async def _accepting(self, context: SSLContext | None) -> list[asyncio.Server]:
        loop = asyncio.get_running_loop()
        return [
            await loop.create_server(
                self._factory,
                sock=each.dup(),
                backlog=_BACKLOG,
                ssl=context,
                ssl_handshake_timeout=None if context is None else _HANDSHAKE,
            )
            for each in self._sockets
        ]


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


def realm_of(listener: Listener, service: Service) -> Realm:
    """What the static layer says about logging in at a listener. It changes with a restart only, as in Kafka."""
    effective = service.state.ladder.effective
    text = listener.setting(effective, "sasl.enabled.mechanisms") or "GSSAPI"
    mechanisms = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    unknown = [each for each in mechanisms if each not in MECHANISMS]
    if unknown or not mechanisms:
        raise ConfigurationError(
            f"listener {listener.name}: sasl.enabled.mechanisms has {', '.join(unknown) or 'nothing'}; "
            f"kconf has {', '.join(MECHANISMS)}"
        )
    for mechanism in mechanisms:
        name = f"{mechanism.lower()}.sasl.server.callback.handler.class"
        if listener.setting(effective, name):
            raise ConfigurationError(f"listener {listener.name}: {name} asks for a Java class, which kconf cannot call")
    ladder = service.state.ladder
    delay = listener.setting(effective, "connection.failed.authentication.delay.ms")
    largest = listener.setting(effective, "sasl.server.max.receive.size")
    return Realm(
        mechanisms,
        _plain_users(listener, effective) if PLAIN in mechanisms else {},
        lambda: service.state.snapshot,
        {each: _lifetime(listener, effective, each) for each in mechanisms},
        (int(delay) if delay else ladder.number("connection.failed.authentication.delay.ms")) / 1000,
        int(largest) if largest else ladder.number("sasl.server.max.receive.size"),
        _decoys(service),
    )


def _plain_users(listener: Listener, effective: Mapping[str, str]) -> dict[str, str]:
    name = "plain.sasl.jaas.config"
    text = listener.setting(effective, name)
    if text is None:
        raise ConfigurationError(f"listener {listener.name}: PLAIN needs {listener.prefixed(name)} with its users")
    options = parse(text).options
    return {key.removeprefix("user_"): value for key, value in options.items() if key.startswith("user_")}


def _lifetime(listener: Listener, effective: Mapping[str, str], mechanism: str) -> int:
    key = "connections.max.reauth.ms"
    text = listener.setting(effective, f"{mechanism.lower()}.{key}") or listener.setting(effective, key) or "0"
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"listener {listener.name}: {key} is a number of milliseconds") from None


def _decoys(service: Service) -> Decoys:
    """Their key is the same for as long as the store lives, so that a restart does not tell who exists."""
    (sealed,) = service.store.sealed(Revision(0, 0, Caller(), (_SALTS,))).changes
    made = Decoys(digest((sealed.after or "").encode(), b"salts", sha256), service.state.snapshot)
    service.subscribe(made.follow)
    return made


def _principals(listener: Listener, service: Service) -> Callable[[bytes], str | None]:
    from kconf.server.tls import PrincipalRules, subject_of

    text = listener.setting(service.state.ladder.effective, "ssl.principal.mapping.rules")
    rules = PrincipalRules.parse(text or "DEFAULT")

    def name(der: bytes) -> str | None:
        found = rules.apply(subject_of(der))
        return None if found is None else f"User:{found}"

    return name
