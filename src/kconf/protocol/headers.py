"""Headers: what stands before every body.

Request: length i32, then key i16, version i16, correlation i32, client id (always a classic nullable string), and in
flexible versions tags. Response: length, correlation, and in flexible versions tags, except for ApiVersions.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from kconf.errors import LocalProtocolError, RemoteProtocolError
from kconf.protocol.apis import API_VERSIONS, Api
from kconf.protocol.codec.serde import decode, encode
from kconf.protocol.codec.varint import MAX_TEXT, Malformed, skip_tags

LENGTH = struct.Struct(">i")
HEAD = struct.Struct(">hhi")
_HEAD_AND_CLIENT = struct.Struct(">hhih")


class Header(NamedTuple):
    """A request's header; the body begins at `body` in the frame (which has no length before it)."""

    api_key: int
    version: int
    correlation: int
    client_id: str
    body: int


def read_header(frame: bytes, flexible: bool) -> Header:
    """Read the header of a request frame whose key and version are known to be ours."""
    try:
        key, version, correlation, size = _HEAD_AND_CLIENT.unpack_from(frame, 0)
        position = _HEAD_AND_CLIENT.size
        client_id = ""
        if size > 0:
            position += size
            client_id = frame[position - size : position].decode("utf-8", "replace")
        if flexible:
            position = skip_tags(frame, position)
    except (struct.error, IndexError):
        raise RemoteProtocolError("a request header is cut off") from None
    except Malformed as error:
        raise RemoteProtocolError(f"a request header {error}") from None
    if position > len(frame):
        raise RemoteProtocolError("a request header is cut off")
    return Header(key, version, correlation, client_id, position)


def response(api: Api, version: int, correlation: int, body: bytes) -> bytes:
    """A whole response frame, its length included."""
    head = b"\x00" if _answers_with_tags(api, version) else b""
    return b"".join((LENGTH.pack(4 + len(head) + len(body)), LENGTH.pack(correlation), head, body))


def request(api: Api, version: int, correlation: int, client_id: str | None, message: object) -> bytes:
    """A whole request frame, its length included."""
    flexible = api.is_flexible(version)
    name = b"" if client_id is None else client_id.encode("utf-8", "replace")
    if len(name) > MAX_TEXT:
        raise LocalProtocolError(f"a client id of {len(name)} bytes is too long")
    head = _HEAD_AND_CLIENT.pack(api.key, version, correlation, -1 if client_id is None else len(name))
    body = encode(message, version, flexible)
    size = len(head) + len(name) + flexible + len(body)
    return b"".join((LENGTH.pack(size), head, name, b"\x00" if flexible else b"", body))


def read_response(api: Api, version: int, frame: bytes) -> tuple[int, Any]:
    """The correlation id and the decoded body of a response frame (without its length).

    A server that was asked for all of a large cluster may well send more than `MAX_ELEMENTS`; the frame bounds it.
    """
    try:
        (correlation,) = LENGTH.unpack_from(frame, 0)
        position = skip_tags(frame, 4) if _answers_with_tags(api, version) else 4
    except (struct.error, IndexError):
        raise RemoteProtocolError(f"the header of a {api.name} response is cut off") from None
    except Malformed as error:
        raise RemoteProtocolError(f"the header of a {api.name} response {error}") from None
    flexible = api.is_flexible(version)
    return correlation, decode(api.response, version, flexible, frame, position, most=len(frame))


def _answers_with_tags(api: Api, version: int) -> bool:
    return api.key != API_VERSIONS and api.is_flexible(version)
