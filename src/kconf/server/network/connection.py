"""One connection: bytes in, answers out, in order, one request at a time.

Frames are answered straight from `data_received`; a request that waits for a commit makes the ones behind it wait.
A peer that does not read its answers is not read from either, and a long answer waits as parts that others share, so
what a peer can make us hold is bounded. A frame that cannot be ours is refused by its first eight bytes, before its
body arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from typing import TYPE_CHECKING, cast

from kconf.errors import ProtocolError, RemoteProtocolError
from kconf.protocol.headers import LENGTH
from kconf.server.api.describe_fast_path import DESCRIBE_CONFIGS
from kconf.server.api.router import Response, is_served
from kconf.server.auth.sasl_config import ConnectionRejected
from kconf.util.memory import LARGE, give_back

if TYPE_CHECKING:
    from kconf.server.auth.sasl_authenticator import SaslServerAuthenticator
    from kconf.server.network.listener import Listener
    from kconf.server.server import Server

_SMALLEST = 8  # bytes of a request: key, version, correlation id
_PIECE = 1 << 18  # bytes handed over at once
_TURN = 64  # requests worked out before others get their turn
_LINGER = 1.0  # seconds: a peer heard of since then may still be sending, and one not heard of has stopped reading


class Connection(asyncio.Protocol):
    """Reads frames, writes answers. `Guests` keeps the set of open ones."""

    def __init__(self, server: Server, door: Listener, host: str) -> None:
        self._server, self._guests = server, server.guests
        self._door, self.host = door, host
        self.is_made = False
        self._gate: SaslServerAuthenticator | None = None  # where one has to log in, until that is done for good
        self._now = server.now
        self._quick = server.context.quick
        self._quotas = server.context.quotas
        self._statistics = server.statistics
        self._data = b""  # what has been read and not yet answered, less what is in `_buffer`
        self._buffer = bytearray()  # a large frame under way
        self._unsent: Iterator[bytes] | None = None  # what is left of a long answer
        self._paused = False  # the peer does not read
        self._ended = False  # nothing more will be read
        self._linger = False  # let the peer close first
        self._muted: asyncio.TimerHandle | None = None  # throttled: not listened to until then
        self.busy = False  # a request waits for its commit, or for its turn
        self.closing = False
        self.last_seen = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=1 << 20)
        self.last_seen = self._now()
        self.is_made = True
        try:
            self.peer, self._gate = self._door.meet(transport, self.host, self._now)
        except ConnectionRejected as refusal:
            self.peer = refusal.peer
            self._guests.login_failed(self.host, str(refusal))
            self.abort()
        else:
            self._guests.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._let_go()
        if self._muted is not None:
            self._muted.cancel()
        self.peer.patience.end()
        self._guests.closed(self)
        self._guests.limits.closed(self.host, self._door.listener)

    def data_received(self, data: bytes) -> None:
        self.last_seen = self._now()
        if self.closing:
            return
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < 4 + LENGTH.unpack_from(self._buffer, 0)[0]:
                return
            data = bytes(self._buffer)
            self._buffer.clear()
            if len(data) > LARGE:
                asyncio.get_running_loop().call_later(_LINGER, give_back)  # when it has been answered
        self._data = self._data + data if self._data else data
        if self._is_behind():
            self.peer.patience.end()  # what has come would wait behind a long-poll, and the end of the line with it
            self._transport.pause_reading()
        else:
            self._answer()

    def eof_received(self) -> bool:
        if self.closing:
            return False
        self._linger = False
        self._end()
        return self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self.last_seen = self._now()
        self._go_on()

    def stop(self) -> None:
        """The server stops: answer what has been read whole, then close."""
        self._linger = not self._ended and self.last_seen > self._now() - _LINGER
        if self._muted is not None:
            self._ended = True
            self._unmute()
        else:
            self._end()

    @property
    def is_stuck(self) -> bool:
        """Whether the peer has answers to take, and does not take them."""
        return self._paused and self.last_seen < self._now() - _LINGER

    def finish(self) -> None:
        """Close once what was answered has been sent."""
        self._let_go()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._let_go()
        self._transport.abort()

    def _answer(self) -> None:
        """Answer every whole frame that has been read, until one has to wait."""
        data, self._data = self._data, b""
        out: list[bytes] = []
        try:
            position = self._answer_frames(data, out) if self._gate is None else self._guarded(self._gate, data, out)
        except ProtocolError as error:
            self._guests.refused(self.host, str(error))
            self._write(out)
            self._end()
            return
        self._write(out)
        self._keep(data, position)
        if self._ended and not self._is_behind():
            self._part()

    def _answer_frames(self, data: bytes, out: list[bytes]) -> int:
        """How far it came. What is left in `out` is to be written; ProtocolError: the line is to be closed."""
        position = waiting = turn = 0
        end = len(data)
        while end - position >= 4:
            size: int = LENGTH.unpack_from(data, position)[0]
            start = position + 4
            stop = start + size
            hit = None
            if stop <= end and data[start : start + 2] == DESCRIBE_CONFIGS and not self._quotas.limiting:
                hit = self._quick.answer(data, start, stop, self.peer.authorize)
            if hit is not None:
                self._statistics.quick += 1
                out += hit[1]
                waiting += hit[0]
            else:
                self._check(data[start : start + 4], size)
                if stop > end or (self._gate is not None and self._gate.wants(data, position)):
                    break
                turn += 1
                if turn > _TURN:
                    self._rest()
                    break
                made = self._server.answer(self.peer, data[start:stop])
                if isinstance(made, bytes):
                    out.append(made)
                    waiting += len(made)
                elif isinstance(made, list):
                    out += made
                    waiting += LENGTH.unpack(made[0])[0]
                else:
                    self._wait(made)
                    return stop
                if self.peer.mute_ms:
                    self._mute()
            position = stop
            if waiting > _PIECE or self.busy:
                self._send(out)
                waiting = 0
                if self._is_behind():
                    break
        return position

    def _guarded(self, gate: SaslServerAuthenticator, data: bytes, out: list[bytes]) -> int:
        """As `_answer_frames`, where one has to log in first, and perhaps again."""
        position = 0
        while not self._is_behind():
            if gate.is_open:
                gate.check_alive()
                if not gate.wants(data, position):
                    went = self._answer_frames(data[position:], out)
                    if not went:
                        break
                    position += went
                    continue
            frame = gate.frame(data, position)
            if frame is None:
                break
            position += 4 + len(frame)
            if not self._at_gate(gate, frame, out):
                return len(data)
            if gate.is_final:
                self._gate = None
        return position

    def _at_gate(self, gate: SaslServerAuthenticator, frame: bytes, out: list[bytes]) -> bool:
        """Whether they may go on."""
        step = gate.take(frame)
        if step.refused is not None:
            self._guests.login_failed(self.host, step.refused)
            self._wait(_after(gate.delay, step.answer or b""))
            self._end()
            return False
        made = self._server.answer(self.peer, frame) if step.answer is None else step.answer
        assert isinstance(made, bytes)  # ApiVersions is
        out.append(made)
        return True

    def _check(self, head: bytes, size: int) -> None:
        """Refuse a frame by its size, and by its key and version as soon as they are there."""
        if not _SMALLEST <= size <= self._server.largest_frame:
            raise RemoteProtocolError(f"a frame of {size} bytes")
        if len(head) == 4:
            key, version = (int.from_bytes(each, "big", signed=True) for each in (head[:2], head[2:]))
            if not is_served(key, version):
                raise RemoteProtocolError(f"API {key} version {version} is not served")

    def _keep(self, data: bytes, position: int) -> None:
        """Hold on to what could not be answered yet; a long frame is gathered without copying it again and again."""
        if self.closing or position == len(data):
            return
        rest = data[position:]
        if self._is_behind() or len(rest) < 8:
            self._data = rest
            self.peer.patience.end()
        else:
            self._buffer += rest

    def _write(self, out: list[bytes]) -> None:
        if out and not self.closing:
            self._transport.write(b"".join(out))

    def _send(self, out: list[bytes]) -> None:
        """Hand over more than a piece; what the peer is not ready for stays in its parts."""
        self._unsent = iter(tuple(out))
        out.clear()
        self._send_on()

    def _send_on(self) -> None:
        while self._unsent is not None and not self._paused:
            piece: list[bytes] = []
            size = 0
            for part in self._unsent:
                piece.append(part)
                size += len(part)
                if size >= _PIECE:
                    break
            else:
                self._unsent = None
            self._write(piece)

    def _wait(self, promise: Awaitable[Response]) -> None:
        self.busy = True
        if not self._ended:  # who has said all is not kept waiting for more
            self.peer.patience.renew()
        asyncio.ensure_future(promise).add_done_callback(self._done)

    def _done(self, promise: asyncio.Future[Response]) -> None:
        self.busy = False
        error = None if promise.cancelled() else promise.exception()
        if self.closing or promise.cancelled():
            return
        if error is None:
            made = promise.result()
            if isinstance(made, bytes):
                self._transport.write(made)
            else:
                self._send(made)
            if self.peer.mute_ms:
                self._mute()
            self._go_on()
        else:
            self._guests.refused(self.host, str(error))
            self.finish()

    def _rest(self) -> None:
        """Let others have their turn."""
        self.busy = True
        asyncio.get_running_loop().call_soon(self._rested)

    def turn_away(self, delay_ms: int) -> None:
        """Too many connections from there: read nothing, and close after a while."""
        self._let_go()
        self._transport.pause_reading()
        asyncio.get_running_loop().call_later(delay_ms / 1000, self.abort)

    def _mute(self) -> None:
        """Throttled: it has been answered, and is not listened to for a while. At the end everyone is."""
        delay_ms, self.peer.mute_ms = self.peer.mute_ms, 0
        if not self._ended:
            self.busy = True
            self._muted = asyncio.get_running_loop().call_later(delay_ms / 1000, self._unmute)

    def _unmute(self) -> None:
        if self._muted is not None:
            self._muted.cancel()
            self._muted = None
        self._rested()

    def _rested(self) -> None:
        self.busy = False
        self._go_on()

    def _go_on(self) -> None:
        """Something was in the way and may be gone: send, then answer, then read."""
        if self.closing:
            return
        self._send_on()
        if self._data and not self._is_behind():
            self._answer()
        elif self._ended and not self._is_behind():
            self._part()
        waits = self.busy and not self._data and not self._paused and self._unsent is None
        if (waits or not self._is_behind()) and not (self._ended or self.closing):
            self._transport.resume_reading()  # also while a request waits: else the end of the line would not be seen

    def _is_behind(self) -> bool:
        return self.busy or self._paused or self._unsent is not None

    def _end(self) -> None:
        """Read no more; close when all is answered."""
        self._ended = True
        self.peer.patience.end()
        if self._is_behind():
            self._transport.pause_reading()
        else:
            self._part()

    def _part(self) -> None:
        """All is said. To close with bytes unread would throw away answers that are on their way."""
        if self._linger and self._transport.can_write_eof():  # TLS cannot
            self._let_go()
            self._transport.write_eof()
            self._transport.resume_reading()
        else:
            self.finish()

    def _let_go(self) -> None:
        self.closing = True
        self._data = b""
        if len(self._buffer) > LARGE:
            asyncio.get_running_loop().call_later(_LINGER, give_back)
        self._buffer.clear()
        self._unsent = None


async def _after(seconds: float, answer: bytes) -> bytes:
    await asyncio.sleep(seconds)
    return answer
