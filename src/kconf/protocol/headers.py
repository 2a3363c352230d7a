"""Request and response headers.

Request: length i32, then key i16, version i16, correlation i32, client ID (always a classic nullable string), and in
flexible versions tags. Response: length, correlation, and in flexible versions tags, except for ApiVersions.

Three of these tags are kconf's (docs/extensions.md): the revision that a server must have reached before it responds,
and for clients that sent it, the revision it has reached and whether changes may be missing.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from kconf.errors import LocalProtocolError, RemoteProtocolError
from kconf.protocol.apis import API_VERSIONS, Api
from kconf.protocol.codec.serde import decode, encode
from kconf.protocol.codec.varint import MAX_TEXT, Malformed, read_tags, skip_tags, uvarint

LENGTH = struct.Struct(">i")
HEAD = struct.Struct(">hhi")
_HEAD_AND_CLIENT = struct.Struct(">hhih")


class Header(NamedTuple):
    """A request header. `body` is the start of the body in the frame, without length prefix."""

    api_key: int
    version: int
    correlation: int
    client_id: str
    body: int
    required_revision: int = -1  # -1 if the request does not have the tag


class ResponseTags(NamedTuple):
    """kconf's tags in a response header."""

    revision: int = -1
    stale: bool = False

    def encoded(self) -> bytes:
        stale = _STALE if self.stale else b""
        return b"".join((b"\x02" if stale else b"\x01", _REVISION, self.revision.to_bytes(8, "big"), stale))


_REQUIRED_TAG, _REVISION_TAG, _STALE_TAG = 40004, 40003, 40005
_REQUIRED = b"\x01" + uvarint(_REQUIRED_TAG) + b"\x08"
_REVISION = uvarint(_REVISION_TAG) + b"\x08"
_STALE = uvarint(_STALE_TAG) + b"\x01\x01"


def read_header(frame: bytes, flexible: bool) -> Header:
    """Read the header of a request frame with a supported API key and version."""
    try:
        key, version, correlation, size = _HEAD_AND_CLIENT.unpack_from(frame, 0)
        position = _HEAD_AND_CLIENT.size
        client_id = ""
        if size > 0:
            position += size
            client_id = frame[position - size : position].decode("utf-8", "replace")
        required = -1
        if flexible:
            tags, position = read_tags(frame, position)
            if _REQUIRED_TAG in tags:
                required = max(_revision(tags[_REQUIRED_TAG]), -1)
    except (struct.error, IndexError):
        raise RemoteProtocolError("a request header is truncated") from None
    except Malformed as error:
        raise RemoteProtocolError(f"a request header {error}") from None
    if position > len(frame):
        raise RemoteProtocolError("a request header is truncated")
    return Header(key, version, correlation, client_id, position, required)


def _revision(data: bytes) -> int:
    if len(data) != 8:
        raise Malformed("has a revision that is not an int64")
    return int.from_bytes(data, "big", signed=True)


def read_response_tags(frame: bytes, position: int) -> tuple[ResponseTags, int]:
    """kconf's tags in a response header, and the start of the body."""
    tags, position = read_tags(frame, position)
    revision = _revision(tags[_REVISION_TAG]) if _REVISION_TAG in tags else -1
    return ResponseTags(revision, tags.get(_STALE_TAG, b"\x00") != b"\x00"), position


def response(api: Api, version: int, correlation: int, body: bytes, tags: bytes = b"\x00") -> bytes:
    """A response frame, with its length prefix."""
    head = tags if response_has_tags(api, version) else b""
    return b"".join((LENGTH.pack(4 + len(head) + len(body)), LENGTH.pack(correlation), head, body))


def request(
    api: Api, version: int, correlation: int, client_id: str | None, message: object, *, required_revision: int = -1
) -> bytes:
    """A request frame, with its length prefix. A required revision needs a flexible version."""
    flexible = api.is_flexible(version)
    tags = b"\x00" if flexible else b""
    if flexible and required_revision >= 0:
        tags = _REQUIRED + required_revision.to_bytes(8, "big")
    name = b"" if client_id is None else client_id.encode("utf-8", "replace")
    if len(name) > MAX_TEXT:
        raise LocalProtocolError(f"a client ID of {len(name)} bytes is too long")
    head = _HEAD_AND_CLIENT.pack(api.key, version, correlation, -1 if client_id is None else len(name))
    body = encode(message, version, flexible)
    size = len(head) + len(name) + len(tags) + len(body)
    return b"".join((LENGTH.pack(size), head, name, tags, body))


def read_response(api: Api, version: int, frame: bytes) -> tuple[int, Any]:
    """The correlation id and the decoded body of a response frame, without its length prefix.

    `MAX_ELEMENTS` does not apply, since a response about a large cluster may have more. The frame size limits it.
    """
    try:
        (correlation,) = LENGTH.unpack_from(frame, 0)
        position = skip_tags(frame, 4) if response_has_tags(api, version) else 4
    except (struct.error, IndexError):
        raise RemoteProtocolError(f"the header of a {api.name} response is truncated") from None
    except Malformed as error:
        raise RemoteProtocolError(f"the header of a {api.name} response {error}") from None
    flexible = api.is_flexible(version)
    return correlation, decode(api.response, version, flexible, frame, position, most=len(frame))


def response_has_tags(api: Api, version: int) -> bool:
    """Whether the header of a response has tags."""
    return api.key != API_VERSIONS and api.is_flexible(version)
