"""A real ZooKeeper on loopback, from the jars that PySpark ships; alone, or three of them as an ensemble.

Nothing is downloaded: `pip install 'kconf[spark]'` and a JDK are enough. It is ready half a second after its start, on
free ports that it keeps across restarts, with its log in a file, and syncs to disk like a production server.
"""

from __future__ import annotations

import contextlib
import importlib.util
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from lab.jars import logging_options
from lab.java import LabError, compiled, java
from lab.server import HOST, JavaServer, free_ports

# All jars that a ZooKeeper 3.9 server loads, alone or in an ensemble, including logging.
_JARS = ("zookeeper", "zookeeper-jute", "metrics-core", "snappy-java", "slf4j-api")
_LOG_JARS = ("log4j-slf4j2-impl", "log4j-api", "log4j-core")
_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.admin.enableServer=false")


class ZooKeeper(JavaServer):
    """One server. `tick_ms` limits the session timeouts of clients: 2 to 20 ticks.

    `data` is a directory for data that must outlive this object; without it the data are deleted at the end.
    """

    def __init__(
        self,
        *,
        tick_ms: int = 500,
        data: Path | None = None,
        properties: dict[str, str] | None = None,
        timeout: float = 60.0,
    ) -> None:
        super().__init__("ZooKeeper", timeout=timeout)
        self.port = free_ports(1)[0]
        self._tick_ms = tick_ms
        self._data = data
        self._member = 0
        self._extra = dict(properties or {})

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def url(self, chroot: str = "") -> str:
        """The store URL of a chroot, which begins with a slash."""
        return f"zookeeper://{self.address}{chroot}"

    def mode(self) -> str | None:
        """`standalone`, `leader` or `follower`; None if the server is not ready."""
        for line in self.ask("srvr").splitlines():
            name, _, value = line.partition(": ")
            if name == "Mode":
                return value
        return None

    def ask(self, word: str, *, timeout: float = 2.0) -> str:
        """The response to a four-letter word command; empty if there is none."""
        answer = bytearray()
        with contextlib.suppress(OSError), socket.create_connection((HOST, self.port), timeout) as line:
            line.sendall(word.encode())
            while part := line.recv(65_536):
                answer += part
        return answer.decode(errors="replace")

    def join(self, member: int, lines: dict[str, str]) -> None:
        """Join an ensemble at the next start; `lines` name all its members."""
        self._member = member
        self.title = f"ZooKeeper {member}"
        self._extra |= lines

    def _prepare(self) -> None:
        data = self._data or self.directory / "data"
        data.mkdir(exist_ok=True)
        if self._member:
            (data / "myid").write_text(f"{self._member}\n")
        lines = {
            "tickTime": str(self._tick_ms),
            "dataDir": str(data),
            "clientPort": str(self.port),
            "clientPortAddress": HOST,
            "maxClientCnxns": "0",
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "*",
            **self._extra,
        }
        (self.directory / "zookeeper.properties").write_text("".join(f"{k}={v}\n" for k, v in lines.items()))

    def _command(self) -> list[str]:
        command = java()
        path = ":".join([str(compiled("ZooKeeper", "", only="Lifeline")), *map(str, _jars())])
        log = logging_options("4", "WARN")  # log4j2, as Kafka 4 has it
        return [command, *_OPTIONS, *log, "-cp", path, "Lifeline", _MAIN, str(self.directory / "zookeeper.properties")]

    def _serves(self) -> bool:
        return self.mode() is not None


class Ensemble:
    """Servers that elect a leader; `members` are numbered from 1."""

    def __init__(self, size: int = 3, *, tick_ms: int = 500) -> None:
        self.members = [ZooKeeper(tick_ms=tick_ms) for _ in range(size)]
        ports = free_ports(2 * size)
        lines = {"initLimit": "20", "syncLimit": "10"}
        for number, (peer, election) in enumerate(zip(ports[::2], ports[1::2], strict=True), start=1):
            lines[f"server.{number}"] = f"{HOST}:{peer}:{election}"
        for number, member in enumerate(self.members, start=1):
            member.join(number, lines)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        return ",".join(each.address for each in self.members)

    def url(self, chroot: str = "") -> str:
        """The store URL of a chroot, which begins with a slash."""
        return f"zookeeper://{self.address}{chroot}"

    @property
    def leader(self) -> ZooKeeper:
        for each in self.members:
            if each.mode() == "leader":
                return each
        raise LabError("The ensemble has no leader now.")

    def start(self) -> None:
        try:
            for each in self.members:
                each.launch()
            for each in self.members:
                each.await_serving()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for each in self.members:
            each.close()


def session_password(session: int) -> bytes:
    """The password of a session, which ZooKeeper derives from the session ID.

    A second client with both can take over the session and close it: a test uses this to expire the session of another
    process. The ID is in `stat.ephemeralOwner` of any ephemeral node that the process has created.
    """
    state = (session ^ 0xB3415C00 ^ 0x5DEECE66D) & (1 << 48) - 1
    password = bytearray()
    while len(password) < 16:
        state = (state * 0x5DEECE66D + 0xB) & (1 << 48) - 1
        password += (state >> 16).to_bytes(4, "little")
    return bytes(password)


def expire(address: str, session: int) -> None:
    """Expire a session, and check that it no longer exists.

    Its client may take the session back before it is closed: then repeat.
    """
    from kazoo.client import KazooClient
    from kazoo.handlers.threading import KazooTimeoutError

    was_taken = False
    for _ in range(20):
        thief = KazooClient(hosts=address, client_id=(session, session_password(session)))
        try:
            thief.start(timeout=5)
            taken = thief.client_id is not None and thief.client_id[0] == session
            thief.stop()  # closes the session on the server
        except KazooTimeoutError:
            continue
        finally:
            thief.close()
        if not taken and was_taken:
            return
        if not taken:
            raise LabError(f"There is no session 0x{session:x}.")
        was_taken = True
    raise LabError(f"Session 0x{session:x} could not be taken over.")


def _jars() -> Sequence[Path]:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise LabError("ZooKeeper needs PySpark's jars, and PySpark is not installed: pip install 'kconf[spark]'.")
    shipped = Path(spec.origin).parent / "jars"
    found = []
    for name in (*_JARS, *_LOG_JARS):
        jars = sorted(shipped.glob(f"{name}-[0-9]*.jar"))
        if not jars:
            raise LabError(f"ZooKeeper needs {name}, which is not among PySpark's jars in {shipped}.")
        found.append(jars[0])
    return found
