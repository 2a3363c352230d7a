"""Small invented messages, read and written byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kconf.errors import LocalProtocolError, RemoteProtocolError
from kconf.protocol.codec.fields import (
    BOOL,
    BYTES,
    F64,
    I8,
    I16,
    I32,
    I64,
    STRING,
    UUID16,
    Array,
    FieldType,
    f,
    struct,
)
from kconf.protocol.codec.serde import decode, encode

ID = bytes(range(16))


@struct
class Point:
    x: int = f(I8)
    y: int = f(I8)


def one(kind: FieldType, *, nullable: bool = False) -> type[Any]:
    """A struct with one field."""

    @struct
    class One:
        it: Any = f(kind, nullable=0) if nullable else f(kind)

    return One


FLEXIBLE_END = b"\x00"
TYPES: list[tuple[FieldType, Any, bytes, bytes]] = [
    # type, value, classic bytes, flexible bytes
    (I8, -2, b"\xfe", b"\xfe"),
    (I8, 127, b"\x7f", b"\x7f"),
    (I16, -2, b"\xff\xfe", b"\xff\xfe"),
    (I32, 258, b"\x00\x00\x01\x02", b"\x00\x00\x01\x02"),
    (I64, -1, b"\xff" * 8, b"\xff" * 8),
    (F64, 1.5, b"\x3f\xf8" + bytes(6), b"\x3f\xf8" + bytes(6)),
    (BOOL, True, b"\x01", b"\x01"),
    (BOOL, False, b"\x00", b"\x00"),
    (UUID16, ID, ID, ID),
    (STRING, "", b"\x00\x00", b"\x01"),
    (STRING, "aé", b"\x00\x03a\xc3\xa9", b"\x04a\xc3\xa9"),
    (STRING, "x" * 126, b"\x00\x7e" + b"x" * 126, b"\x7f" + b"x" * 126),
    (STRING, "x" * 127, b"\x00\x7f" + b"x" * 127, b"\x80\x01" + b"x" * 127),
    (BYTES, b"", bytes(4), b"\x01"),
    (BYTES, b"\x00\xff", b"\x00\x00\x00\x02\x00\xff", b"\x03\x00\xff"),
    (BYTES, b"x" * 40_000, b"\x00\x00\x9c\x40" + b"x" * 40_000, b"\xc1\xb8\x02" + b"x" * 40_000),
    (Array(I16), [], bytes(4), b"\x01"),
    (Array(I16), [1, -1], b"\x00\x00\x00\x02\x00\x01\xff\xff", b"\x03\x00\x01\xff\xff"),
    (Array(I8), [7] * 127, b"\x00\x00\x00\x7f" + b"\x07" * 127, b"\x80\x01" + b"\x07" * 127),
    (Array(BOOL), [True, False], b"\x00\x00\x00\x02\x01\x00", b"\x03\x01\x00"),
    (Array(UUID16), [ID, bytes(16)], b"\x00\x00\x00\x02" + ID + bytes(16), b"\x03" + ID + bytes(16)),
    (Array(STRING), ["a", ""], b"\x00\x00\x00\x02\x00\x01a\x00\x00", b"\x03\x02a\x01"),
    (Array(Array(I8)), [[1], []], b"\x00\x00\x00\x02\x00\x00\x00\x01\x01" + bytes(4), b"\x03\x02\x01\x01"),
    (Array(Point), [Point(1, 2)], b"\x00\x00\x00\x01\x01\x02", b"\x02\x01\x02\x00"),
    (Point, Point(1, 2), b"\x01\x02", b"\x01\x02\x00"),
]


@pytest.mark.parametrize(("kind", "value", "classic", "flexible"), TYPES)
def test_a_field_of_each_type_is_encoded_and_decoded(
    kind: FieldType, value: Any, classic: bytes, flexible: bytes
) -> None:
    cls = one(kind)

    assert encode(cls(value), 0, False) == classic
    assert encode(cls(value), 0, True) == flexible + FLEXIBLE_END
    assert decode(cls, 0, False, classic) == cls(value)
    assert decode(cls, 0, True, flexible + FLEXIBLE_END) == cls(value)


NULLS: list[tuple[FieldType, bytes, bytes]] = [
    (STRING, b"\xff\xff", b"\x00"),
    (BYTES, b"\xff\xff\xff\xff", b"\x00"),
    (Array(I8), b"\xff\xff\xff\xff", b"\x00"),
    (Array(Point), b"\xff\xff\xff\xff", b"\x00"),
    (Point, b"\xff", b"\xff"),
]


@pytest.mark.parametrize(("kind", "classic", "flexible"), NULLS)
def test_null_is_encoded_and_decoded_in_a_nullable_field(kind: FieldType, classic: bytes, flexible: bytes) -> None:
    cls = one(kind, nullable=True)

    assert encode(cls(None), 0, False) == classic
    assert encode(cls(None), 0, True) == flexible + FLEXIBLE_END
    assert decode(cls, 0, False, classic) == cls(None)
    assert decode(cls, 0, True, flexible + FLEXIBLE_END) == cls(None)


@pytest.mark.parametrize(("kind", "classic", "flexible"), NULLS[:-1])
def test_null_is_refused_in_a_field_that_is_not_nullable(kind: FieldType, classic: bytes, flexible: bytes) -> None:
    cls = one(kind)

    for is_flexible, data in ((False, classic), (True, flexible + FLEXIBLE_END)):
        with pytest.raises(RemoteProtocolError, match="null"):
            decode(cls, 0, is_flexible, data)
        with pytest.raises(LocalProtocolError):
            encode(cls(None), 0, is_flexible)


def test_a_nullable_struct_is_preceded_by_a_byte() -> None:
    """KIP-893: -1 for null, otherwise 1 and the struct."""
    cls = one(Point, nullable=True)

    assert encode(cls(Point(1, 2)), 0, True) == b"\x01\x01\x02\x00\x00"
    assert decode(cls, 0, True, b"\x01\x01\x02\x00\x00") == cls(Point(1, 2))


def test_a_field_can_be_nullable_from_a_later_version_on() -> None:
    @struct
    class Named:
        name: str | None = f(STRING, nullable=2)

    assert decode(Named, 2, False, b"\xff\xff") == Named(None)
    with pytest.raises(RemoteProtocolError, match="null name"):
        decode(Named, 1, False, b"\xff\xff")
    with pytest.raises(LocalProtocolError):
        encode(Named(None), 1, False)


@struct
class Grown:
    old: int = f(I8, until=1, default=-7)
    name: str = f(STRING, default="")
    new: int = f(I8, since=2, default=-1)
    names: Sequence[str] = f(Array(STRING), since=2, default=())


def test_a_field_exists_from_its_first_to_its_last_version() -> None:
    grown = Grown(1, "a", 2, ["b"])

    assert encode(grown, 1, False) == b"\x01\x00\x01a"
    assert encode(grown, 2, False) == b"\x00\x01a\x02\x00\x00\x00\x01\x00\x01b"


def test_a_field_that_is_not_there_reads_as_its_default() -> None:
    assert decode(Grown, 1, False, b"\x01\x00\x01a") == Grown(1, "a", -1, ())
    assert decode(Grown, 2, False, b"\x00\x01a\x02\x00\x00\x00\x00") == Grown(-7, "a", 2, [])


@struct
class Tagged:
    x: int = f(I8)
    late: int = f(I16, since=1, tag=200, default=5)
    points: Sequence[Point] = f(Array(Point), tag=0, default=())
    name: str | None = f(STRING, tag=1, nullable=0, default=None)


def test_a_tagged_field_that_has_its_default_is_not_sent() -> None:
    assert encode(Tagged(1), 1, True) == b"\x01\x00"
    assert encode(Tagged(1, points=[]), 1, True) == b"\x01\x00"  # an empty list or tuple
    assert decode(Tagged, 1, True, b"\x01\x00") == Tagged(1, 5, (), None)


def test_tagged_fields_are_sent_in_the_order_of_their_tags_with_their_sizes() -> None:
    tagged = Tagged(1, 6, [Point(2, 3)], "a")
    data = b"\x01" + b"\x03" + b"\x00\x04\x02\x02\x03\x00" + b"\x01\x02\x02a" + b"\xc8\x01\x02\x00\x06"

    assert encode(tagged, 1, True) == data
    assert decode(Tagged, 1, True, data) == tagged


def test_a_tagged_field_is_not_sent_in_a_version_before_its_own() -> None:
    assert encode(Tagged(1, 6), 0, True) == b"\x01\x00"
    assert decode(Tagged, 0, True, b"\x01\x01\xc8\x01\x02\x00\x06") == Tagged(1)  # unknown there, so skipped


def test_classic_versions_have_no_tags() -> None:
    assert encode(Tagged(1, 6, [Point(2, 3)], "a"), 1, False) == b"\x01"
    assert decode(Tagged, 1, False, b"\x01") == Tagged(1)


def test_unknown_tags_are_skipped_between_known_ones() -> None:
    data = b"\x01" + b"\x03" + b"\x01\x02\x02a" + b"\x07\x03xyz" + b"\xc8\x01\x02\x00\x06"

    assert decode(Tagged, 1, True, data) == Tagged(1, 6, (), "a")


def test_unknown_tags_are_skipped_in_elements_too() -> None:
    cls = one(Array(Point))

    assert decode(cls, 0, True, b"\x02\x01\x02\x01\x63\x03abc" + FLEXIBLE_END) == cls([Point(1, 2)])


@pytest.mark.parametrize("size", [1, 3, 200])
def test_a_tagged_field_must_have_the_declared_size(size: int) -> None:
    with pytest.raises(RemoteProtocolError):
        decode(Tagged, 1, True, b"\x01\x01\xc8\x01" + (bytes([size]) if size < 128 else b"\xc8\x01") + b"\x00\x06\x00")


def test_elements_that_are_already_encoded_are_inserted_unchanged() -> None:
    cls = one(Array(Point))
    before = encode(Point(3, 4), 0, True)

    assert encode(cls([Point(1, 2), before]), 0, True) == encode(cls([Point(1, 2), Point(3, 4)]), 0, True)


def test_a_tuple_is_encoded_like_a_list() -> None:
    cls = one(Array(I32))

    assert encode(cls((1, 2)), 0, True) == encode(cls([1, 2]), 0, True)


def test_a_message_without_fields_in_a_version_is_empty() -> None:
    @struct
    class Empty:
        later: int = f(I8, since=3, default=9)

    assert encode(Empty(), 0, False) == b""
    assert encode(Empty(), 0, True) == FLEXIBLE_END
    assert decode(Empty, 0, False, b"") == Empty(9)


def test_any_byte_but_zero_is_true() -> None:
    cls = one(BOOL)

    assert decode(cls, 0, False, b"\x05") == cls(True)


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    """As in Java: a broker does not close the connection because of them."""
    cls = one(STRING)

    assert decode(cls, 0, False, b"\x00\x02a\xff") == cls("a\N{REPLACEMENT CHARACTER}")
    assert encode(cls("a\ud800"), 0, False) == b"\x00\x02a?"


def test_a_body_is_decoded_from_an_offset_and_surplus_bytes_are_ignored() -> None:
    """As in a real broker."""
    assert decode(Point, 0, False, b"header\x01\x02surplus", start=6) == Point(1, 2)


WRONG: list[tuple[FieldType, Any]] = [
    (I8, 128),
    (I8, "1"),
    (I8, None),
    (I16, 1 << 15),
    (I32, 1.5),
    (I64, 1 << 63),
    (F64, 10**400),
    (UUID16, "text"),
    (STRING, 5),
    (STRING, "x" * 32_768),
    (STRING, "é" * 16_384),
    (BYTES, "text"),
    (Array(I8), [300]),
    (Array(I8), 5),
    (Array(Point), [None]),
    (Array(Point), ["text"]),
    (Point, None),
]


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize(("kind", "value"), WRONG, ids=lambda each: repr(each)[:20])
def test_a_value_that_cannot_be_encoded_raises(kind: FieldType, value: Any, flexible: bool) -> None:
    with pytest.raises(LocalProtocolError):
        encode(one(kind)(value), 0, flexible)


def test_a_string_of_the_maximum_length_round_trips() -> None:
    cls = one(STRING)
    longest = cls("x" * 32_767)

    for flexible in (False, True):
        assert decode(cls, 0, flexible, encode(longest, 0, flexible)) == longest
