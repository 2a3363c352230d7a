"""A real Kafka broker, for as long as a `with` block lasts.

One node in KRaft mode, broker and controller at once, on free loopback ports, in a directory of its own that is
removed at the end. It is ended by its own pid alone, and by itself when the process that started it is gone.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import random
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from lab import knock
from lab.jars import classpath, java_command
from lab.java import QUICK, LabError, compiled

HOST = "127.0.0.1"


class KafkaBroker:
    """A broker that has answered by the time `with` hands it over.

    `listeners` adds named listeners to the plain one (`{"SASL": "SASL_PLAINTEXT"}`; see `address`), `properties`
    has the last word in server.properties, and `format_args` goes to `StorageTool format` (`--add-scram`, …).
    """

    def __init__(
        self,
        version: str = "4.3.1",
        *,
        properties: Mapping[str, str] | None = None,
        listeners: Mapping[str, str] | None = None,
        node_id: int = 1,
        elr_version: int = 0,
        format_args: Sequence[str] = (),
        jvm_options: Sequence[str] = ("-Xmx1G",),
        timeout: float = 120.0,
    ) -> None:
        self.version = version
        self.host = HOST
        self.node_id = node_id
        self.start_seconds = 0.0
        self.cluster_id = _cluster_id()
        self._extra = dict(properties or {})
        self._protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **(listeners or {})}
        self._elr_version = elr_version
        self._format_args = tuple(format_args)
        self._jvm_options = tuple(jvm_options)
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._ports: dict[str, int] = {}
        self._directory: Path | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
    def directory(self) -> Path:
        if self._directory is None:
            raise LabError("The broker has not been started.")
        return self._directory

    @property
    def properties_path(self) -> Path:
        return self.directory / "server.properties"

    @property
    def log_path(self) -> Path:
        return self.directory / "broker.log"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise LabError("The broker is not running.")
        return self._process.pid

    def rss_bytes(self) -> int:
        """The memory that the broker holds now."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise LabError(f"The broker with pid {self.pid} has no memory: it has ended.")

    def start(self) -> None:
        """Format a new directory if there is none yet, start, and wait until the broker serves."""
        if self._process is not None:
            raise LabError("The broker is running already.")
        atexit.register(self.close)
        try:
            if self._directory is None:
                self._prepare()
            self._launch()
        except BaseException:
            self.close()
            raise

    def stop(self, *, timeout: float = 60.0) -> None:
        """End the broker as an operator would (SIGTERM) and keep its directory."""
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout)
        self.kill()

    def kill(self) -> None:
        """End the broker with SIGKILL, as a crash would, and keep its directory."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def restart(self) -> None:
        """Stop and start on the same directory, the same ports and with the same server.properties."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End the broker and remove its directory; harmless when repeated."""
        atexit.unregister(self.close)
        self.kill()
        directory, self._directory = self._directory, None
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)

    def _prepare(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix=f"kafka-{self.version}-"))
        self._ports = dict(zip(self._protocols, _free_ports(len(self._protocols)), strict=True))
        lines = {**self._server_properties(), **self._extra}
        self.properties_path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        self._format()

    def _server_properties(self) -> dict[str, str]:
        listening = [f"{name}://{self.address(name)}" for name in self._protocols]
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            "controller.quorum.bootstrap.servers": self.address("CONTROLLER"),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listeners": ",".join(listening),
            "advertised.listeners": ",".join(each for each in listening if not each.startswith("CONTROLLER:")),
            "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in self._protocols.items()),
            "log.dirs": str(self.directory / "data"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
        }

    def _format(self) -> None:
        # Eligible leader replicas came with 4.0; from 4.1 on a new cluster has them, and they change what
        # min.insync.replicas means. 3.9 knows no such feature.
        features: list[str] = []
        if not self.version.startswith("3."):
            features = ["--feature", f"eligible.leader.replicas.version={self._elr_version}"]
        elif self._elr_version != 0:
            raise LabError(f"Kafka {self.version} has no eligible leader replicas.")
        wishes = ["--standalone", "-t", self.cluster_id, "-c", str(self.properties_path), *features, *self._format_args]
        classes = compiled(self.version, classpath(self.version))  # server.properties may name one of the lab's
        command = java_command(
            self.version, "kafka.tools.StorageTool", "format", *wishes, options=QUICK, classes=classes
        )
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=self._timeout)
        if done.returncode != 0:
            raise LabError(f"StorageTool {self.version} refused to format:\n{done.stdout}{done.stderr}")

    def _launch(self) -> None:
        began = time.monotonic()
        main = ("Lifeline", "kafka.Kafka", str(self.properties_path))
        classes = compiled(self.version, classpath(self.version))
        command = java_command(self.version, *main, options=self._jvm_options, level="INFO", classes=classes)
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.directory, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )
        while not knock.serves(HOST, self.port, self.node_id):
            if self._process.poll() is not None:
                raise LabError(f"Kafka {self.version} ended with {self._process.returncode}.\n{self._log_tail()}")
            if time.monotonic() - began > self._timeout:
                raise LabError(f"Kafka {self.version} did not serve in {self._timeout:.0f} s.\n{self._log_tail()}")
            time.sleep(0.05)
        self.start_seconds = time.monotonic() - began

    def _log_tail(self) -> str:
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-40:])


def _cluster_id() -> str:
    """A random id in Kafka's spelling: base64 of 16 bytes, not opening with a dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def _free_ports(count: int) -> list[int]:
    """Free ports below the range from which the system lends ports to clients, so that a restart finds them free."""
    ports: list[int] = []
    for port in random.sample(range(15_000, 32_000), 2_000):
        with socket.socket() as trial, contextlib.suppress(OSError):
            trial.bind((HOST, port))
            ports.append(port)
        if len(ports) == count:
            return ports
    raise LabError("There are no free ports.")
