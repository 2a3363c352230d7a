"""A real Kafka broker for the duration of a `with` block.

One node on free loopback ports: in KRaft mode as broker and controller, or, up to 3.9, with a ZooKeeper that may be
shared with other brokers and with kconf.
"""

from __future__ import annotations

import base64
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab import knock
from lab.jars import classpath, java_command
from lab.java import QUICK, LabError, compiled
from lab.server import HOST, JavaServer, free_ports

SHORT_LIVED = ("-Xmx1G", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # for tests, which mostly wait for the start
AT_FULL_SPEED = ("-Xmx1G",)  # Kafka's own options, for benchmarks


class KafkaBroker(JavaServer):
    """A broker that is ready when the `with` block starts.

    `listeners` adds named listeners to the plain one (`{"SASL": "SASL_PLAINTEXT"}`; see `address`), `properties`
    overrides server.properties, and `format_args` is passed to `StorageTool format` (`--add-scram`, …). `zookeeper` is
    `zookeeper.connect` (`127.0.0.1:2181/chroot`); without it the broker is in KRaft mode.
    """

    def __init__(
        self,
        version: str = "4.3.1",
        *,
        properties: Mapping[str, str] | None = None,
        listeners: Mapping[str, str] | None = None,
        node_id: int = 1,
        zookeeper: str | None = None,
        elr_version: int = 0,
        format_args: Sequence[str] = (),
        jvm_options: Sequence[str] = SHORT_LIVED,
        timeout: float = 120.0,
    ) -> None:
        super().__init__(f"Kafka {version}", timeout=timeout)
        self.version = version
        self.node_id = node_id
        self.cluster_id = new_cluster_id()  # with ZooKeeper the first broker creates another one
        self._zookeeper = zookeeper
        self._extra = dict(properties or {})
        controller = {"CONTROLLER": "PLAINTEXT"} if zookeeper is None else {}
        self._protocols = {"PLAINTEXT": "PLAINTEXT", **controller, **(listeners or {})}
        self._controller_names = self._extra.get("controller.listener.names", "CONTROLLER").split(",")
        self._elr_version = elr_version
        self._format_args = tuple(format_args)
        self._jvm_options = tuple(jvm_options)
        self._ports: dict[str, int] = {}

    @property
    def port(self) -> int:
        return self._ports["PLAINTEXT"]

    @property
    def bootstrap(self) -> str:
        return self.address("PLAINTEXT")

    def address(self, listener: str) -> str:
        """`host:port` of a listener by its name."""
        return f"{HOST}:{self._ports[listener]}"

    @property
    def properties_path(self) -> Path:
        return self.directory / "server.properties"

    def _prepare(self) -> None:
        if not self._ports:
            self._ports = dict(zip(self._protocols, free_ports(len(self._protocols)), strict=True))
        lines = {**self._server_properties(), **self._extra}
        self.properties_path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        if self._zookeeper is None:
            self._format()

    def _server_properties(self) -> dict[str, str]:
        listening = [f"{name}://{self.address(name)}" for name in self._protocols]
        return {
            **self._role(),
            "inter.broker.listener.name": "PLAINTEXT",
            "listeners": ",".join(listening),
            "advertised.listeners": ",".join(
                each for each in listening if each.partition("://")[0] not in self._controller_names
            ),
            "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in self._protocols.items()),
            "log.dirs": str(self.directory / "data"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
        }

    def _role(self) -> dict[str, str]:
        if self._zookeeper is not None:
            return {"broker.id": str(self.node_id), "zookeeper.connect": self._zookeeper}
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            "controller.quorum.bootstrap.servers": self.address("CONTROLLER"),
            "controller.listener.names": "CONTROLLER",
        }

    def _format(self) -> None:
        # Eligible leader replicas were added in 4.0; since 4.1 a new cluster has them, and they change what
        # min.insync.replicas means. 3.9 does not have the feature.
        features: list[str] = []
        if not self.version.startswith("3."):
            features = ["--feature", f"eligible.leader.replicas.version={self._elr_version}"]
        elif self._elr_version != 0:
            raise LabError(f"Kafka {self.version} has no eligible leader replicas.")
        place = ["-t", self.cluster_id, "-c", str(self.properties_path)]
        arguments = [*self._quorum(), *place, *features, *self._format_args]
        classes = compiled(self.version, classpath(self.version))  # server.properties may name classes of the lab
        command = java_command(
            self.version, "kafka.tools.StorageTool", "format", *arguments, options=QUICK, classes=classes
        )
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=self._timeout)
        if done.returncode != 0:
            raise LabError(f"StorageTool {self.version} refused to format:\n{done.stdout}{done.stderr}")

    def _quorum(self) -> Sequence[str]:
        """The initial quorum: only this node."""
        return ["--standalone"]

    def _command(self) -> list[str]:
        main = ("Lifeline", "kafka.Kafka", str(self.properties_path))
        classes = compiled(self.version, classpath(self.version))
        return java_command(self.version, *main, options=self._jvm_options, level="INFO", classes=classes)

    def _serves(self) -> bool:
        return knock.serves(HOST, self.port, self.node_id)


def new_cluster_id() -> str:
    """A random ID in Kafka's format: base64 of 16 bytes, not starting with a dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text
