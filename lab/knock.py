"""Sends two requests to a broker on a plain socket, to check that it is ready.

ApiVersions v0 shows that the listener responds; Metadata v1 shows that the broker is registered and not fenced, because
a broker lists itself only then. Written by hand, so that the lab does not depend on the code that it tests.
"""

from __future__ import annotations

import socket
import struct

_API_VERSIONS, _METADATA = 18, 3
_CLIENT_ID = b"lab"


def serves(host: str, port: int, node_id: int) -> bool:
    """Whether the broker responds and lists itself among the brokers; False while it is starting."""
    try:
        with socket.create_connection((host, port), timeout=5) as line:
            if struct.unpack_from(">h", _ask(line, _API_VERSIONS, 0, b""))[0] != 0:
                return False
            return node_id in _broker_ids(_ask(line, _METADATA, 1, struct.pack(">i", 0)))
    except (OSError, struct.error):
        return False


def _ask(line: socket.socket, key: int, version: int, body: bytes) -> bytes:
    message = struct.pack(">hhih", key, version, key, len(_CLIENT_ID)) + _CLIENT_ID + body
    line.sendall(struct.pack(">i", len(message)) + message)
    (size,) = struct.unpack(">i", _read(line, 4))
    return _read(line, size)[4:]


def _read(line: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = line.recv(size - len(data))
        if not part:
            raise ConnectionError("the broker closed the connection")
        data += part
    return bytes(data)


def _broker_ids(body: bytes) -> set[int]:
    """The node IDs in a Metadata v1 response: ID, host, port and a nullable rack for each broker."""
    (count,) = struct.unpack_from(">i", body)
    at, ids = 4, set()
    for _ in range(count):
        node_id, host_size = struct.unpack_from(">ih", body, at)
        at += 6 + host_size + 4
        (rack_size,) = struct.unpack_from(">h", body, at)
        at += 2 + max(rack_size, 0)
        ids.add(node_id)
    return ids
