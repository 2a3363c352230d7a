"""The two compared servers: Kafka's own broker from the lab, and kconf, as context managers with one interface.

Both run with their default settings (Kafka with others: `--kafka-property`), on loopback, with their files in the same
file system. The start is measured in the same way for both: from before the process is created to the first response to
ApiVersions.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from bench import requests
from bench.guard import Guard
from bench.load import BenchError
from lab.broker import AT_FULL_SPEED, KafkaBroker

ROOT = Path(__file__).parents[1]
KAFKA_VERSION = "4.3.1"


class Peer(Protocol):
    """A measured server."""

    name: str
    start_seconds: float
    shows_writes_within: float  # seconds until a describe shows an acknowledged change

    @property
    def address(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def restart(self) -> None:
        """Stop it and start it again on the same files; sets `start_seconds`."""
        ...

    def crash(self) -> None:
        """Kill it with SIGKILL and start it again on the same files."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Kafka:
    """A real broker. Its start time is measured with a restart, because the first start has no existing files."""

    name = "kafka"
    shows_writes_within = 180.0  # a broker learns of a change after the controller has responded

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        self.start_seconds = 0.0
        self._broker = KafkaBroker(KAFKA_VERSION, properties=properties, jvm_options=AT_FULL_SPEED)

    def __enter__(self) -> Self:
        self._broker.start()
        self.start_seconds = self._broker.start_seconds
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        return self._broker.bootstrap

    @property
    def controllers(self) -> str:
        return self._broker.address("CONTROLLER")

    @property
    def pid(self) -> int:
        return self._broker.pid

    def restart(self) -> None:
        self._broker.stop()
        self._start()

    def crash(self) -> None:
        self._broker.kill()
        self._start()

    def close(self) -> None:
        self._broker.close()

    def _start(self) -> None:
        # The lab's start returns when the broker is also registered; the first response comes before that.
        heard: list[float] = []
        began = time.monotonic()
        watcher = threading.Thread(target=lambda: heard.append(_first_answer(self.address, began, 300.0)))
        watcher.start()
        self._broker.start()
        watcher.join()
        self.start_seconds = heard[0]


class Kconf:
    """kconf with a SQLite file or the store of `url`, run with the benchmark's own Python."""

    name = "kconf"
    shows_writes_within = 0.0

    def __init__(
        self, store: Path | None = None, *, url: str | None = None, node_id: int = 1, options: Sequence[str] = ()
    ) -> None:
        self.start_seconds = 0.0
        self.node_id = node_id
        self._options = tuple(options)
        self.address = f"127.0.0.1:{free_port()}"
        self._directory = Path(tempfile.mkdtemp(prefix="kconf-bench-"))
        self.store = store or self._directory / "kconf.db"
        self.url = url or f"sqlite:///{self.store}"
        self.log_path = self._directory / "kconf.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        if self._process is None:
            raise BenchError("kconf is not running.")
        return self._process.pid

    def restart(self) -> None:
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(30)
        self.crash()

    def crash(self) -> None:
        self._kill()
        self._start()

    def close(self) -> None:
        self._kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _start(self) -> None:
        command = [sys.executable, "-m", "kconf.cli.main", "serve"]
        began = time.monotonic()
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *command,
                    "--listen",
                    self.address,
                    "--store",
                    self.url,
                    "--node-id",
                    str(self.node_id),
                    *self._options,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
            )
        self._guard = Guard(self._process.pid, self._directory)
        try:
            self.start_seconds = _first_answer(self.address, began, 60.0, self._process)
        except BenchError as error:
            tail = self.log_path.read_text(errors="replace")[-2000:]
            raise BenchError(f"{error}\n{tail}") from None

    def _kill(self) -> None:
        process, self._process = self._process, None
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.dismiss()
        if process is not None:
            process.kill()
            process.wait()


def _environment() -> Mapping[str, str]:
    """An environment that uses kconf from this checkout, installed or not."""
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return {**compiled_environment(), "PYTHONPATH": path}


def compiled_environment() -> Mapping[str, str]:
    """Our environment, with a directory for bytecode, as of an installed kconf: compiling takes longer than a start."""
    ours = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**ours, "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / f"kconf-bench-bytecode-{os.getuid()}")}


def _first_answer(address: str, began: float, patience: float, process: subprocess.Popen[bytes] | None = None) -> float:
    """Seconds from `began` until the first response to ApiVersions."""
    while not requests.answers_api_versions(address):
        if process is not None and process.poll() is not None:
            raise BenchError(f"The server exited with {process.returncode} before its first response.")
        if time.monotonic() - began > patience:
            raise BenchError(f"{address} did not respond within {patience:.0f} s.")
        time.sleep(0.003)
    return time.monotonic() - began


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])
