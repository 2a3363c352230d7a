"""The servers that `make run` starts: one on SQLite, or three on a ZooKeeper, which is started unless one is given.

`zookeeper` without an address starts a ZooKeeper from the jars in PySpark; its data is in .run/zookeeper.
"""

from __future__ import annotations

import ctypes
import fcntl
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

RUN = Path(".run")
ARCHIVE = RUN / "archive"
OWN = "zookeeper"
CONSOLE = "127.0.0.1:8080"
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1


class NotStarted(Exception):
    """A server exited before it was ready and printed why. `status` is its exit code."""

    def __init__(self, status: int) -> None:
        super().__init__(f"a server exited with {status}")
        self.status = status


class Servers:
    """Running kconf servers with their `addresses`; `login` is the address for users with passwords, `store` is shared.

    `console` is the address of the web console, empty if it is not installed.
    """

    def __init__(self, store: str) -> None:
        self.store = store
        self.addresses: list[str] = []
        self.login = ""
        self.console = ""
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, listen: str, node_id: int) -> None:
        where = ("--listen", listen, "--store", self.store, "--node-id", str(node_id), "--archive", str(ARCHIVE))
        logins = ("--listen", "SASL_PLAINTEXT://127.0.0.1:0", "--override", "sasl.enabled.mechanisms=SCRAM-SHA-512")
        console = ("--console", _console_address(listen)) if not self.addresses and _has_console() else ()
        words = [sys.executable, "-m", "kconf", "serve", *where, *logins, *console]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=_end_with_parent)
        self._processes.append(process)
        assert process.stdout is not None
        ready = process.stdout.readline()
        if not ready:
            if is_taken(listen):
                print("make run LISTEN=127.0.0.1:0 picks a free port", file=sys.stderr)
            raise NotStarted(process.wait())
        print(ready, end="")
        self.addresses.append(ready.partition("listening on ")[2].split()[0])
        self.console = self.console or ready.partition("console=")[2].strip()
        self.login = self.login or ready.partition("SASL_PLAINTEXT://")[2].split()[0]

    def wait(self) -> int:
        """Wait until all have exited, as on Ctrl-C; returns the first non-zero exit code."""
        return next((status for status in [each.wait() for each in self._processes] if status), 0)

    def stop(self) -> int:
        for each in self._processes:
            each.terminate()
        return self.wait()


def _end_with_parent() -> None:
    """Make Linux send SIGTERM to a server if the demo ends without stopping it, as after SIGKILL."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextmanager
def started(store: str, listen: str) -> Iterator[Servers]:
    """One server, or three with ZooKeeper: on the given port and the next two, or on free ones."""
    RUN.mkdir(exist_ok=True)
    with ExitStack() as stack:
        servers = Servers(stack.enter_context(_zookeeper()) if store == OWN else store)
        stack.callback(servers.stop)
        for number, address in enumerate(_addresses(listen, 3 if store.startswith(OWN) else 1), start=1):
            servers.start(address, number)
        yield servers


@contextmanager
def _zookeeper() -> Iterator[str]:
    from lab.zookeeper import ZooKeeper

    data = RUN / "zookeeper"
    data.mkdir(exist_ok=True)
    with (RUN / "zookeeper.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"Another `make run` is using {data}; stop it first.")
        with ZooKeeper(data=data.absolute()) as zookeeper:
            address, log = zookeeper.address, zookeeper.log_path
            print(f"ZooKeeper is listening on {address}; its data is in {data}, its log in {log}")
            yield zookeeper.url("/kconf-demo")
            zookeeper.stop()


def _has_console() -> bool:
    """Whether the extra is installed; the demo also runs without it."""
    return all(find_spec(each) is not None for each in ("starlette", "uvicorn", "jinja2"))


def _console_address(listen: str) -> str:
    """The usual address, or a free one if something listens there or the server itself takes a free one."""
    return "127.0.0.1:0" if listen.endswith(":0") or is_taken(CONSOLE) else CONSOLE


def is_taken(listen: str) -> bool:
    """Whether something already listens there."""
    host, _, port = listen.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=2).close()
    except (OSError, OverflowError):  # nothing listens, or no such address
        return False
    return True


def _addresses(listen: str, count: int) -> Sequence[str]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal():
        sys.exit(f"LISTEN={listen} is not an address; use HOST:PORT, such as 127.0.0.1:9092")
    return [f"{host}:{int(port) + place if int(port) else 0}" for place in range(count)]
