"""The headers of every response, and checks of every request: host, origin, CSRF token."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CSP: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, browsers send "Origin: null" with forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_HSTS: Final = "max-age=31536000"
_ELSEWHERE: Final = PlainTextResponse("The request came from another site.\n", status_code=403)


class SecurityHeaders:
    """Refuses requests for other hosts and from other origins, and adds the headers to every response."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], *, has_tls: bool) -> None:
        self._app, self._hosts, self._has_tls = app, hosts, has_tls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        app = self._app if refusal is None else refusal

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
                if self._has_tls:
                    headers["strict-transport-security"] = _HSTS
            await send(message)

        await app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            text = (
                f"The console does not accept the host name {_name(host)!r}; start it with --host-name to allow it.\n"
            )
            return PlainTextResponse(text, status_code=421)
        if scope["method"] in ("GET", "HEAD"):
            return None
        origin = headers.get("origin")
        if origin is not None:
            return None if urlsplit(origin).netloc == host else _ELSEWHERE
        site = headers.get("sec-fetch-site")
        return None if site in (None, "same-origin") else _ELSEWHERE


def _name(host: str) -> str:
    """The host name without its port, in lower case."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()
