"""The ports on which a gateway answers for a single broker, by listener.

`network` opens the ports (network/broker_listeners.py), and `api` advertises them in Metadata.
"""

from __future__ import annotations


class BrokerAddresses:
    """The port of each broker. Empty if all brokers share the address of the listener."""

    def __init__(self) -> None:
        self._ports: dict[tuple[str, int], int] = {}  # by listener and broker
        self._shared: dict[str, int] = {}  # the listener's own port, by listener

    def share(self, listener: str, port: int) -> None:
        """Set a listener's own port, as advertised to clients."""
        self._shared[listener] = port

    def add(self, listener: str, node: int, port: int) -> None:
        self._ports[listener, node] = port

    def remove(self, listener: str, node: int) -> None:
        del self._ports[listener, node]

    def port(self, listener: str, node: int, reached: int) -> int:
        """The port of a broker for clients of a listener. `reached` is the port to which this client is connected."""
        return self._ports.get((listener, node)) or self._shared.get(listener, reached)
