"""Opens asyncio connections: TCP, TLS, and the data for the login."""

from __future__ import annotations

import asyncio
from ssl import SSLCertVerificationError, SSLContext, SSLError

from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.failures import connect_reason, reason
from kconf.client.transport.handshake import Login
from kconf.errors import AuthenticationFailed, ConnectionFailed


class Connector:
    """Connects protocols to addresses. The TLS context is created once."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._context: SSLContext | None = None

    async def login(self, address: Address) -> Login | None:
        sasl = self._settings.security.sasl
        if sasl is None:
            return None
        if sasl.blocks:  # fetching a token must not block the event loop
            return await asyncio.wrap_future(Login.in_thread(sasl, address.host))
        return Login.start(sasl, address.host)

    async def connect(self, protocol: asyncio.Protocol, address: Address) -> None:
        """Connect. Raises AuthenticationFailed or ConnectionFailed, also for unexpected errors such as those of an
        invalid host name. The caller enforces the timeout.
        """
        loop = asyncio.get_running_loop()
        tls = self._settings.security.tls
        if tls is not None and self._context is None:
            self._context = tls.context()
        server_hostname = None if self._context is None else address.host
        try:
            await loop.create_connection(lambda: protocol, *address, ssl=self._context, server_hostname=server_hostname)
        except SSLCertVerificationError as error:
            raise AuthenticationFailed(
                f"the certificate of {address} is not trusted: {error.verify_message}"
            ) from error
        except SSLError as error:
            raise AuthenticationFailed(f"TLS handshake with {address} failed: {reason(error)}") from error
        except Exception as error:
            why = connect_reason(error, self._settings.security)
            raise ConnectionFailed(f"cannot connect to {address}: {why}") from error
