"""Requests to a server without sockets: through the router, or through the fast path alone."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from kconf.model.acl import Authorize, allow_all
from kconf.server.api.describe_fast_path import DescribeFastPath
from kconf.server.api.router import Router
from kconf.server.connection_context import ConnectionContext
from kconf.server.context import ServerContext
from kconf.server.counters import Counters
from kconf.server.request_handler import Response

_MISS: Final[Response] = (0, ())


async def routed(context: ServerContext, frame: bytes, connection: ConnectionContext | None = None) -> bytes:
    """The response frame to a request frame; both begin with their length."""
    sender = connection or ConnectionContext("127.0.0.1", "127.0.0.1", 9092)
    made = Router(context).handle(sender, frame, 4, len(frame))
    _, parts = await made if isinstance(made, Awaitable) else made
    return b"".join(parts)


class FastPathAlone:
    """Returns the response of the fast path, or None if it would pass the request on."""

    def __init__(self, context: ServerContext) -> None:
        self.counters = Counters()
        self._handle = DescribeFastPath(context.service, self.counters, lambda *_: _MISS).handle

    def answer(self, frame: bytes, authorize: Authorize = allow_all) -> bytes | None:
        """Like `routed`."""
        connection = ConnectionContext("127.0.0.1", "127.0.0.1", 9092)
        connection.authorize = authorize
        made = self._handle(connection, b"junk" + frame, 8, 4 + len(frame))
        assert isinstance(made, tuple)
        if made is _MISS:
            return None
        size, parts = made
        joined = b"".join(parts)
        assert size == len(joined) - 4
        return joined
