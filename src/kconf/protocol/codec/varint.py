"""Unsigned varints (seven bits per byte, lowest first), and tagged fields.

Readers raise `Malformed`. `serde.py` and `headers.py` add the name of the message and convert it to
RemoteProtocolError.
"""

from __future__ import annotations

from typing import Final

MAX_TEXT: Final = 0x7FFF  # Kafka's limit for strings, in both encodings
MAX_LENGTH: Final = 0x7FFFFFFF

ONE_BYTE: Final = tuple(bytes([n]) for n in range(128))


class Malformed(Exception):
    """Bytes that do not follow the protocol."""


def uvarint(n: int) -> bytes:
    if n < 128:
        return ONE_BYTE[n]
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def read_uvarint(b: bytes, p: int) -> tuple[int, int]:
    """The number at `p`, and the position after it."""
    value = shift = 0
    while True:
        byte = b[p]
        p += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 28:
            raise Malformed("has an invalid length")
    if value > MAX_LENGTH:
        raise Malformed("has a length that is too large")
    return value, p


def skip_tags(b: bytes, p: int) -> int:
    """The position after the tagged fields at `p`."""
    count, p = read_uvarint(b, p)
    for _ in range(count):
        _, p = read_uvarint(b, p)
        size, p = read_uvarint(b, p)
        p += size
    if p > len(b):
        raise Malformed("is truncated")
    return p


def read_tags(b: bytes, p: int) -> tuple[dict[int, bytes], int]:
    """The tagged fields at `p`, and the position after them."""
    if not b[p]:
        return {}, p + 1
    tags = {}
    count, p = read_uvarint(b, p)
    for _ in range(count):
        tag, p = read_uvarint(b, p)
        size, p = read_uvarint(b, p)
        tags[tag] = b[p : p + size]
        p += size
    if p > len(b):
        raise Malformed("is truncated")
    return tags, p
