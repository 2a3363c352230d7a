"""The metadata of a client's cluster: nodes, controller, and addresses that failed recently.

Does no I/O: call_runner.py requests metadata and updates this. Connections are keyed by address, since several node ids
may share one (kconf in front of brokers).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kconf.client.calls.base import ANY, CONTROLLER
from kconf.client.settings import Address, ClientSettings

if TYPE_CHECKING:
    from kconf.model.cluster import Node

MAX_AGE = 300.0  # seconds until metadata is refreshed, as in Java


class ClusterMetadata:
    """The nodes of the last metadata response. Before the first one, requests go to the bootstrap addresses."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self.nodes: dict[int, Node] = {}
        self.controller: int | None = None
        self.reached = False
        self._updated = 0.0
        self._previous: list[Address] = []
        self._failed: dict[Address, int] = {}
        self._failures = 0
        self._next = 0

    def update(self, nodes: Iterable[Node], controller: int | None, now: float) -> None:
        self.nodes = {each.id: each for each in nodes}
        self.controller = controller if controller in self.nodes else None
        self._updated = now

    def invalidate(self) -> None:
        """Request metadata again before its next use. The old addresses remain candidates for that request."""
        if self.nodes:
            self._previous = self._node_addresses()
        self.nodes, self.controller = {}, None

    def is_fresh(self, now: float) -> bool:
        return bool(self.nodes) and now - self._updated < MAX_AGE

    def mark_failed(self, address: Address) -> None:
        """Prefer other addresses, and refresh the metadata: the nodes may have moved."""
        self._failures += 1
        self._failed[address] = self._failures
        self.invalidate()

    def mark_reachable(self, address: Address) -> None:
        self.reached = True
        self._failed.pop(address, None)

    def preferred_address(self) -> Address:
        """The address for requests to any node: the first that has not failed, or the one that failed longest ago."""
        return min(self._candidates(), key=lambda each: self._failed.get(each, 0))

    def address_of(self, route: int) -> Address | None:
        """The address for a route, or None if the node does not exist or is unknown."""
        if route == ANY and not self.settings.bootstrap.controllers:
            return self.preferred_address()
        if route in (ANY, CONTROLLER):
            route = -1 if self.controller is None else self.controller
        found = self.nodes.get(route)
        return Address(found.host, found.port) if found else None

    def round_robin(self, count: int) -> Sequence[Address]:
        """Addresses for a number of requests that any broker can answer."""
        usable = [each for each in self._node_addresses() if each not in self._failed] or [self.preferred_address()]
        self._next += count
        return [usable[(self._next + number) % len(usable)] for number in range(count)]

    def _node_addresses(self) -> list[Address]:
        return list(dict.fromkeys(Address(each.host, each.port) for each in self.nodes.values()))

    def _candidates(self) -> list[Address]:
        """All addresses, bootstrap addresses first, since a connection to one may be open."""
        return list(dict.fromkeys([*self.settings.bootstrap.addresses, *self._node_addresses(), *self._previous]))
