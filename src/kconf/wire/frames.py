"""Headers: what stands before every body.

Request: length i32, then key i16, version i16, correlation i32, client id (always a classic nullable string), and in
flexible versions tags. Response: length, correlation, and in flexible versions tags, except for ApiVersions.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from kconf.errors import RemoteProtocolError
from kconf.wire.apis import API_VERSIONS, Api
from kconf.wire.codec import _Bad, _read_uvarint, decode, encode

LENGTH = struct.Struct(">i")
HEAD = struct.Struct(">hhi")
_CLIENT = struct.Struct(">h")


@dataclass(frozen=True, slots=True)
class Header:
    """A request's header; the body begins at `body` in the frame (which has no length before it)."""

    api_key: int
    version: int
    correlation: int
    client_id: str
    body: int


def read_header(frame: bytes, flexible: bool) -> Header:
    """Read the header of a request frame whose key and version are known to be ours."""
    try:
        key, version, correlation = HEAD.unpack_from(frame, 0)
        (size,) = _CLIENT.unpack_from(frame, 8)
        position = 10
        client_id = ""
        if size >= 0:
            position += size
            if position > len(frame):
                raise RemoteProtocolError("the client id is cut off")
            client_id = frame[10:position].decode("utf-8", "replace")
        if flexible:
            position = _skip_tags(frame, position)
    except (struct.error, IndexError, _Bad) as error:
        raise RemoteProtocolError(f"a request header: {error}") from None
    return Header(key, version, correlation, client_id, position)


def _skip_tags(frame: bytes, position: int) -> int:
    count, position = _read_uvarint(frame, position)
    for _ in range(count):
        _, position = _read_uvarint(frame, position)
        size, position = _read_uvarint(frame, position)
        position += size
        if position > len(frame):
            raise RemoteProtocolError("a header tag is cut off")
    return position


def response(api: Api, version: int, correlation: int, body: bytes) -> bytes:
    """A whole response frame, its length included."""
    head = b"\x00" if api.is_flexible(version) and api.key != API_VERSIONS else b""
    return b"".join((LENGTH.pack(4 + len(head) + len(body)), LENGTH.pack(correlation), head, body))


def request(api: Api, version: int, correlation: int, client_id: str | None, message: object) -> bytes:
    """A whole request frame, its length included."""
    flexible = api.is_flexible(version)
    name = None if client_id is None else client_id.encode()
    parts = [
        HEAD.pack(api.key, version, correlation),
        _CLIENT.pack(-1 if name is None else len(name)),
        name or b"",
        b"\x00" if flexible else b"",
        encode(message, version, flexible),
    ]
    body = b"".join(parts)
    return LENGTH.pack(len(body)) + body


def read_response(api: Api, version: int, frame: bytes) -> tuple[int, Any]:
    """The correlation id and the decoded body of a response frame (without its length)."""
    try:
        (correlation,) = LENGTH.unpack_from(frame, 0)
        position = 4
        flexible = api.is_flexible(version)
        if flexible and api.key != API_VERSIONS:
            position = _skip_tags(frame, position)
    except (struct.error, IndexError, _Bad) as error:
        raise RemoteProtocolError(f"a response header: {error}") from None
    return correlation, decode(api.response, version, flexible, frame, position)
