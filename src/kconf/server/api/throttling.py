"""Answers while someone is limited: timed, with the throttle time written in, and the sender told to wait.

Kafka answers first and then does not listen to the connection for that long; so `peer.mute_ms` is set here and obeyed
by the connection. Parts that answers share keep their bytes: the one with the throttle time is replaced. What counts is
the time that a request takes of the server's one thread; planning and committing are the writer's, who works for many.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from functools import cache
from time import perf_counter
from typing import Any

from kconf.protocol.apis import API_VERSIONS, APIS
from kconf.protocol.codec.fields import fields_of
from kconf.protocol.codec.serde import encode
from kconf.protocol.codec.varint import MAX_TEXT
from kconf.protocol.headers import HEAD, LENGTH, read_response, response
from kconf.server.api import router as dispatch
from kconf.server.api.describe_fast_path import DESCRIBE_CONFIGS
from kconf.server.api.router import ConnectionContext, PendingResponse, Response
from kconf.server.context import ServerContext
from kconf.server.counters import Counters
from kconf.server.quotas.manager import user_of


def answer(context: ServerContext, statistics: Counters, peer: ConnectionContext, frame: bytes) -> PendingResponse:
    """As `dispatch.answer`, for a server that limits someone."""
    began = perf_counter()
    made = _quick(context, statistics, peer, frame) or dispatch.answer(context, statistics, peer, frame)
    if isinstance(made, Coroutine):
        return _later(context, peer, frame, _Timed(made, perf_counter() - began))
    assert isinstance(made, (bytes, list))
    return _throttled(context, peer, frame, made, perf_counter() - began)


def _quick(context: ServerContext, statistics: Counters, peer: ConnectionContext, frame: bytes) -> list[bytes] | None:
    if frame[:2] != DESCRIBE_CONFIGS:
        return None
    found = context.quick.answer(frame, 0, len(frame), peer.authorize)
    if found is None:
        return None
    statistics.quick += 1
    return list(found[1])


async def _later(context: ServerContext, peer: ConnectionContext, frame: bytes, promise: _Timed) -> Response:
    return _throttled(context, peer, frame, await promise, promise.seconds)


def _throttled(
    context: ServerContext, peer: ConnectionContext, frame: bytes, made: Response, seconds: float
) -> Response:
    """The answer with its throttle time: the longer of what the request's time costs and what its handler says."""
    key, version, _ = HEAD.unpack_from(frame, 0)
    delay = context.quotas.request(user_of(peer.principal), _client_id(frame), seconds)
    place = _place(key, version)
    if place is not None and isinstance(made, bytes):
        delay = max(delay, LENGTH.unpack_from(made, place)[0])
    if not delay:
        return made
    peer.mute_ms = delay
    if place is not None:
        return _written(made, place, LENGTH.pack(delay))
    if key == API_VERSIONS and version > 0 and isinstance(made, bytes) and APIS[key].serves(version):
        return _api_versions(made, version, delay)
    return made


def _client_id(frame: bytes) -> str:
    size = frame[8] << 8 | frame[9] if len(frame) >= 10 else 0
    return "" if size > MAX_TEXT else frame[10 : 10 + size].decode("utf-8", "replace")


@cache
def _place(key: int, version: int) -> int | None:
    """Where in an answer's frame the throttle time stands, if that is its first field, as almost always."""
    api = APIS[key]
    if not api.serves(version):
        return None
    first = next((field for field in fields_of(api.response) if field.present(version) and field.tag is None), None)
    if first is None or first.name != "throttle_time_ms":
        return None
    return 9 if api.is_flexible(version) else 8


def _written(made: Response, place: int, data: bytes) -> Response:
    if isinstance(made, bytes):
        return made[:place] + data + made[place + len(data) :]
    parts = list(made)
    for number, part in enumerate(parts):
        if place < len(part):
            parts[number] = part[:place] + data + part[place + len(data) :]
            break
        place -= len(part)
    return parts


def _api_versions(made: bytes, version: int, delay: int) -> bytes:
    """Its throttle time comes behind a list."""
    api = APIS[API_VERSIONS]
    correlation, said = read_response(api, version, made[4:])
    said.throttle_time_ms = delay
    return response(api, version, correlation, encode(said, version, api.is_flexible(version)))


class _Timed:
    """Awaits a coroutine and adds up the time in which it runs; what it waits for does not count."""

    def __init__(self, coroutine: Coroutine[Any, Any, Response], seconds: float) -> None:
        self._coroutine = coroutine
        self.seconds = seconds

    def __await__(self) -> Generator[Any, Any, Response]:
        step = self._coroutine.send
        given: Any = None
        while True:
            began = perf_counter()
            try:
                wanted = step(given)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                self.seconds += perf_counter() - began
            try:
                given, step = (yield wanted), self._coroutine.send
            except BaseException as error:
                given, step = error, self._coroutine.throw
