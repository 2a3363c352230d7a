"""Damaged frames: every message truncated at any byte, and with random changes.

Reading returns a value or raises RemoteProtocolError, and takes at most a small multiple of the frame's size in memory.
"""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconf.errors import RemoteProtocolError
from kconf.protocol.codec.serde import decode, encode, reader
from kconf.protocol.headers import read_header, read_response, request, response
from tests.property.wire_values import MESSAGES, Message, fullest, values

# The worst cases, lists of small structs with empty lists, take about 30.
BYTES_PER_BYTE = 50
BASE = 20_000
_TRIES = 3  # other threads also allocate memory, but not twice
_LAST = [each if each.version == each.api.max else pytest.param(each, marks=pytest.mark.full) for each in MESSAGES]
"""For slow tests: `make conformance-full` runs the older versions."""


def _read(message: Message, data: bytes) -> Any:
    return decode(message.cls, message.version, message.flexible, data)


def _try_to_read(message: Message, data: bytes) -> None:
    with contextlib.suppress(RemoteProtocolError):
        _read(message, data)


def _assert_little_memory(size: int, work: Callable[[], None]) -> None:
    most, peaks = BASE + BYTES_PER_BYTE * size, list[int]()
    while len(peaks) < _TRIES and min(peaks, default=most) >= most:
        tracemalloc.start()
        try:
            work()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert min(peaks) < most, peaks


@pytest.mark.parametrize("message", MESSAGES, ids=str)
def test_a_frame_cut_at_any_byte_is_refused(message: Message) -> None:
    value = fullest(message.cls, message.version)
    if message.side == "request":
        frame = request(message.api, message.version, 7, "client", value)[4:]
    else:
        frame = response(message.api, message.version, 7, encode(value, message.version, message.flexible))[4:]

    assert [end for end in range(len(frame) + 1) if _reads_frame(message, frame[:end])] == [len(frame)]


def _reads_frame(message: Message, frame: bytes) -> bool:
    try:
        _read_frame(message, frame)
    except RemoteProtocolError:
        return False
    return True


def _read_frame(message: Message, frame: bytes) -> Any:
    if message.side == "response":
        return read_response(message.api, message.version, frame)
    header = read_header(frame, message.flexible)
    return decode(message.cls, message.version, message.flexible, frame, header.body)


EVIL = [
    b"\xff",
    b"\x00",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff\xff\x07",
    b"\x7f\xff\xff\xff",
    b"\xff" * 10,
    b"\x00\x04\x00\x00",
]
Damage = tuple[float, int, bytes]
DAMAGE = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 4), st.sampled_from(EVIL) | st.binary(max_size=6)), min_size=1, max_size=4
)


def _damaged(data: bytes, damage: list[Damage]) -> bytes:
    """Replace some bytes at a relative position."""
    for where, taken, put in damage:
        at = round(where * len(data))
        data = data[:at] + put + data[at + taken :]
    return data


@pytest.mark.parametrize("message", _LAST, ids=str)
def test_a_damaged_body_is_read_or_refused(message: Message) -> None:
    @given(values(message.cls, message.version), DAMAGE)
    def holds(value: Any, damage: list[Damage]) -> None:
        data = _damaged(encode(value, message.version, message.flexible), damage)
        with contextlib.suppress(RemoteProtocolError):
            _read(message, data)

    holds()


@pytest.mark.parametrize("message", _LAST, ids=str)
def test_a_hostile_size_anywhere_costs_little_memory(message: Message) -> None:
    reader(message.cls, message.version, message.flexible)  # compiled before the memory is measured
    data = encode(fullest(message.cls, message.version), message.version, message.flexible)
    size = b"\xff\xff\xff\xff\x07" if message.flexible else b"\x7f\xff\xff\xff"

    def read_all() -> None:
        for at in range(len(data)):
            _try_to_read(message, data[:at] + size + data[at + len(size) :])

    _assert_little_memory(len(data), read_all)


@pytest.mark.parametrize("message", _LAST, ids=str)
def test_a_frame_of_many_small_elements_takes_a_small_multiple_of_its_size(message: Message) -> None:
    """The worst amplification: zeros and ones are empty strings, empty lists and empty structs."""
    reader(message.cls, message.version, message.flexible)
    count = b"\x80\x20" if message.flexible else b"\x00\x00\x10\x00"
    for before in (b"", bytes(4)):
        for byte in (b"\x00", b"\x01"):
            data = before + count + byte * 20_000
            _assert_little_memory(len(data), partial(_try_to_read, message, data))
