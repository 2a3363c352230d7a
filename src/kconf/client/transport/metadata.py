"""What a client knows of its cluster: which nodes there are, who is the controller, which address failed last.

No I/O: `conduct.py` asks and tells it. Lines are by address, since several ids may share one (kconf beside brokers).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kconf.client.calls.base import ANY, CONTROLLER
from kconf.client.settings import Address, ClientSettings

if TYPE_CHECKING:
    from kconf.model.cluster import Node

MAX_AGE = 300.0  # seconds after which nodes are asked for again, as in Java


class ClusterMetadata:
    """Nodes as of the last metadata. Before the first, everything goes to the bootstrap list."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self.nodes: dict[int, Node] = {}
        self.controller: int | None = None
        self.reached = False
        self._learned = 0.0
        self._before: list[Address] = []
        self._failed: dict[Address, int] = {}
        self._failures = 0
        self._turn = 0

    def learn(self, nodes: Iterable[Node], controller: int | None, now: float) -> None:
        self.nodes = {each.id: each for each in nodes}
        self.controller = controller if controller in self.nodes else None
        self._learned = now

    def forget(self) -> None:
        """Whoever needs to know who is who asks again; where the nodes were is kept, to have someone to ask."""
        if self.nodes:
            self._before = self._addresses()
        self.nodes, self.controller = {}, None

    def is_known(self, now: float) -> bool:
        return bool(self.nodes) and now - self._learned < MAX_AGE

    def blame(self, address: Address) -> None:
        """This address did not answer: others are asked first, and the nodes may have moved."""
        self._failures += 1
        self._failed[address] = self._failures
        self.forget()

    def absolve(self, address: Address) -> None:
        self.reached = True
        self._failed.pop(address, None)

    def first(self) -> Address:
        """Whom to ask when anyone will do: the first that did not fail, else the one that failed longest ago."""
        if not self.settings.bootstrap:
            raise AssertionError("a client has at least one address")
        return min(self._candidates(), key=lambda each: self._failed.get(each, 0))

    def target(self, route: int) -> Address | None:
        """Where something goes; None: there is no such node, or nobody knows."""
        if route == ANY and not self.settings.controllers:
            return self.first()
        if route in (ANY, CONTROLLER):
            route = -1 if self.controller is None else self.controller
        found = self.nodes.get(route)
        return Address(found.host, found.port) if found else None

    def spread(self, count: int) -> Sequence[Address]:
        """Addresses for so many requests that any broker can answer, in turns."""
        usable = [each for each in self._addresses() if each not in self._failed] or [self.first()]
        self._turn += count
        return [usable[(self._turn + number) % len(usable)] for number in range(count)]

    def _addresses(self) -> list[Address]:
        return list(dict.fromkeys(Address(each.host, each.port) for each in self.nodes.values()))

    def _candidates(self) -> list[Address]:
        """The bootstrap list, since a line to it may be open, then the nodes."""
        return list(dict.fromkeys([*self.settings.bootstrap, *self._addresses(), *self._before]))
