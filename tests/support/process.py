"""A real `kconf serve` process for the duration of a `with` block.

It listens on a free loopback port, and its store is in its own directory, which is removed at the end. After `kill` and
`stop` the store still exists: `start` uses it again, on the same port.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

HOST = "127.0.0.1"
_READY = re.compile(
    r"^kconf \S+ ready: listening on \S+:(?P<port>\d+) .*?(?:metrics=(?P<metrics>\S+))?\n", re.MULTILINE
)
_NAMED = re.compile(r"\b([A-Z_]+)://[^\s,]+:(\d+)")


class KconfProcess:
    """A server that is ready when the `with` block starts.

    `properties` becomes its server.properties, `args` are passed to `kconf serve`, `environment` extends the current
    one, and `store` is a URL; the default is `kconf.db` in `directory`. `listeners` replace the single plain port (see
    `address`); `port` is that of the first. `from_file`: open the listeners of server.properties. `elr_version` is the
    feature level of a new store: 0, as for the lab's brokers, so that only the test sets configs; None for the server's
    default, which is that of a new Kafka cluster.
    """

    def __init__(
        self,
        *,
        properties: Mapping[str, str] | None = None,
        args: Sequence[str] = (),
        listeners: Sequence[str] = (),
        from_file: bool = False,
        node_id: int = 1,
        store: str | None = None,
        elr_version: int | None = 0,
        environment: Mapping[str, str] | None = None,
        timeout: float = 120.0,
    ) -> None:
        self.host = HOST
        self.node_id = node_id
        self.port = 0
        self.metrics_url: str | None = None
        self._properties = dict(properties or {})
        self._args = tuple(args)
        self._ports = dict.fromkeys(listeners, 0)
        self._from_file = from_file
        self._store = store
        self._elr_version = elr_version
        self._environment = dict(environment or {})
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._directory: Path | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    def address(self, listener: str) -> str:
        """`host:port` of a listener by its name."""
        return f"{HOST}:{self._ports[listener]}"

    @property
    def directory(self) -> Path:
        if self._directory is None:
            raise RuntimeError("kconf has not been started")
        return self._directory

    @property
    def store(self) -> str:
        return self._store if self._store is not None else f"sqlite:///{self.directory / 'kconf.db'}"

    @property
    def log_path(self) -> Path:
        return self.directory / "kconf.log"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("kconf is not running")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        """The whole output of the process, over all starts."""
        return self.log_path.read_text(errors="replace")

    def start(self) -> None:
        """Start, and wait until the server reports that it is ready."""
        if self._process is not None:
            raise RuntimeError("kconf is running already")
        atexit.register(self.close)
        try:
            if self._directory is None:
                self._directory = Path(tempfile.mkdtemp(prefix="kconf-"))
                lines = (f"{key}={value}\n" for key, value in self._properties.items())
                (self._directory / "server.properties").write_text("".join(lines))
            self._launch()
        except BaseException:
            self.close()
            raise

    def stop(self, *, timeout: float = 60.0) -> int:
        """Stop the server with SIGTERM, keep its directory, and return its exit status."""
        process, self._process = self._process, None
        if process is None:
            raise RuntimeError("kconf is not running")
        process.terminate()
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def kill(self) -> None:
        """Kill the server with SIGKILL, like a crash, and keep its directory. May be repeated."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def restart(self) -> None:
        """Stop, and start again on the same store and the same port."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop the server and remove its directory. May be repeated."""
        atexit.unregister(self.close)
        self.kill()
        directory, self._directory = self._directory, None
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)

    def connect(self, *, timeout: float = 60.0) -> socket.socket:
        """A new connection to the server."""
        return socket.create_connection((HOST, self.port), timeout=timeout)

    def _launch(self) -> None:
        said = self.log_path.stat().st_size if self.log_path.exists() else 0
        began = time.monotonic()
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.directory,
                env={**os.environ, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        while (ready := _READY.search(self.log_path.read_bytes()[said:].decode("utf-8", "replace"))) is None:
            if self._process.poll() is not None:
                raise RuntimeError(f"kconf ended with {self._process.returncode}:\n{self.log()}")
            if time.monotonic() - began > self._timeout:
                raise RuntimeError(f"kconf was not ready in {self._timeout:.0f} s:\n{self.log()}")
            time.sleep(0.01)
        self.port = int(ready["port"])
        for name, port in _NAMED.findall(ready[0]):
            if name in self._ports:
                self._ports[name] = int(port)
        self.metrics_url = ready["metrics"]

    def _command(self) -> list[str]:
        return [
            *(sys.executable, "-m", "kconf", "serve"),
            *self._listen(),
            *("--store", self.store),
            *("--node-id", str(self.node_id)),
            *("--config", str(self.directory / "server.properties")),
            *self._features(),
            *self._args,
        ]

    def _features(self) -> list[str]:
        if self._elr_version is None:
            return []
        return ["--feature", f"eligible.leader.replicas.version={self._elr_version}"]

    def _listen(self) -> list[str]:
        if self._from_file:
            return []
        if not self._ports:
            return ["--listen", f"{HOST}:{self.port}"]
        return [part for name, port in self._ports.items() for part in ("--listen", f"{name}://{HOST}:{port}")]


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as trial:
        trial.bind((HOST, 0))
        return int(trial.getsockname()[1])
