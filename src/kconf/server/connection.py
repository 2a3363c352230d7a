"""One connection: bytes in, answers out, in order, one request at a time.

Frames are answered straight from `data_received`; a request that waits for a commit makes the ones behind it wait.
A peer that does not read its answers is not read from either, so what it can make us hold is bounded. A frame that
cannot be ours is refused by its first eight bytes, before its body arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from logging import getLogger
from typing import TYPE_CHECKING, cast

from kconf.errors import ProtocolError
from kconf.server.dispatch import Peer, is_served
from kconf.wire.frames import LENGTH

if TYPE_CHECKING:
    from kconf.server.app import Server

log = getLogger(__name__)

_SMALLEST = 8
_DESCRIBE_CONFIGS = b"\x00\x20"


class Connection(asyncio.Protocol):
    """Reads frames, writes answers. `Server` keeps the set of open ones."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._known = server.context.answers.by_request
        self._data = b""  # what has been read and not yet answered, less what is in `_buffer`
        self._buffer = bytearray()  # a large frame under way
        self.busy = False  # a request waits for its commit
        self._paused = False  # the peer does not read
        self._closing = False
        self._ended = False  # the peer has said all
        self.last_seen = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=1 << 20)
        host = (transport.get_extra_info("peername") or ("?",))[0]
        self.peer = Peer(host, *self._server.advertised(transport))
        self.last_seen = self._server.now()
        self._server.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._closing = True
        self._data = b""
        self._buffer.clear()
        self._server.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < 4 + LENGTH.unpack_from(self._buffer, 0)[0]:
                return
            data = bytes(self._buffer)
            self._buffer.clear()
        self._data = self._data + data if self._data else data
        if self.busy or self._paused:
            self._transport.pause_reading()
            return
        self._answer()

    def eof_received(self) -> bool:
        self._ended = True
        if not self.busy and not self._paused:
            self.finish()
        return True

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._go_on()

    def finish(self) -> None:
        """Close once what was answered has been sent."""
        self._closing = True
        self._data = b""
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._closing = True
        self._transport.abort()

    def stop(self) -> None:
        """The server stops: answer what has been read whole, then close."""
        self._ended = True
        if not self.busy and not self._paused:
            self.finish()
        else:
            self._transport.pause_reading()

    def _answer(self) -> None:
        """Answer every whole frame that has been read, until one has to wait."""
        data, position, end = self._data, 0, len(self._data)
        known = self._known
        out: list[bytes] = []
        self._data = b""
        self.last_seen = self._server.now()
        answers = self._server.context.answers
        while end - position >= 4:
            (size,) = LENGTH.unpack_from(data, position)
            start = position + 4
            stop = start + size
            if stop > end:
                if not self._acceptable(data, start, end, size):
                    self._write(out)
                    self._refuse(_named(data, start, size))
                    return
                break
            if data[start : start + 2] == _DESCRIBE_CONFIGS and size >= 10:
                name = data[start + 8] << 8 | data[start + 9]
                body = start + 10 if name == 0xFFFF else start + 10 + name
                hit = known.get(data[start : start + 4] + data[body:stop])
                if hit is not None:
                    answers.hits += 1
                    out += (hit[0], data[start + 4 : start + 8], *hit[1])
                    position = stop
                    if len(out) > 4096:
                        self._write(out)
                        if self._paused:
                            break
                    continue
            if not self._acceptable(data, start, end, size):
                self._write(out)
                self._refuse(_named(data, start, size))
                return
            position = stop
            try:
                made = self._server.answer(self.peer, data[start:stop])
            except ProtocolError as error:
                self._write(out)
                self._refuse(str(error))
                return
            if isinstance(made, bytes):
                out.append(made)
                if len(made) > 65536 or len(out) > 4096:
                    self._write(out)
                    if self._paused:
                        break
            else:
                self._write(out)
                self._wait(made)
                break
        self._write(out)
        self._keep(data, position, end)
        if self._ended and not self.busy and not self._paused:
            self.finish()

    def _acceptable(self, data: bytes, start: int, end: int, size: int) -> bool:
        if not _SMALLEST <= size <= self._server.largest_frame:
            return False
        if end - start < 4:
            return True
        key = int.from_bytes(data[start : start + 2], "big", signed=True)
        return is_served(key, int.from_bytes(data[start + 2 : start + 4], "big", signed=True))

    def _keep(self, data: bytes, position: int, end: int) -> None:
        """Hold on to what could not be answered yet; a long frame is gathered without copying it again and again."""
        if self._closing or position == end:
            return
        rest = data[position:end] if position else data
        if self.busy or self._paused or len(rest) < 4:
            self._data = rest
        else:
            self._buffer += rest

    def _write(self, out: list[bytes]) -> None:
        if out and not self._closing:
            self._transport.write(b"".join(out))
        out.clear()

    def _wait(self, promise: Awaitable[bytes]) -> None:
        self.busy = True
        task = asyncio.ensure_future(promise)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Future[bytes]) -> None:
        self.busy = False
        if task.cancelled() or self._closing:
            return
        error = task.exception()
        if error is not None:
            log.error("a request failed: %s", error, exc_info=None if isinstance(error, ProtocolError) else error)
            self.finish()
            return
        self._transport.write(task.result())
        self._go_on()

    def _go_on(self) -> None:
        if self.busy or self._paused or self._closing:
            return
        if self._data:
            self._answer()
        elif self._ended:
            self.finish()
            return
        if not self.busy and not self._paused and not self._closing and not self._ended:
            self._transport.resume_reading()

    def _refuse(self, why: str) -> None:
        self._server.refused(self.peer, why)
        self.finish()


def _named(data: bytes, start: int, size: int) -> str:
    key, version = (int.from_bytes(data[at : at + 2], "big", signed=True) for at in (start, start + 2))
    return f"a frame of {size} bytes for API {key} version {version} cannot be answered"
