"""The interface between the network and the APIs: takes a request frame, returns a response.

`network` depends only on this protocol, and `api` implements it (api/request_pipeline.py). Neither imports the other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from kconf.server.connection_context import ConnectionContext

Response = tuple[int, Sequence[bytes]]
"""A response frame: its approximate size, and its parts, which responses may share. A plain tuple for speed."""

Handle = Callable[[ConnectionContext, bytes, int, int], Response | Awaitable[Response]]
"""Answers the request frame data[start:stop]. Raises RemoteProtocolError, immediately or when awaited, if the
connection must be closed.
"""


class RequestHandler(Protocol):
    """Answers the requests of all connections."""

    max_request_bytes: int

    def handle(
        self, connection: ConnectionContext, data: bytes, start: int, stop: int, /
    ) -> Response | Awaitable[Response]:
        """See `Handle`. The frame is passed as a range of `data`, so that the fast path copies nothing."""

    def is_served(self, api_key: int, version: int, /) -> bool:
        """Whether a request with this API key and version can be answered. Used to refuse large frames early."""
