"""Any bytes result in a value or RemoteProtocolError, and a small frame never needs much memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import pytest

from kconf.errors import RemoteProtocolError
from kconf.protocol.codec.fields import BYTES, I8, I32, I64, STRING, UUID16, Array, f, struct
from kconf.protocol.codec.serde import MAX_ELEMENTS, decode, encode, reader

ENDLESS = b"\xff" * 12
HUGE = b"\xff\xff\xff\xff\x07"  # 2**31 - 1


@struct
class Leaf:
    name: str = f(STRING)
    note: str | None = f(STRING, nullable=0, default=None)


@struct
class Tree:
    number: int = f(I32)
    name: str = f(STRING)
    raw: bytes = f(BYTES)
    leaves: Sequence[Leaf] = f(Array(Leaf))
    numbers: Sequence[int] = f(Array(I64))
    leaf: Leaf | None = f(Leaf, nullable=0, default=None)
    id: bytes = f(UUID16, default=bytes(16))
    mark: str = f(STRING, tag=3, default="")


TREE = Tree(1, "tree", b"raw", [Leaf("a", "b"), Leaf("c", None)], [1, 2], Leaf("d"), bytes(16), "mark")


@pytest.mark.parametrize("flexible", [False, True])
def test_a_message_cut_anywhere_is_refused(flexible: bool) -> None:
    data = encode(TREE, 0, flexible)
    for end in range(len(data)):
        with pytest.raises(RemoteProtocolError, match="Tree v0"):
            decode(Tree, 0, flexible, data[:end])


@struct
class Names:
    names: Sequence[str] = f(Array(STRING))


@struct
class Numbers:
    numbers: Sequence[int] = f(Array(I8))


@struct
class Ids:
    ids: Sequence[bytes] = f(Array(UUID16))


@struct
class Leaves:
    leaves: Sequence[Leaf] = f(Array(Leaf))


@struct
class Text:
    text: str = f(STRING)


@struct
class Blob:
    blob: bytes = f(BYTES)


@pytest.mark.parametrize("cls", [Names, Numbers, Ids, Leaves, Text, Blob])
@pytest.mark.parametrize("size", [HUGE, b"\xff\xff\x7f", ENDLESS, b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x80\x00"])
def test_a_hostile_size_is_refused_before_memory_is_allocated(cls: type, size: bytes) -> None:
    reader(cls, 0, True)  # compiled before the memory is measured
    tracemalloc.start()
    with pytest.raises(RemoteProtocolError):
        decode(cls, 0, True, size + bytes(20))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 10_000


@pytest.mark.parametrize("cls", [Names, Numbers, Ids, Leaves, Blob])
@pytest.mark.parametrize("size", [b"\x7f\xff\xff\xff", b"\x00\x01\x00\x00", b"\x80\x00\x00\x00", b"\xff\xff\xff\xfe"])
def test_a_hostile_size_in_a_classic_version_is_refused(cls: type, size: bytes) -> None:
    """Any negative size means null, which is not allowed here."""
    with pytest.raises(RemoteProtocolError):
        decode(cls, 0, False, size + bytes(20))


def test_a_count_that_needs_more_bytes_than_are_left_is_refused() -> None:
    """Four empty names fit in four bytes; five do not."""
    assert decode(Names, 0, True, b"\x05" + b"\x01" * 4 + b"\x00") == Names([""] * 4)
    with pytest.raises(RemoteProtocolError):
        decode(Names, 0, True, b"\x07" + b"\x01" * 5)


def test_a_string_longer_than_kafka_allows_is_refused_in_flexible_versions_too() -> None:
    """Otherwise a value could be stored that no classic version can encode."""
    data = b"\x81\x80\x02" + b"x" * 32_768 + b"\x00"

    with pytest.raises(RemoteProtocolError, match="too long"):
        decode(Text, 0, True, data)


@pytest.mark.parametrize(
    "tags", [HUGE, ENDLESS, b"\x01" + ENDLESS, b"\x01\x05" + HUGE, b"\x01\x05" + ENDLESS, b"\x02\x05\x00"]
)
def test_hostile_tags_are_refused(tags: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode(Text, 0, True, b"\x02a" + tags)


def test_the_number_of_elements_in_a_message_is_limited() -> None:
    def names(count: int) -> bytes:
        return count.to_bytes(4, "big") + b"\x00\x00" * count

    assert len(decode(Names, 0, False, names(MAX_ELEMENTS)).names) == MAX_ELEMENTS
    with pytest.raises(RemoteProtocolError, match="more names"):
        decode(Names, 0, False, names(MAX_ELEMENTS + 1))
    assert len(decode(Names, 0, False, names(MAX_ELEMENTS + 1), most=MAX_ELEMENTS + 1).names) == MAX_ELEMENTS + 1


def test_elements_of_nested_arrays_count_towards_one_limit() -> None:
    @struct
    class Grid:
        rows: Sequence[Sequence[int]] = f(Array(Array(I8)))

    grid = encode(Grid([[1] * 9] * 3), 0, True)

    assert decode(Grid, 0, True, grid, most=30) == Grid([[1] * 9] * 3)
    with pytest.raises(RemoteProtocolError):
        decode(Grid, 0, True, grid, most=29)


def test_elements_of_an_array_in_a_tag_count_towards_the_limit() -> None:
    @struct
    class Quiet:
        names: Sequence[str] = f(Array(STRING), tag=0, default=())

    data = encode(Quiet(["a"] * 5), 0, True)

    assert decode(Quiet, 0, True, data, most=5) == Quiet(["a"] * 5)
    with pytest.raises(RemoteProtocolError):
        decode(Quiet, 0, True, data, most=4)


def test_elements_without_bytes_count_towards_the_limit() -> None:
    @struct
    class Nothing:
        later: int = f(I8, since=1, default=0)

    @struct
    class Nothings:
        nothings: Sequence[Nothing] = f(Array(Nothing))

    assert decode(Nothings, 0, False, b"\x00\x00\x00\x03") == Nothings([Nothing()] * 3)
    with pytest.raises(RemoteProtocolError):
        decode(Nothings, 0, False, b"\x7f\xff\xff\xff")


def test_an_array_of_structs_with_null_structs_is_not_reported_as_truncated() -> None:
    @struct
    class Maybe:
        leaf: Leaf | None = f(Leaf, nullable=0)

    @struct
    class Maybes:
        maybes: Sequence[Maybe] = f(Array(Maybe))

    maybes = Maybes([Maybe(None), Maybe(None)])

    assert decode(Maybes, 0, False, encode(maybes, 0, False)) == maybes
