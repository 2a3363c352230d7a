"""A real Kafka cluster of several nodes, for the duration of a `with` block.

Each node is broker and controller, or the cluster has one broker and one controller that can be stopped separately.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from lab.broker import SHORT_LIVED, KafkaBroker, new_cluster_id
from lab.server import HOST, free_ports


class _Node(KafkaBroker):
    """A broker whose controllers are all nodes of its cluster."""

    def __init__(self, node_id: int, ports: tuple[int, int], voters: str, cluster_id: str, version: str) -> None:
        super().__init__(version, node_id=node_id, jvm_options=("-Xmx512m", *SHORT_LIVED[1:]))
        self.cluster_id = cluster_id
        self._ports = dict(zip(("PLAINTEXT", "CONTROLLER"), ports, strict=True))
        self._voters = voters

    def _server_properties(self) -> dict[str, str]:
        found = super()._server_properties()
        del found["controller.quorum.bootstrap.servers"]
        return {**found, "controller.quorum.voters": self._voters}

    def _quorum(self) -> Sequence[str]:
        """The voters are in server.properties."""
        return []


class KafkaCluster:
    """Nodes 1, 2, … that are ready when the `with` block starts."""

    def __init__(self, size: int = 3, version: str = "4.3.1") -> None:
        ports = free_ports(2 * size)
        pairs = list(zip(ports[::2], ports[1::2], strict=True))
        voters = ",".join(f"{place}@{HOST}:{controller}" for place, (_, controller) in enumerate(pairs, 1))
        cluster_id = new_cluster_id()
        self.nodes: Sequence[KafkaBroker] = [
            _Node(place, pair, voters, cluster_id, version) for place, pair in enumerate(pairs, 1)
        ]
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as held:
            for node in self.nodes:
                held.callback(node.close)
                node.launch()
            for node in self.nodes:
                node.await_serving()
            self._held = held.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes)

    @property
    def controllers(self) -> str:
        """The controllers' own addresses."""
        return ",".join(node.address("CONTROLLER") for node in self.nodes)


class _Controller(KafkaBroker):
    """A controller that is not a broker."""

    def _role(self) -> dict[str, str]:
        return {**super()._role(), "process.roles": "controller"}

    def _server_properties(self) -> dict[str, str]:
        found = super()._server_properties()
        del found["advertised.listeners"], found["inter.broker.listener.name"]
        return {**found, "listeners": f"CONTROLLER://{self.address('CONTROLLER')}"}

    def _serves(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection((HOST, self._ports["CONTROLLER"]), timeout=5):
            return True
        return False


class _Broker(KafkaBroker):
    """A broker that is not a controller."""

    def __init__(self, controller: _Controller) -> None:
        super().__init__(controller.version, node_id=controller.node_id + 1)
        self.cluster_id = controller.cluster_id
        self._controller = controller

    def _server_properties(self) -> dict[str, str]:
        found = super()._server_properties()
        return {
            **found,
            "process.roles": "broker",
            "controller.quorum.bootstrap.servers": self._controller.address("CONTROLLER"),
            "listeners": f"PLAINTEXT://{self.address('PLAINTEXT')}",
        }

    def _quorum(self) -> Sequence[str]:
        return []


class SeparateNodes:
    """A controller and a broker. `of_controller` overrides the server.properties of the controller."""

    def __init__(self, version: str = "4.3.1", *, of_controller: Mapping[str, str] | None = None) -> None:
        self.controller = _Controller(version, properties=of_controller)
        self.broker = _Broker(self.controller)
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as held:
            held.enter_context(self.controller)
            held.enter_context(self.broker)
            self._held = held.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap

    @property
    def controllers(self) -> str:
        return self.controller.address("CONTROLLER")
