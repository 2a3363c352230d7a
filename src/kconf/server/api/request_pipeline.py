"""Combines throttling, the fast path and the router, in this order."""

from __future__ import annotations

from collections.abc import Awaitable

from kconf.server.api.describe_fast_path import DescribeFastPath
from kconf.server.api.router import Router
from kconf.server.api.throttling import Throttling
from kconf.server.connection_context import ConnectionContext
from kconf.server.context import ServerContext
from kconf.server.request_handler import Response


class RequestPipeline:
    """The server's `RequestHandler`."""

    def __init__(self, context: ServerContext) -> None:
        self.max_request_bytes = context.service.settings.number("socket.request.max.bytes")
        self._quotas = context.quotas
        self._router = Router(context)
        self._answer = DescribeFastPath(context.service, context.counters, self._router.handle).handle
        self._throttled = Throttling(context.quotas, self._answer).handle

    def handle(
        self, connection: ConnectionContext, data: bytes, start: int, stop: int
    ) -> Response | Awaitable[Response]:
        if self._quotas.is_limiting:
            return self._throttled(connection, data, start, stop)
        return self._answer(connection, data, start, stop)

    def is_served(self, api_key: int, version: int) -> bool:
        return self._router.is_served(api_key, version)
