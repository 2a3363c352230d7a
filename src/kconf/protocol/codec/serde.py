"""Values to bytes and back, by straight-line code made from the tables, once per version.

Readers are total: whatever the bytes, they return a value or raise RemoteProtocolError. Every count is checked against
the bytes left before anything is allocated, and a request may hold at most `MAX_ELEMENTS` array elements, so that a
small frame cannot turn into a large heap. Unknown tags are skipped. Surplus bytes after a body are left alone, as a
real broker does. Writers take `bytes` in place of a struct inside an array: something that was encoded before.
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

__all__ = ["MAX_ELEMENTS", "decode", "decode_part", "encode", "reader", "uvarint", "writer"]

MAX_ELEMENTS = 1 << 18

T = TypeVar("T")


def decode(cls: type[T], version: int, flexible: bool, data: bytes, start: int = 0, *, most: int = MAX_ELEMENTS) -> T:
    """Read one message body that begins at `start` and holds at most `most` array elements."""
    return decode_part(cls, version, flexible, data, start, most=most)[0]


def decode_part(
    cls: type[T], version: int, flexible: bool, data: bytes, start: int = 0, *, most: int = MAX_ELEMENTS
) -> tuple[T, int]:
    """The same, and the position behind the body."""
    try:
        return reader(cls, version, flexible)(data, start, most)
    except (StructError, IndexError):
        raise RemoteProtocolError(f"{cls.__name__} v{version} is cut off") from None
    except Malformed as error:
        raise RemoteProtocolError(f"{cls.__name__} v{version} {error}") from None


def encode(value: object, version: int, flexible: bool) -> bytes:
    """Write one struct: a message body, or an element to be joined into one later."""
    parts: list[bytes] = []
    try:
        writer(type(value), version, flexible)(value, parts.append)
        return b"".join(parts)
    except (StructError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise LocalProtocolError(f"{type(value).__name__} v{version}: {error}") from error


class Reader(Protocol):
    def __call__(self, data: bytes, position: int, most: int, /) -> tuple[Any, int]: ...


class Writer(Protocol):
    def __call__(self, value: Any, out: Any, /) -> None: ...


reader: Final[Callable[[type, int, bool], Reader]] = cache(compile_reader)
writer: Final[Callable[[type, int, bool], Writer]] = cache(compile_writer)
