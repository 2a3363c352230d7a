"""One connection: reads requests and writes responses in order, one request at a time.

Frames are answered directly from `data_received`. A request that waits for a commit delays the requests after it. The
server stops reading from a client that does not read its responses, and unsent parts of a long response are shared with
other connections, so the memory that one client can use is bounded. An invalid frame is refused by its first eight
bytes, before its body arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from types import CoroutineType
from typing import Final, cast

from kconf.errors import ProtocolError, RemoteProtocolError
from kconf.protocol.headers import LENGTH
from kconf.server.auth.authenticator import Authenticator, ClientRejected
from kconf.server.auth.sasl_authenticator import SaslServerAuthenticator
from kconf.server.connection_context import ConnectionContext
from kconf.server.listener_config import EndPoint
from kconf.server.network.connection_registry import ConnectionRegistry
from kconf.server.request_handler import RequestHandler, Response
from kconf.util.memory import LARGE, give_back

_MIN_REQUEST: Final = 8  # bytes: API key, version, correlation id
_CHUNK: Final = 1 << 18  # bytes passed to the transport in one write
_TURN: Final = 64  # requests between two checks of the time
_MAX_TURN: Final = 0.001  # approximate seconds before other connections get their turn
_LINGER: Final = 1.0  # seconds without traffic after which a client counts as inactive


class Connection(asyncio.Protocol):
    """Reads frames and writes responses. `ConnectionRegistry` lists the open connections."""

    context: ConnectionContext

    def __init__(
        self,
        endpoint: EndPoint,
        host: str,
        authenticator: Authenticator,
        handler: RequestHandler,
        registry: ConnectionRegistry,
    ) -> None:
        self.host = host
        self.is_made = False
        self.busy = False  # a request waits for its commit or its turn
        self.closing = False
        self.last_seen = 0.0
        self._endpoint, self._authenticator, self._registry = endpoint, authenticator, registry
        self._handler, self._handle, self._max_request_bytes = handler, handler.handle, handler.max_request_bytes
        self._now = registry.now
        self._sasl: SaslServerAuthenticator | None = None  # None when no (re-)authentication can follow
        self._data = b""  # read but not answered, without `_buffer`
        self._buffer = bytearray()  # a large frame that is still incomplete
        self._unsent: Iterator[bytes] | None = None  # the rest of a long response
        self._paused = False  # the client does not read its responses
        self._ended = False  # no more data will be read
        self._linger = False  # let the client close first
        self._muted: asyncio.TimerHandle | None = None  # set while the connection is throttled

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=1 << 20)
        self.last_seen = self._now()
        self.is_made = True
        host, port = self._endpoint.advertised or transport.get_extra_info("sockname")[:2]
        self.context = ConnectionContext(self.host, host, port, self._endpoint.name, self._endpoint.node)
        try:
            self._sasl = self._authenticator.authenticate(self.context, transport)
        except ClientRejected as error:
            self._registry.login_failed(self.host, str(error))
            self.abort()
        else:
            self._registry.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._discard()
        if self._muted is not None:
            self._muted.cancel()
        self.context.close()
        self._registry.closed(self)
        self._registry.quotas.closed(self.host, self._endpoint)

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
                asyncio.get_running_loop().call_later(_LINGER, give_back)  # after the response
        self._data = self._data + data if self._data else data
        if self._is_behind():
            self.context.long_poll.end()  # a new request must not wait for a long poll
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
        self._continue()

    def stop(self) -> None:
        """Answer the requests that have been read completely, then close. Called at shutdown."""
        self._linger = not self._ended and self.last_seen > self._now() - _LINGER
        if self._muted is not None:
            self._ended = True
            self._unmute()
        else:
            self._end()

    @property
    def is_stuck(self) -> bool:
        """Whether the client has stopped reading its responses."""
        return self._paused and self.last_seen < self._now() - _LINGER

    def finish(self) -> None:
        """Close after the pending responses have been sent."""
        self._discard()
        self._transport.close()

    def abort(self) -> None:
        """Close immediately."""
        self._discard()
        self._transport.abort()

    def reject(self, delay_ms: int) -> None:
        """Read nothing, and close after the delay: the address exceeds its connection rate."""
        self._discard()
        self._transport.pause_reading()
        asyncio.get_running_loop().call_later(delay_ms / 1000, self.abort)

    # -- requests ------------------------------------------------------------------------------------------------------

    def _answer(self) -> None:
        """Answer the complete frames that have been read, until one has to wait."""
        data, self._data = self._data, b""
        out: list[bytes] = []
        try:
            if self._sasl is None:
                position = self._answer_frames(data, out)
            else:
                position = self._authenticate(self._sasl, data, out)
        except ProtocolError as error:
            self._registry.request_failed(self.host, error)
            self._write(out)
            self._end()
            return
        self._write(out)
        self._store_rest(data, position)
        if self._ended and not self._is_behind():
            self._close()

    def _answer_frames(self, data: bytes, out: list[bytes]) -> int:
        """Answer frames, and return the position after the last one. The caller writes what is left in `out`.

        Raises ProtocolError if the connection must be closed.
        """
        position = size_out = requests = 0
        end, context, sasl = len(data), self.context, self._sasl
        handle, max_bytes = self._handle, self._max_request_bytes
        began: float | None = None
        while end - position >= 4:
            size: int = LENGTH.unpack_from(data, position)[0]
            start = position + 4
            stop = start + size
            if not _MIN_REQUEST <= size <= max_bytes:
                raise RemoteProtocolError(f"invalid frame size: {size} bytes")
            if stop > end:
                self._check_head(data[start : start + 4])
                break
            if sasl is not None and sasl.begins_reauthentication(data, position):
                break
            response = handle(context, data, start, stop)
            if not isinstance(response, tuple):
                self._wait(response)
                return stop
            size_out += response[0]
            out += response[1]
            if context.mute_ms:
                self._mute()
            position = stop
            if size_out > _CHUNK or self.busy:
                self._send(out)
                size_out = 0
                if self._is_behind():
                    break
            requests += 1
            if not requests % _TURN:
                now = self._now()
                if began is not None and now - began > _MAX_TURN and position < end:
                    self._yield()
                    break
                began = began or now
        return position

    def _check_head(self, head: bytes) -> None:
        """Refuse an incomplete frame by its API key and version. The handler does this for complete frames."""
        if len(head) == 4:
            key, version = (int.from_bytes(each, "big", signed=True) for each in (head[:2], head[2:]))
            if not self._handler.is_served(key, version):
                raise RemoteProtocolError(f"API {key} version {version} is not supported")

    def _authenticate(self, sasl: SaslServerAuthenticator, data: bytes, out: list[bytes]) -> int:
        """Like `_answer_frames`, on a SASL listener: the client has to authenticate first, and may re-authenticate."""
        position = 0
        while not self._is_behind():
            if sasl.is_authenticated:
                sasl.check_session()
                if not sasl.begins_reauthentication(data, position):
                    answered = self._answer_frames(data[position:], out)
                    if not answered:
                        break
                    position += answered
                    continue
            frame = sasl.next_frame(data, position)
            if frame is None:
                break
            position += 4 + len(frame)
            if not self._authentication_step(sasl, frame, out):
                return len(data)
            if sasl.is_complete:
                self._sasl = None
        return position

    def _authentication_step(self, sasl: SaslServerAuthenticator, frame: bytes, out: list[bytes]) -> bool:
        """Process one frame of the SASL exchange. Returns whether the connection stays open."""
        step = sasl.process(frame)
        if step.failure is not None:
            self._registry.login_failed(self.host, step.failure)
            self._wait(_delayed(sasl.failure_delay, step.response or b""))
            self._end()
            return False
        if step.response is not None:
            out.append(step.response)
        else:
            response = self._handle(self.context, frame, 0, len(frame))
            assert isinstance(response, tuple)  # ApiVersions does not wait
            out += response[1]
        return True

    def _store_rest(self, data: bytes, position: int) -> None:
        """Store what could not be answered yet. A long frame is collected without repeated copying."""
        if self.closing or position == len(data):
            return
        rest = data[position:]
        if self._is_behind() or len(rest) < 8:
            self._data = rest
            self.context.long_poll.end()
        else:
            self._buffer += rest

    # -- responses -----------------------------------------------------------------------------------------------------

    def _write(self, out: list[bytes]) -> None:
        if out and not self.closing:
            self._transport.write(b"".join(out))

    def _send(self, out: list[bytes]) -> None:
        """Send a long response; the parts that the client cannot take yet are sent later."""
        self._unsent = iter(tuple(out))
        out.clear()
        self._send_rest()

    def _send_rest(self) -> None:
        while self._unsent is not None and not self._paused:
            chunk: list[bytes] = []
            size = 0
            for part in self._unsent:
                chunk.append(part)
                size += len(part)
                if size >= _CHUNK:
                    break
            else:
                self._unsent = None
            self._write(chunk)

    def _wait(self, pending: Awaitable[Response]) -> None:
        self.busy = True
        if not self._ended:  # at the end, a long poll must not keep the connection open
            self.context.long_poll.renew()
        loop = asyncio.get_running_loop()
        task: asyncio.Future[Response]
        task = loop.create_task(pending) if isinstance(pending, CoroutineType) else asyncio.ensure_future(pending)
        task.add_done_callback(self._done)

    def _done(self, pending: asyncio.Future[Response]) -> None:
        self.busy = False
        error = None if pending.cancelled() else pending.exception()
        if self.closing or pending.cancelled():
            return
        if error is None:
            _, parts = pending.result()
            if len(parts) == 1:
                self._transport.write(parts[0])
            else:
                self._send(list(parts))
            if self.context.mute_ms:
                self._mute()
            self._continue()
        else:
            self._registry.request_failed(self.host, error)
            self.finish()

    # -- pauses and the end --------------------------------------------------------------------------------------------

    def _yield(self) -> None:
        """Let other connections have their turn."""
        self.busy = True
        asyncio.get_running_loop().call_soon(self._resume)

    def _mute(self) -> None:
        """Stop reading from a throttled connection for a while, except at shutdown. Its response is sent first."""
        delay_ms, self.context.mute_ms = self.context.mute_ms, 0
        if not self._ended:
            self.busy = True
            self._muted = asyncio.get_running_loop().call_later(delay_ms / 1000, self._unmute)

    def _unmute(self) -> None:
        if self._muted is not None:
            self._muted.cancel()
            self._muted = None
        self._resume()

    def _resume(self) -> None:
        self.busy = False
        self._continue()

    def _continue(self) -> None:
        """Continue after a pause: send, then answer, then read."""
        if self.closing:
            return
        self._send_rest()
        if self._data and not self._is_behind():
            self._answer()
        elif self._ended and not self._is_behind():
            self._close()
        waits = self.busy and not self._data and not self._paused and self._unsent is None
        if (waits or not self._is_behind()) and not (self._ended or self.closing):
            self._transport.resume_reading()  # also while a request waits, to notice a disconnect

    def _is_behind(self) -> bool:
        return self.busy or self._paused or self._unsent is not None

    def _end(self) -> None:
        """Stop reading, and close when everything is answered."""
        self._ended = True
        self.context.long_poll.end()
        if self._is_behind():
            self._transport.pause_reading()
        else:
            self._close()

    def _close(self) -> None:
        """Close after everything is answered. Closing with unread bytes would discard responses in transit."""
        if self._linger and self._transport.can_write_eof():  # TLS has no half-close
            self._discard()
            self._transport.write_eof()
            self._transport.resume_reading()
        else:
            self.finish()

    def _discard(self) -> None:
        self.closing = True
        self._data = b""
        if len(self._buffer) > LARGE:
            asyncio.get_running_loop().call_later(_LINGER, give_back)
        self._buffer.clear()
        self._unsent = None


async def _delayed(seconds: float, frame: bytes) -> Response:
    await asyncio.sleep(seconds)
    return len(frame), (frame,)
