"""A server in its own JVM that can be started, stopped, killed, paused and restarted.

It has its own directory, which is removed at the end. It exits if the process that started it has ended
(lab/java/Lifeline.java). Subclasses define the command, and when the server is ready.
"""

from __future__ import annotations

import abc
import atexit
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

from lab.java import LabError

HOST = "127.0.0.1"


class JavaServer(abc.ABC):
    """A server that is ready when the `with` block starts. `title` is its name in messages."""

    def __init__(self, title: str, *, timeout: float) -> None:
        self.title = title
        self.host = HOST
        self.start_seconds = 0.0
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._directory: Path | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abc.abstractmethod
    def _prepare(self) -> None:
        """Fill the new directory: choose ports, write the configuration."""

    @abc.abstractmethod
    def _command(self) -> list[str]:
        """The command that runs the server under the lifeline."""

    @abc.abstractmethod
    def _serves(self) -> bool:
        """Whether the server responds."""

    @property
    def directory(self) -> Path:
        if self._directory is None:
            raise LabError(f"{self.title} has not been started.")
        return self._directory

    @property
    def log_path(self) -> Path:
        return self.directory / "server.log"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise LabError(f"{self.title} is not running.")
        return self._process.pid

    def rss_bytes(self) -> int:
        """The current memory usage of the server."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise LabError(f"{self.title} with pid {self.pid} uses no memory: it has exited.")

    def start(self) -> None:
        """Prepare a new directory if there is none, start, and wait until the server is ready."""
        began = time.monotonic()
        self.launch()
        self.await_serving()
        self.start_seconds = time.monotonic() - began

    def launch(self) -> None:
        """Start without waiting."""
        if self._process is not None:
            raise LabError(f"{self.title} is already running.")
        atexit.register(self.close)
        try:
            if self._directory is None:
                self._directory = Path(tempfile.mkdtemp(prefix=f"{self.title.lower().replace(' ', '-')}-"))
                self._prepare()
            with self.log_path.open("ab") as log:
                self._process = subprocess.Popen(
                    self._command(),
                    cwd=self.directory,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except BaseException:
            self.close()
            raise

    def await_serving(self) -> None:
        """Wait until the server is ready. If it ends or takes too long, close it."""
        began = time.monotonic()
        try:
            while not self._serves():
                if self._process is None or self._process.poll() is not None:
                    status = "nothing" if self._process is None else self._process.returncode
                    raise LabError(f"{self.title} exited with {status}.\n{self._log_tail()}")
                if time.monotonic() - began > self._timeout:
                    raise LabError(f"{self.title} was not ready within {self._timeout:.0f} s.\n{self._log_tail()}")
                time.sleep(0.05)
        except BaseException:
            self.close()
            raise

    def stop(self, *, timeout: float = 60.0) -> None:
        """Stop the server with SIGTERM and keep its directory."""
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout)
        self.kill()

    def kill(self) -> None:
        """Kill the server with SIGKILL, like a crash, and keep its directory."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def restart(self) -> None:
        """Stop, and start again with the same directory, ports and configuration."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Pause the server with all its connections open (SIGSTOP); returns when it is paused."""
        os.kill(self.pid, signal.SIGSTOP)
        for thread in Path(f"/proc/{self.pid}/task").iterdir():
            while (thread / "stat").read_text().rpartition(") ")[2][0] not in "Tt":
                time.sleep(0.001)

    def thaw(self) -> None:
        """Resume a paused server (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Stop the server and remove its directory. May be repeated."""
        atexit.unregister(self.close)
        self.kill()
        directory, self._directory = self._directory, None
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)

    def _log_tail(self) -> str:
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-40:])


def free_ports(count: int) -> list[int]:
    """Free ports below the system's ephemeral port range, so that they are still free at a restart."""
    ports: list[int] = []
    for port in random.sample(range(15_000, 32_000), 2_000):
        with socket.socket() as trial, contextlib.suppress(OSError):
            trial.bind((HOST, port))
            ports.append(port)
        if len(ports) == count:
            return ports
    raise LabError("There are no free ports.")
