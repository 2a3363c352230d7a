"""How many connections there may be: `max.connections`, for all and for one listener, and `max.connections.per.ip`.

The limits are those in force, so that a change acts on the next connection; connections that are there stay.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from kconf.engine.access.acls import same_host
from kconf.engine.configs.resolver import ConfigResolver
from kconf.server.network.listener_config import EndPoint
from kconf.service import Service

_LOOPBACK = ("127.0.0.1", "::1")


class ConnectionQuotas:
    """Counts connections and says which is one too many."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._hosts: Counter[str] = Counter()
        self._listeners: Counter[str] = Counter()
        self._ladder: ConfigResolver | None = None
        self._most = self._most_per_host = 0
        self._overrides: dict[str, int] = {}
        self._waiting: list[asyncio.Future[None]] = []  # for room; one for each socket that listens at most
        service.subscribe(lambda _: self._changed())

    def full(self, listener: EndPoint) -> str | None:
        """Why one more connection has to wait; None: there is room."""
        ladder = self._in_force()
        if self._listeners.total() >= self._most:
            return f"max.connections is {self._most}"
        own = ladder.effective.get(listener.prefixed("max.connections"))
        if own is not None and self._listeners[listener.name] >= int(own):
            return f"max.connections of listener {listener.name} is {own}"
        return None

    def refusal(self, host: str) -> str | None:
        """Why one more connection from there is too many; None: it is not."""
        self._in_force()
        if self._hosts.get(host, 0) >= self._overrides.get(host, self._most_per_host):
            return "max.connections.per.ip is reached"
        return None

    def change(self) -> asyncio.Future[None]:
        """Done when someone has gone, or a limit may be another one."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        return waiting

    def opened(self, host: str, listener: EndPoint) -> None:
        self._hosts[host] += 1
        self._listeners[listener.name] += 1

    def closed(self, host: str, listener: EndPoint) -> None:
        self._listeners[listener.name] -= 1
        self._hosts[host] -= 1
        if self._hosts[host] <= 0:
            del self._hosts[host]  # strangers come from many places
        self._changed()

    def _changed(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                if not each.done():
                    each.set_result(None)

    def _in_force(self) -> ConfigResolver:
        ladder = self._service.state.ladder
        if ladder is not self._ladder:
            self._read(ladder)
        return ladder

    def _read(self, ladder: ConfigResolver) -> None:
        self._most = ladder.number("max.connections")
        self._most_per_host = ladder.number("max.connections.per.ip")
        self._overrides = {}
        for item in (ladder.value("max.connections.per.ip.overrides") or "").split(","):
            host, colon, count = item.strip().rpartition(":")
            if colon and count.strip().lstrip("+").isdecimal():
                for each in _LOOPBACK if host == "localhost" else (same_host(host.strip("[]")),):
                    self._overrides[each] = int(count)
        self._ladder = ladder
