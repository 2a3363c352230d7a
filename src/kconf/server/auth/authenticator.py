"""Authenticates the clients of one listener: by SASL, by TLS client certificate, or as ANONYMOUS."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from kconf.engine.access.acls import Authorizer
from kconf.errors import RemoteProtocolError
from kconf.server.auth.authorizer import authorize_function
from kconf.server.auth.mechanisms import SaslConfig
from kconf.server.auth.sasl_authenticator import SaslServerAuthenticator
from kconf.server.auth.sasl_config import principal_mapping_of, sasl_config_of
from kconf.server.connection_context import ConnectionContext
from kconf.server.listener_config import EndPoint
from kconf.service import Service

if TYPE_CHECKING:
    from kconf.server.auth.oauthbearer.jwks import JwksSource
    from kconf.server.auth.upstream_credentials import UpstreamCredentials


class ClientRejected(RemoteProtocolError):
    """The client is rejected before it sends a request."""


class Authenticator:
    """Sets the principal and the authorization of each connection."""

    def __init__(
        self,
        endpoint: EndPoint,
        service: Service,
        authorizer: Authorizer | None,
        now: Callable[[], float],
        upstream: UpstreamCredentials | None = None,
    ) -> None:
        self._authorizer, self._now = authorizer, now
        self._sasl: SaslConfig | None = None
        self._keys: JwksSource | None = None
        if endpoint.protocol.sasl:
            self._sasl, self._keys = sasl_config_of(endpoint, service, upstream)
        self._refresh: asyncio.Task[None] | None = None
        self._principal_of = principal_mapping_of(endpoint, service) if endpoint.protocol.tls else None

    async def open(self) -> None:
        """Read the public keys of the OAUTHBEARER provider and refresh them. Tokens are refused until they are read."""
        if self._keys is not None:
            loaded = await self._keys.load()
            self._refresh = asyncio.create_task(self._keys.run(loaded=loaded), name="keys of the token provider")

    def close(self) -> None:
        if self._refresh is not None:
            self._refresh.cancel()

    def authenticate(
        self, connection: ConnectionContext, transport: asyncio.BaseTransport
    ) -> SaslServerAuthenticator | None:
        """The SASL exchange that the client must complete first, or None if the client is already authenticated.

        Raises ClientRejected.
        """
        connection.authorize = _deny_all
        if self._sasl is not None:
            return SaslServerAuthenticator(
                self._sasl, lambda user: self._identify(connection, f"User:{user}"), self._now
            )
        principal = connection.principal
        if self._principal_of is not None:
            certificate = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
            if certificate is not None:
                try:
                    mapped = self._principal_of(certificate)
                except ValueError as error:  # not DER
                    raise ClientRejected(str(error)) from None
                if mapped is None:
                    raise ClientRejected("no rule of ssl.principal.mapping.rules matches the client's certificate")
                principal = mapped
        self._identify(connection, principal)
        return None

    def _identify(self, connection: ConnectionContext, principal: str) -> None:
        connection.principal = principal
        connection.authorize = authorize_function(self._authorizer, principal, connection.host)


def _deny_all(*_: object) -> bool:
    """The authorization of a client that is not authenticated yet."""
    return False
