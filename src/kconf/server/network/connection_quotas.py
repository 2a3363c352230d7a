"""Limits the number of connections: `max.connections`, in total and per listener, and `max.connections.per.ip`.

These limits are dynamic configs. A change applies to the next connection; open connections stay open. The acceptor
calls `full` and `over_address_limit` before the login, when only the address and the listener are known.

To add a limit by principal, add methods that connection.py calls after authentication: in `connection_made` if
`authenticate` returned None, otherwise in `_authentication_step` when the client is authenticated for the first time. A
re-authentication has the same user and must not be counted again, although `is_authenticated` is False while it lasts:
note in the connection that it was counted. `connection_lost` decrements the count of such connections only, since it is
also called for those that were refused or never logged in. Clients of a listener without authentication are all
User:ANONYMOUS. The value would be a setting (configdef/server_settings.py), since Kafka has no such key.

In `_authentication_step` the successful response already exists: close the connection without sending it, and call
`registry.rejected`. To send an error instead, let `on_success` raise `LoginFailed`, and call it in
`SaslServerAuthenticator._complete` before that sets `is_authenticated`; the connection then counts as a failed login.
`on_success` is the lambda in `Authenticator.authenticate`. server/server.py makes the `Authenticator`: pass it the
`ConnectionQuotas`.

The connection rate is limited in server/quotas/manager.py.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

from kconf.engine.access.acls import same_host
from kconf.engine.configs.broker_validation import read_ip_override
from kconf.engine.configs.resolver import ConfigResolver
from kconf.server.listener_config import EndPoint
from kconf.service import Service

_LOOPBACK = ("127.0.0.1", "::1")


class ConnectionQuotas:
    """Counts open connections and compares them with the limits."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._per_host: Counter[str] = Counter()
        self._per_listener: Counter[str] = Counter()
        self._resolver: ConfigResolver | None = None
        self._max = self._max_per_host = 0
        self._overrides: dict[str, int] = {}
        self._waiting: list[asyncio.Future[None]] = []  # waiting for room; at most one per listening socket
        service.subscribe(lambda _: self._wake())

    def full(self, endpoint: EndPoint) -> str | None:
        """Why another connection has to wait, or None if there is room."""
        resolver = self._limits()
        if self._per_listener.total() >= self._max:
            return f"max.connections={self._max} is reached"
        own = resolver.effective.get(endpoint.prefixed("max.connections"))
        if own is not None and self._per_listener[endpoint.name] >= int(own):
            return f"max.connections={own} of listener {endpoint.name} is reached"
        return None

    def over_address_limit(self, host: str) -> str | None:
        """Why another connection from this host is rejected, or None if it is accepted."""
        self._limits()
        if self._per_host.get(host, 0) >= self._overrides.get(host, self._max_per_host):
            return "max.connections.per.ip is reached"
        return None

    def changed(self) -> asyncio.Future[None]:
        """A future that is done when a connection is closed or a limit may have changed."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        return waiting

    def opened(self, host: str, endpoint: EndPoint) -> None:
        self._per_host[host] += 1
        self._per_listener[endpoint.name] += 1

    def closed(self, host: str, endpoint: EndPoint) -> None:
        self._per_listener[endpoint.name] -= 1
        self._per_host[host] -= 1
        if self._per_host[host] <= 0:
            del self._per_host[host]  # do not store every address that ever connected
        self._wake()

    def _wake(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                if not each.done():
                    each.set_result(None)

    def _limits(self) -> ConfigResolver:
        resolver = self._service.settings
        if resolver is not self._resolver:
            self._read(resolver)
        return resolver

    def _read(self, resolver: ConfigResolver) -> None:
        self._max = resolver.number("max.connections")
        self._max_per_host = resolver.number("max.connections.per.ip")
        self._overrides = {}
        for item in (resolver.value("max.connections.per.ip.overrides") or "").split(","):
            with suppress(ValueError):  # server.properties may contain any text here
                host, count = read_ip_override(item.strip())
                for each in _LOOPBACK if host == "localhost" else (same_host(host.strip("[]")),):
                    self._overrides[each] = count
        self._resolver = resolver
