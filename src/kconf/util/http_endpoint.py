"""A small HTTP server for /metrics and /health: GET only, one response per connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from logging import getLogger
from typing import Final, Self

log = getLogger(__name__)

UNHEALTHY: Final = "unhealthy"  # the status for which /health returns 503
_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
_TIMEOUT: Final = 5.0  # seconds


class HttpEndpoint:
    """`metrics` returns the Prometheus text, `health` the response of /health."""

    def __init__(
        self, host: str, port: int, metrics: Callable[[], bytes], health: Callable[[], Mapping[str, object]]
    ) -> None:
        self._host, self._port, self._metrics, self._health = host, port, metrics, health

    async def __aenter__(self) -> Self:
        self._listener = await asyncio.start_server(self._serve, self._host, self._port, limit=8192)
        self.port: int = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT):
                head = await reader.readuntil(b"\r\n\r\n")
                status, kind, body = self._answer(head)
                lines = (
                    f"HTTP/1.1 {status}",
                    f"Content-Type: {kind}",
                    f"Content-Length: {len(body)}",
                    "Connection: close",
                )
                writer.write("\r\n".join([*lines, "", ""]).encode() + body)
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            log.debug("a metrics connection ended early")
        finally:
            writer.close()

    def _answer(self, head: bytes) -> tuple[str, str, bytes]:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method != b"GET":
            return "405 Method Not Allowed", "text/plain", b"GET only\n"
        if path == b"/metrics":
            return "200 OK", _TEXT, self._metrics()
        if path == b"/health":
            health = self._health()
            status = "503 Service Unavailable" if health.get("status") == UNHEALTHY else "200 OK"
            return status, "application/json", json.dumps(health).encode() + b"\n"
        return "404 Not Found", "text/plain", b"/metrics or /health\n"
