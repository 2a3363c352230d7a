"""Sends requests of a gateway's callers to a broker, and selects the broker.

If a broker is unavailable, the caller's connection is closed, as the broker itself would do: clients refresh their
metadata and retry. Requests to other brokers are not affected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kconf.errors import ErrorCode, UpstreamUnavailable
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import HEAD, LENGTH, read_response, request
from kconf.server.api.throttle_time import AFTER_NO_TAGS, throttle_time_offset
from kconf.server.connection_context import ConnectionContext
from kconf.server.context import ApiRequest, ServerContext
from kconf.server.error_responses import error_response
from kconf.server.upstream.client import UpstreamClient
from kconf.server.upstream.pool import RawRequest

_NO_TIME: Final = bytes(4)


def node_of(context: ServerContext, connection: ConnectionContext | None) -> int | None:
    """The broker of a connection: the one that the client addresses, or the only one."""
    if connection is not None and connection.node is not None:
        return connection.node
    ids = context.service.store.members.ids
    return ids[0] if len(ids) == 1 else None


def any_node(context: ServerContext, connection: ConnectionContext | None) -> int:
    """A broker for requests that any broker can answer. Raises UpstreamUnavailable."""
    node = node_of(context, connection)
    if node is not None:
        return node
    upstream = upstream_of(context)
    ids = context.service.store.members.ids
    if not ids:
        raise UpstreamUnavailable("the cluster has no brokers at the moment")
    return next((each for each in ids if not upstream.brokers.is_unreachable(each)), ids[0])


def upstream_of(context: ServerContext) -> UpstreamClient:
    assert context.upstream is not None
    return context.upstream


async def pass_on(context: ServerContext, connection: ConnectionContext, node: int, frame: bytes) -> bytes:
    """Forward a frame to a broker and return the response, both without length prefix. Raises UpstreamUnavailable.

    The throttle time is removed if its position is known, since it is for the principal that all callers share.
    """
    key, version, _ = HEAD.unpack_from(frame, 0)
    offset = throttle_time_offset(key, version)
    place = None if offset is None else offset - LENGTH.size
    pool = upstream_of(context).brokers.pool_for(connection.principal, node)
    client = connection.principal, connection.host
    throttle_of = _throttle_reader(place)
    response = await pool.send(RawRequest(client, frame, connection.wait_for_turn, throttle_of))
    if place is None or not throttle_of(response):
        return response
    return response[:place] + _NO_TIME + response[place + 4 :]


def _throttle_reader(place: int | None) -> Callable[[bytes], int]:
    def read(response: bytes) -> int:
        if place is None or len(response) < place + 4:
            return 0
        if place == AFTER_NO_TAGS - LENGTH.size and response[place - 1]:
            return 0  # header tags, which no broker sends yet
        return int(LENGTH.unpack_from(response, place)[0])

    return read


async def ask(context: ServerContext, call: ApiRequest, node: int, message: Any) -> Any:
    """Send the caller's request, or a part of it, to a broker in the same version. Returns the decoded response."""
    assert call.connection is not None
    api = BY_NAME[type(message).__name__.removesuffix("Request")]
    frame = request(api, call.version, 0, call.caller.client_id, message)[LENGTH.size :]
    return read_response(api, call.version, await pass_on(context, call.connection, node, frame))[1]


def refused(message: Any) -> Any:
    """The error response to a request that needs a broker, on a connection that addresses none."""
    api = BY_NAME[type(message).__name__.removesuffix("Request")]
    return error_response(api, message, ErrorCode.INVALID_REQUEST)
