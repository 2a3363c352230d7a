"""A raw client: sends any message in any version on a plain socket, with kconf's own codec.

For requests that no client library sends anymore: the lowest versions, and invalid requests.
"""

from __future__ import annotations

import socket
import struct
from typing import Any, Self

from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import LENGTH, ResponseTags, read_response, read_response_tags, request


class Wire:
    """One connection. `ask("Metadata", 0, topics=[])` sends that request and returns the decoded response."""

    def __init__(self, address: str, *, client_id: str | None = "wire", timeout: float = 60.0) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=timeout)
        self._client_id = client_id
        self._correlation = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def ask(self, api: str, version: int, **fields: object) -> Any:
        """Send one request and return its response. Raises ConnectionError if the server closes the connection."""
        return self.ask_tagged(api, version, -1, **fields)[1]

    def ask_tagged(self, api: str, version: int, required: int, **fields: object) -> tuple[ResponseTags, Any]:
        """Like `ask`, with the revision that the server must have reached; also returns the response tags."""
        self.send_request(api, version, required, **fields)
        frame = self.receive()
        correlation, answer = read_response(BY_NAME[api], version, frame)
        assert correlation == self._correlation
        return read_response_tags(frame, 4)[0] if required >= 0 else ResponseTags(), answer

    def send_request(self, api: str, version: int, required: int = -1, **fields: object) -> None:
        """Send a request; the response is received later."""
        self._correlation += 1
        row = BY_NAME[api]
        message = row.request(**fields)
        frame = request(row, version, self._correlation, self._client_id, message, required_revision=required)
        self._socket.sendall(frame)

    def say(self, key: int, version: int, body: bytes = b"") -> bytes:
        """Send raw body bytes with a header; returns the response bytes after the correlation ID."""
        self._correlation += 1
        head = struct.pack(">hhih", key, version, self._correlation, -1)
        self._socket.sendall(LENGTH.pack(len(head) + len(body)) + head + body)
        return self.receive()[4:]

    def receive(self) -> bytes:
        """Receive one frame, without its length."""
        (size,) = LENGTH.unpack(self._exactly(4))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the server closed the connection")
            data += part
        return bytes(data)
