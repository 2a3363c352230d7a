"""Collects the pages of a metadata snapshot, and converts it to an image."""

from __future__ import annotations

import struct
from typing import Final

from kconf.client.kraft.calls import SnapshotPage, SnapshotPosition
from kconf.client.kraft.image import MetadataImage
from kconf.errors import RemoteProtocolError
from kconf.protocol.records.batches import read_batches

_CONTROL_KEY: Final = struct.Struct(">hh")
_HEADER_VALUE: Final = struct.Struct(">hq")
_SNAPSHOT_HEADER, _SNAPSHOT_FOOTER = 3, 4
_MAX_SIZE: Final = 1 << 30


class PartialSnapshot:
    """The bytes of a snapshot so far."""

    def __init__(self, position: SnapshotPosition) -> None:
        self.position = position
        self._pages: list[bytes] = []
        self.received = 0

    def add(self, page: SnapshotPage) -> bool:
        """Add a page. Returns whether the snapshot is complete. Raises RemoteProtocolError if the page does not fit."""
        if page.position != self.received or not page.data or not 0 < page.size <= _MAX_SIZE:
            raise RemoteProtocolError(f"a page of a snapshot of {page.size} bytes is not the requested one")
        self._pages.append(page.data)
        self.received += len(page.data)
        return self.received >= page.size

    def data(self) -> bytes:
        return b"".join(self._pages)


def read_snapshot(data: bytes, end: int) -> tuple[MetadataImage, int]:
    """The image, and the time of its last change, or 0 if unknown. `end` is the end offset of the snapshot.

    Raises RemoteProtocolError if the snapshot is truncated or damaged.
    """
    batches = list(read_batches(data))
    time, is_whole = 0, False
    for batch in batches:
        for record in batch.records() if batch.is_control else ():
            kind = _CONTROL_KEY.unpack(record.key)[1] if record.key and len(record.key) == _CONTROL_KEY.size else None
            is_whole = is_whole or kind == _SNAPSHOT_FOOTER
            if kind == _SNAPSHOT_HEADER and record.value and len(record.value) >= _HEADER_VALUE.size:
                time = _HEADER_VALUE.unpack_from(record.value)[1]
    if not is_whole:
        raise RemoteProtocolError("a snapshot of the metadata log is truncated")
    return MetadataImage.load(batches, end - 1), time
