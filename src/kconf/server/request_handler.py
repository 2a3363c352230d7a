"""The interface between the network and the APIs: a frame goes in, a response comes out.

`network` knows this protocol only, and `api` implements it (api/request_pipeline.py); neither imports the other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from kconf.server.connection_context import ConnectionContext

Response = tuple[int, Sequence[bytes]]
"""A response frame: its size, about, and its parts, which other responses may share. A plain tuple: it is made for
every request."""

Handle = Callable[[ConnectionContext, bytes, int, int], Response | Awaitable[Response]]
"""Answers the request frame data[start:stop]. Raises RemoteProtocolError, at once or when awaited, if the connection
must be closed."""


class RequestHandler(Protocol):
    """Answers the requests of all connections."""

    max_request_bytes: int

    def handle(
        self, connection: ConnectionContext, data: bytes, start: int, stop: int, /
    ) -> Response | Awaitable[Response]:
        """See `Handle`. The frame is not cut out of `data`, so that the fast path copies nothing."""

    def is_served(self, api_key: int, version: int, /) -> bool:
        """Whether a frame that begins like this can be answered; a large frame is refused before it has arrived."""
