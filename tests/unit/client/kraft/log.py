"""Builds record batches of a metadata log, as a controller would send them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from google_crc32c import value as crc32c

from kconf.protocol.codec.serde import encode
from kconf.protocol.codec.varint import uvarint
from kconf.protocol.records import metadata
from kconf.protocol.records.metadata import RECORD_TYPES

KEYS = {row.table: (key, row.max_version) for key, row in RECORD_TYPES.items()}


def zigzag(n: int) -> bytes:
    return uvarint(n * 2 if n >= 0 else -n * 2 - 1)


def value_of(record: Any) -> bytes:
    key, version = KEYS[type(record)]
    return b"\1" + uvarint(key) + uvarint(version) + encode(record, version, True)


def batch(
    base: int,
    records: Sequence[Any],
    *,
    epoch: int = 1,
    time: int = 1000,
    control: bool = False,
    size: int | None = None,
) -> bytes:
    """A batch of records: structs of the metadata log, or pairs of key and value."""
    body = b""
    for place, record in enumerate(records):
        key, value = record if isinstance(record, tuple) else (None, value_of(record))
        parts = b"\0" + zigzag(0) + zigzag(place)
        parts += zigzag(-1) if key is None else zigzag(len(key)) + key
        parts += zigzag(len(value)) + value + zigzag(0)
        body += zigzag(len(parts)) + parts
    count = len(records) if size is None else size
    tail = struct.pack(">hiqqqhii", 32 if control else 0, len(records) - 1, time, time, -1, -1, -1, count) + body
    return struct.pack(">qiibI", base, len(tail) + 9, epoch, 2, crc32c(tail)) + tail


def snapshot(records: Sequence[Any], *, time: int = 500, epoch: int = 1, cut: bool = False) -> bytes:
    header = (struct.pack(">hh", 0, 3), struct.pack(">hq", 0, time) + b"\0")
    footer = (struct.pack(">hh", 0, 4), struct.pack(">h", 0) + b"\0")
    parts = [batch(0, [header], epoch=epoch, control=True), batch(1, records, epoch=epoch)]
    return b"".join(parts if cut else [*parts, batch(1 + len(records), [footer], epoch=epoch, control=True)])


def topic_id(number: int) -> bytes:
    return UUID(int=number).bytes


def new_topic(name: str, number: int, partitions: int = 1) -> list[Any]:
    made = [metadata.PartitionRecord(each, topic_id(number), [1]) for each in range(partitions)]
    return [metadata.TopicRecord(name, topic_id(number)), *made]


def topic_config(name: str, key: str, value: str | None) -> Any:
    return metadata.ConfigRecord(2, name, key, value)
