"""Opens one port per broker on a gateway, and closes it when the broker leaves the cluster.

The port of broker N is FIRST + N, so it is the same after a restart and on every gateway. If the listener uses a free
port (HOST:0), the brokers get free ports too.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from logging import getLogger
from typing import Final

from kconf.configdef.java.parsing import InvalidValue
from kconf.configdef.server_settings import BROKER_PORTS, read_ports
from kconf.errors import ConfigurationError
from kconf.model.membership import ClusterMembers
from kconf.server.listener_config import EndPoint, SocketAddress, explain_bind_error
from kconf.server.network.listener import Listener, bind_address
from kconf.server.upstream.addresses import BrokerAddresses

log = getLogger(__name__)

_FOLLOW: Final = 1.0  # seconds between two checks of the cluster's members
_HIGHEST: Final = 65535


class _Ports:
    """Assigns ports to brokers, for one listener."""

    def __init__(self, endpoint: EndPoint, static: Mapping[str, str]) -> None:
        self.endpoint = endpoint
        text = endpoint.setting(static, BROKER_PORTS)
        self.is_chosen = bool(text and text.strip())
        try:
            self._range = read_ports(text) if text and text.strip() else (endpoint.address.port + 1, _HIGHEST)
        except InvalidValue as error:
            raise ConfigurationError(f"{BROKER_PORTS} of listener {endpoint.name}: {error}") from None
        self._is_free = not self.is_chosen and endpoint.address.port == 0
        self._found: dict[int, int] = {}  # ports that brokers had, if the listener uses a free port

    def are_wanted(self, brokers: int) -> bool:
        return self._range is not None and (self.is_chosen or brokers > 1)

    async def bind(self, node: int) -> list[socket.socket]:
        """Bind the port of a broker. Raises ConfigurationError."""
        port = self._found.get(node, 0) if self._is_free else self._port(node)
        address = SocketAddress(self.endpoint.address.host, port)
        try:
            with explain_bind_error(address.host or "*", port, if_in_use=""):
                sockets = await bind_address(address)
        except ConfigurationError as error:
            self._found.pop(node, None)
            raise ConfigurationError(f"broker {node} of listener {self.endpoint.name}: {error}; {_ADVICE}") from None
        if self._is_free:
            self._found[node] = int(sockets[0].getsockname()[1])
        return sockets

    def _port(self, node: int) -> int:
        assert self._range is not None
        first, last = self._range
        if first + node > last:
            raise ConfigurationError(
                f"broker {node} of listener {self.endpoint.name} would have port {first + node}, which is beyond"
                f" {last}; {_ADVICE}"
            )
        return first + node


_ADVICE: Final = f"set {BROKER_PORTS} to FIRST or FIRST-LAST (broker N gets port FIRST + N), or to none"


class BrokerListeners:
    """Opens and closes the brokers' listeners. `members` returns the members of the cluster."""

    def __init__(
        self, static: Mapping[str, str], members: Callable[[], ClusterMembers], addresses: BrokerAddresses
    ) -> None:
        self._static, self._members, self._addresses = static, members, addresses
        self._listeners: Sequence[Listener] = ()
        self._ports: dict[str, _Ports] = {}
        self._open: dict[tuple[str, int], Listener] = {}
        self._logged: set[tuple[str, int]] = set()

    async def open(self, listeners: Sequence[Listener]) -> None:
        """Open the ports of all known brokers. Raises ConfigurationError if one cannot be bound."""
        self._listeners = listeners
        for each in listeners:
            self._ports[each.endpoint.name] = _Ports(each.endpoint, self._static)
            self._addresses.share(each.endpoint.name, each.advertised[1])
        for listener, node in self._missing():
            await self._add(listener, node)

    async def follow(self) -> None:
        """Follow the members of the cluster until cancelled. A port that cannot be bound is retried."""
        while True:
            await asyncio.sleep(_FOLLOW)
            await self.update()

    async def update(self) -> None:
        nodes = self._members().brokers
        for name, node in [key for key in self._open if key[1] not in nodes]:
            self._addresses.remove(name, node)
            self._open.pop((name, node)).stop_accepting()
        for listener, node in self._missing():
            try:
                await self._add(listener, node)
            except ConfigurationError as error:
                key = listener.endpoint.name, node
                if key not in self._logged:
                    self._logged.add(key)
                    log.error("%s; requests about broker %d are refused until its port is open", error, node)

    def close(self) -> None:
        for each in self._open.values():
            each.stop_accepting()

    def _missing(self) -> list[tuple[Listener, int]]:
        nodes = self._members().ids
        return [
            (listener, node)
            for listener in self._listeners
            if self._ports[listener.endpoint.name].are_wanted(len(nodes)) or self._has_ports(listener)
            for node in nodes
            if (listener.endpoint.name, node) not in self._open
        ]

    def _has_ports(self, listener: Listener) -> bool:
        """Whether brokers already have their own ports. They keep them even if only one broker is left."""
        return any(name == listener.endpoint.name for name, _ in self._open)

    async def _add(self, main: Listener, node: int) -> None:
        name = main.endpoint.name
        sockets = await self._ports[name].bind(node)
        listener = main.for_broker(node, sockets)
        try:
            listener.accept()
        except BaseException:
            for each in sockets:
                each.close()
            raise
        self._open[name, node] = listener
        self._addresses.add(name, node, listener.port)
        self._logged.discard((name, node))
