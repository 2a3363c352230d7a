"""Encodes and decodes messages with code that is generated from the declarations, once per version.

For any input, readers return a value or raise RemoteProtocolError. Every count is checked against the remaining bytes
before memory is allocated, and a request may contain at most `MAX_ELEMENTS` array elements, so that a small frame
cannot use a lot of memory. Unknown tags are skipped. Additional bytes after a body are ignored, as in Kafka. Writers
accept `bytes` in place of a struct in an array: an element that is already encoded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import error as StructError
from typing import Any, Final, Protocol, TypeVar

from kconf.errors import LocalProtocolError, RemoteProtocolError
from kconf.protocol.codec.readers import compile_reader
from kconf.protocol.codec.varint import Malformed, uvarint
from kconf.protocol.codec.writers import compile_writer
from kconf.util.slices import hook

__all__ = ["MAX_ELEMENTS", "decode", "decode_part", "encode", "encode_in_parts", "reader", "uvarint", "writer"]

MAX_ELEMENTS = 1 << 18
_MANY: Final = 4096  # pieces of a message that are joined in one step

T = TypeVar("T")


def decode(cls: type[T], version: int, flexible: bool, data: bytes, start: int = 0, *, most: int = MAX_ELEMENTS) -> T:
    """Decode the message body at `start`, which may contain at most `most` array elements."""
    return decode_part(cls, version, flexible, data, start, most=most)[0]


def decode_part(
    cls: type[T], version: int, flexible: bool, data: bytes, start: int = 0, *, most: int = MAX_ELEMENTS
) -> tuple[T, int]:
    """Like `decode`. Also returns the position after the body."""
    try:
        return reader(cls, version, flexible)(data, start, most)
    except (StructError, IndexError):
        raise RemoteProtocolError(f"{cls.__name__} v{version} is truncated") from None
    except Malformed as error:
        raise RemoteProtocolError(f"{cls.__name__} v{version} {error}") from None


def encode(value: object, version: int, flexible: bool) -> bytes:
    """Encode one struct: a message body, or an element of one."""
    pieces: list[bytes] = []
    try:
        writer(type(value), version, flexible)(value, pieces.append)
        return b"".join(pieces)
    except _UNWRITABLE as error:
        raise LocalProtocolError(f"{type(value).__name__} v{version}: {error}") from error


def encode_in_parts(value: object, version: int, flexible: bool) -> list[bytes]:
    """Like `encode`, but a long message is returned in several parts, so that it is not copied as a whole."""
    pieces: list[bytes] = []
    parts: list[bytes] = []
    try:
        writer(type(value), version, flexible)(value, pieces.append)
        while pieces:  # from the end, so that joined pieces are freed gradually
            hook.pause()
            parts.append(b"".join(pieces[-_MANY:]))
            del pieces[-_MANY:]
    except _UNWRITABLE as error:
        raise LocalProtocolError(f"{type(value).__name__} v{version}: {error}") from error
    parts.reverse()
    return parts


_UNWRITABLE: Final = (StructError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class MessageReader(Protocol):
    def __call__(self, data: bytes, position: int, most: int, /) -> tuple[Any, int]: ...


class MessageWriter(Protocol):
    def __call__(self, value: Any, out: Any, /) -> None: ...


reader: Final[Callable[[type, int, bool], MessageReader]] = cache(compile_reader)
writer: Final[Callable[[type, int, bool], MessageWriter]] = cache(compile_writer)
