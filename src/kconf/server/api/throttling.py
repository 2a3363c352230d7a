"""Throttling: while any client has a request quota, requests are timed, and responses have a throttle time.

As in Kafka, the response is sent immediately, and then the connection is muted for the throttle time (`mute_ms` of its
context). Shared parts of a response are not modified: the part with the throttle time is replaced. Only the time in the
event loop's thread counts. Planning and committing do not, since the writer works for many clients at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Generator, Sequence
from time import perf_counter
from typing import Any, Final

from kconf.protocol.apis import API_VERSIONS, APIS
from kconf.protocol.codec.serde import encode
from kconf.protocol.codec.varint import MAX_TEXT, skip_tags
from kconf.protocol.headers import HEAD, LENGTH, read_response, response
from kconf.server.api.throttle_time import AFTER_NO_TAGS, throttle_time_offset
from kconf.server.connection_context import ConnectionContext
from kconf.server.quotas.manager import QuotaManager, user_of
from kconf.server.request_handler import Handle, Response

_MAX_HEAD: Final = 64


class Throttling:
    """Wraps a request handler."""

    def __init__(self, quotas: QuotaManager, answer: Handle) -> None:
        self._quotas, self._answer = quotas, answer

    def handle(
        self, connection: ConnectionContext, data: bytes, start: int, stop: int
    ) -> Response | Awaitable[Response]:
        frame = data[start:stop]
        began = perf_counter()
        made = self._answer(connection, data, start, stop)
        seconds = perf_counter() - began
        if isinstance(made, Coroutine):
            return self._later(connection, frame, _Timed(made, seconds))
        assert isinstance(made, tuple)
        return self._throttled(connection, frame, made, seconds)

    async def _later(self, connection: ConnectionContext, frame: bytes, pending: _Timed) -> Response:
        return self._throttled(connection, frame, await pending, pending.seconds)

    def _throttled(self, connection: ConnectionContext, frame: bytes, made: Response, seconds: float) -> Response:
        """Set the throttle time: the larger of the request quota's and the one that the handler has set."""
        key, version, _ = HEAD.unpack_from(frame, 0)
        delay = self._quotas.record_request(user_of(connection.principal), client_id_of(frame), seconds)
        size, parts = made
        offset = throttle_time_offset(key, version)
        if offset == AFTER_NO_TAGS:
            offset += _more_tags(parts)
        if offset is not None:
            delay = max(delay, _number_at(parts, offset))
        if not delay:
            return made
        connection.mute_ms = delay
        if offset is not None:
            return size, _overwritten(parts, offset, LENGTH.pack(delay))
        if key == API_VERSIONS and version > 0 and APIS[key].serves(version):
            return _api_versions(parts[0], version, delay)
        return made


def client_id_of(frame: bytes) -> str:
    size = frame[8] << 8 | frame[9] if len(frame) >= 10 else 0
    return "" if size > MAX_TEXT else frame[10 : 10 + size].decode("utf-8", "replace")


def _more_tags(parts: Sequence[bytes]) -> int:
    """The size of kconf's header tags in bytes, without their count."""
    head = b"".join(part[:_MAX_HEAD] for part in parts[:4])
    return skip_tags(head, AFTER_NO_TAGS - 1) - AFTER_NO_TAGS


def _number_at(parts: Sequence[bytes], offset: int) -> int:
    for part in parts:
        if offset < len(part):
            return int(LENGTH.unpack_from(part, offset)[0])
        offset -= len(part)
    return 0


def _overwritten(parts: Sequence[bytes], offset: int, data: bytes) -> Sequence[bytes]:
    copy = list(parts)
    for number, part in enumerate(copy):
        if offset < len(part):
            copy[number] = part[:offset] + data + part[offset + len(data) :]
            break
        offset -= len(part)
    return copy


def _api_versions(frame: bytes, version: int, delay: int) -> Response:
    """A throttled ApiVersions response. Its throttle time comes after a list."""
    api = APIS[API_VERSIONS]
    correlation, message = read_response(api, version, frame[4:])
    message.throttle_time_ms = delay
    made = response(api, version, correlation, encode(message, version, api.is_flexible(version)))
    return len(made), (made,)


class _Timed:
    """Awaits a coroutine and measures the time in which it runs, without the time in which it waits."""

    def __init__(self, coroutine: Coroutine[Any, Any, Response], seconds: float) -> None:
        self._coroutine = coroutine
        self.seconds = seconds

    def __await__(self) -> Generator[Any, Any, Response]:
        step = self._coroutine.send
        value: Any = None
        while True:
            began = perf_counter()
            try:
                wanted = step(value)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                self.seconds += perf_counter() - began
            try:
                value, step = (yield wanted), self._coroutine.send
            except BaseException as error:  # for example a cancellation, which the coroutine must get
                value, step = error, self._coroutine.throw
