"""Splits a byte stream into Kafka frames."""

from __future__ import annotations

from kconf.errors import RemoteProtocolError
from kconf.protocol.headers import LENGTH

_TLS_ALERT = b"\x15\x03"


class FrameReader:
    """Buffers chunks until a frame is complete, and joins them only once."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: list[bytes] = []
        self._size = 0
        self._frame_size = -1  # -1 while the length of the next frame is unknown

    def feed(self, data: bytes) -> list[bytes]:
        """Add data. Returns the completed frames, without length prefix."""
        self._chunks.append(data)
        self._size += len(data)
        frames: list[bytes] = []
        while self._size >= (4 if self._frame_size < 0 else self._frame_size):
            buffered = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
            if self._frame_size < 0:
                self._frame_size = self._length(buffered)
                buffered = buffered[4:]
            else:
                frames.append(buffered[: self._frame_size])
                buffered = buffered[self._frame_size :]
                self._frame_size = -1
            self._chunks, self._size = ([buffered] if buffered else []), len(buffered)
        return frames

    def _length(self, data: bytes) -> int:
        (size,) = LENGTH.unpack_from(data)
        if data[:2] == _TLS_ALERT:
            raise RemoteProtocolError(
                "the listener uses TLS, but this client does not: set security.protocol to SSL or SASL_SSL"
            )
        if data.startswith(b"HTTP"):
            raise RemoteProtocolError("this is an HTTP server, not Kafka; check the port")
        if not 4 <= size <= self._limit:
            raise RemoteProtocolError(f"the broker announced a response of {size} bytes; is it Kafka?")
        return int(size)
