"""Raw connections, and the memory and files of a process: for tests of clients that misbehave."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import LENGTH, read_response, request
from tests.support.process import KconfProcess

MB = 1 << 20


class Line:
    """One connection. Sending and receiving are independent."""

    def __init__(self, process: KconfProcess, *, timeout: float = 60.0) -> None:
        self.socket = process.connect(timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frames))

    def end(self) -> None:
        """Close the sending side."""
        self.socket.shutdown(socket.SHUT_WR)

    def receive(self) -> bytes:
        """One frame without its length. Raises EOFError if the server closes the connection."""
        while (frame := self._take()) is None:
            part = self.socket.recv(MB)
            if not part:
                raise EOFError("the server closed the connection")
            self._read += part
        return frame

    def rest(self) -> list[bytes]:
        """All frames until the server closes the connection, or sends nothing until the timeout."""
        frames = []
        with contextlib.suppress(EOFError, ConnectionError, TimeoutError):
            while True:
                frames.append(self.receive())
        return frames

    def is_closed(self, *, within: float = 60.0) -> bool:
        """Whether the server closes the connection within this time without sending anything."""
        self.socket.settimeout(within)
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def ask(self, api: str, version: int, message: object, *, correlation: int = 1) -> Any:
        """Send one request and return the decoded response."""
        self.send(frame(api, version, message, correlation=correlation))
        return read(api, version, self.receive(), correlation=correlation)

    def _take(self) -> bytes | None:
        if len(self._read) < 4:
            return None
        end = 4 + LENGTH.unpack_from(self._read, 0)[0]
        if len(self._read) < end:
            return None
        taken = bytes(self._read[4:end])
        del self._read[:end]
        return taken


def frame(api: str, version: int, message: object, *, correlation: int = 1, client_id: str | None = "test") -> bytes:
    return request(BY_NAME[api], version, correlation, client_id, message)


def read(api: str, version: int, answer: bytes, *, correlation: int | None = None) -> Any:
    number, value = read_response(BY_NAME[api], version, answer)
    assert correlation in (None, number)
    return value


def split(data: bytes) -> Iterator[bytes]:
    """The frames of a stream, without their lengths."""
    while data:
        size = LENGTH.unpack_from(data, 0)[0]
        yield data[4 : 4 + size]
        data = data[4 + size :]


def memory(process: KconfProcess) -> int:
    """The bytes that a process holds in memory (Linux)."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors(process: KconfProcess) -> int:
    """The files and sockets that a process has open (Linux)."""
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def complaints(process: KconfProcess) -> list[str]:
    """Log lines about errors that the server did not expect."""
    signs = ("Traceback", "level=ERROR", "level=FATAL", "internal error", "level=CRITICAL")
    return [line for line in process.log().splitlines() if any(sign in line for sign in signs)]
