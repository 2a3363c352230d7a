"""Of a gateway: the port of each listener at which it answers for one broker.

`network` opens the ports (network/broker_listeners.py), and `api` tells clients about them.
"""

from __future__ import annotations


class BrokerAddresses:
    """Empty where all brokers have the address of the listener."""

    def __init__(self) -> None:
        self._ports: dict[tuple[str, int], int] = {}  # by listener and broker
        self._shared: dict[str, int] = {}  # the port that is no broker's, by listener

    def share(self, listener: str, port: int) -> None:
        """The port of a listener itself, as clients see it."""
        self._shared[listener] = port

    def add(self, listener: str, node: int, port: int) -> None:
        self._ports[listener, node] = port

    def remove(self, listener: str, node: int) -> None:
        del self._ports[listener, node]

    def port(self, listener: str, node: int, reached: int) -> int:
        """Where clients of a listener reach a broker; `reached` is the port that this client has used."""
        return self._ports.get((listener, node)) or self._shared.get(listener, reached)
