"""Reads record batches (magic 2) in log segments, snapshots and Fetch responses.

A batch has a header of 61 bytes, followed by its records. The CRC-32C covers everything after the CRC.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from google_crc32c import value as crc32c

from kconf.errors import RemoteProtocolError
from kconf.protocol.codec.varint import Malformed

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_PREFIX: Final = 12  # base offset and length, which are not included in the length
_CRC_END: Final = 21
_CRC: Final = struct.Struct(">I")
_MAGIC: Final = 2
_COMPRESSION: Final = 0b111
_CONTROL: Final = 0b100000
_NULL: Final = 1  # the length -1 as a varint


class Record(NamedTuple):
    """One record. `timestamp` is in milliseconds since 1970."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class RecordBatch(NamedTuple):
    """A batch in `data`. `records` decodes its records. The next batch starts at offset `next_offset`."""

    base_offset: int
    next_offset: int
    leader_epoch: int
    is_control: bool
    timestamp: int
    size: int
    data: bytes
    start: int
    end: int

    def records(self) -> Iterator[Record]:
        """Decode the records. Raises RemoteProtocolError if they do not match the header."""
        data, position, base, first = self.data, self.start, self.base_offset, self.timestamp
        try:
            for _ in range(self.size):
                size, position = _varint(data, position)
                end = position + size
                if not position < end <= self.end:
                    raise RemoteProtocolError("a record is longer than its batch")
                timestamp, position = _varint(data, position + 1)
                offset, position = _varint(data, position)
                key = None
                if data[position] == _NULL:  # metadata records have no key
                    position += 1
                else:
                    key, position = _bytes(data, position, end)
                value, position = _bytes(data, position, end)
                yield Record(base + offset, first + timestamp, key, value)
                position = end
        except (IndexError, Malformed):
            raise RemoteProtocolError("a record is truncated") from None


def read_batches(data: bytes) -> Iterator[RecordBatch]:
    """The complete batches in some data. A truncated batch or zeros at the end are ignored.

    Raises RemoteProtocolError for a batch that is damaged, compressed, or of another format.
    """
    position, size = 0, len(data)
    while position + _HEADER.size <= size:
        base, length, epoch, magic, crc, attributes, last, timestamp, _, _, _, _, count = _HEADER.unpack_from(
            data, position
        )
        end = position + _PREFIX + length
        if length <= 0 or end > size:
            return
        if magic != _MAGIC or attributes & _COMPRESSION:
            raise RemoteProtocolError(
                f"a record batch has an unsupported format: magic {magic}, compression {attributes & _COMPRESSION}"
            )
        if length < _HEADER.size - _PREFIX or last < 0 or not 0 <= count <= length:
            raise RemoteProtocolError("a batch has an invalid header")
        if crc32c(data[position + _CRC_END : end]) != crc:
            raise RemoteProtocolError(f"the batch at offset {base} is damaged: its checksum does not match")
        is_control = bool(attributes & _CONTROL)
        start = position + _HEADER.size
        yield RecordBatch(base, base + last + 1, epoch, is_control, timestamp, count, data, start, end)
        position = end


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A zigzag number of up to 64 bits."""
    byte = data[position]
    if byte < 128:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value, shift = byte & 127, 7
    while True:
        position += 1
        byte = data[position]
        value |= (byte & 127) << shift
        if byte < 128:
            return (value >> 1) ^ -(value & 1), position + 1
        shift += 7
        if shift > 63:
            raise Malformed("has an invalid number")


def _bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    size, position = _varint(data, position)
    if size < 0:
        return None, position
    if position + size > end:
        raise Malformed("is truncated")
    return data[position : position + size], position + size
