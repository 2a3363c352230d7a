"""The console as an ASGI application: routes, sessions, CSRF tokens, HTML or JSON.

A view is a plain function and runs in a worker thread. Everything that is not a view (static files, events) is here or
in `pages/events.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from logging import getLogger
from mimetypes import guess_type
from threading import Thread
from typing import Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from kconf.console.chrome import changes_seen, chrome_of, state_of
from kconf.console.console import Console, LoginRequired, LookOnly, NotFound
from kconf.console.page import BadRequest, Page, PageRequest, PageRoute, Redirect
from kconf.console.pages import MODULES
from kconf.console.pages.errors import error_page
from kconf.console.pages.events import events
from kconf.console.pages.login import login_path
from kconf.console.pages.review import policies
from kconf.console.rendering import STATIC, compile_templates, compressed, render_html, render_json, static_path
from kconf.console.security.headers import SecurityHeaders
from kconf.console.security.sessions import Session
from kconf.errors import KconfError

log = getLogger(__name__)

MAX_FORM: Final = 1 << 20  # bytes
_YEAR: Final = "public, max-age=31536000, immutable"
_STATUS: Final = {NotFound: 404, BadRequest: 400, LookOnly: 403}


def create_app(console: Console) -> Starlette:
    """The application of an open console."""
    settings = console.settings
    routes = [
        Route("/-/static/{digest}/{name}", _static),
        Route("/{context}/-/events", _with_console(console, events)),
        *(_route(console, each) for module in MODULES for each in module.PAGES),
    ]
    middleware = [
        Middleware(SecurityHeaders, hosts=settings.hosts, has_tls=settings.has_tls),
        Middleware(GZipMiddleware, minimum_size=500, compresslevel=6),
    ]
    app = Starlette(routes=routes, middleware=middleware, exception_handlers={HTTPException: _http_error(console)})
    app.router.redirect_slashes = False
    Thread(target=_warm, args=(console,), name="kconf-console-warm", daemon=True).start()
    return app


def _warm(console: Console) -> None:
    """Prepare what the first pages would otherwise wait for."""
    compile_templates()
    policies.warm(console)


def cookie_name(*, is_https: bool) -> str:
    return "__Host-kconf" if is_https else "kconf"


def _route(console: Console, route: PageRoute) -> Route:
    async def endpoint(request: Request) -> Response:
        return await _answer(console, request, route)

    return Route(route.path, endpoint, methods=list(route.methods))


def _with_console(
    console: Console, handler: Callable[[Console, Session, Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        session = console.sessions.find(request.cookies.get(cookie_name(is_https=console.settings.is_https)))
        if session is None:
            return Response(status_code=403)
        return await handler(console, session, request)

    return endpoint


async def _answer(console: Console, request: Request, route: PageRoute) -> Response:
    cookie = cookie_name(is_https=console.settings.is_https)
    token = request.cookies.get(cookie)
    session, fresh = console.sessions.find(token), None
    if session is None:
        fresh, session = console.sessions.open()
    form = await _form(request)
    asked = PageRequest(
        console,
        session,
        request.url.path,
        request.path_params,
        QueryParams(request.scope["query_string"]),
        form,
        request.method,
        request.client.host if request.client else "",
        _wants_json(request),
        request.headers.get("host", ""),
    )
    result, response = await run_in_threadpool(_dispatch, route, asked)
    if isinstance(result, Redirect) and result.token is not None:
        if token:
            console.sessions.close(token, console.sessions.find(result.token))
        console.end_unused()
        fresh = result.token or None
        if fresh is None:
            response.delete_cookie(cookie, secure=console.settings.is_https, httponly=True, samesite="lax")
    if fresh is not None:
        response.set_cookie(cookie, fresh, secure=console.settings.is_https, httponly=True, samesite="lax", path="/")
    return response


def _dispatch(route: PageRoute, request: PageRequest) -> tuple[Page | Redirect, Response]:
    """The only place that catches unexpected errors: they are logged, and the browser gets a page without details."""
    seen = 0
    try:
        seen = changes_seen(request)  # before the view: the browser is notified of later changes
        result = _viewed(route, request)
        return result, _response(request, result, seen)
    except Exception:
        log.exception("the page %s failed", route.path)
        failed = error_page(500, "This page failed. See the log of the console for the cause.")
        return failed, _response(request, failed, seen)


def _viewed(route: PageRoute, request: PageRequest) -> Page | Redirect:
    """The result of a view, or an error page."""
    try:
        if request.method == "POST" and not request.session.accepts(request.form.get("token", "")):
            return error_page(403, "This form has expired or was sent by another site. Reload the page and try again.")
        return route.view(request)
    except LoginRequired as required:
        return (
            Redirect(login_path(required.context, request.url()))
            if not request.wants_json
            else error_page(401, str(required))
        )
    except KconfError as error:
        return error_page(_STATUS.get(type(error), 502), str(error))


def _response(request: PageRequest, result: Page | Redirect, seen: int) -> Response:
    if isinstance(result, Redirect):
        return RedirectResponse(result.to, status_code=303)
    state = state_of(request)
    vary = {"vary": "Accept, Cookie"}
    if request.wants_json:
        content = render_json(result, state)
        return Response(content, result.status, vary, media_type="application/json")
    text = render_html(result, chrome_of(request, result, state, seen))
    return Response(text, result.status, vary, media_type="text/html")


async def _form(request: Request) -> QueryParams:
    """The fields of a form. Large forms and files are refused."""
    if request.method != "POST":
        return QueryParams()
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM:
            raise HTTPException(413, "the form is too large")
    try:
        return QueryParams(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20_000))
    except ValueError:
        raise HTTPException(400, "the form cannot be read") from None


def _wants_json(request: Request) -> bool:
    """Whether the client prefers JSON: browsers accept text/html, scripts `application/json`."""
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/html" not in accepted


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    path = STATIC / name
    if path.parent != STATIC or not path.is_file():
        raise HTTPException(404, "no such file")
    is_current = request.url.path == static_path(name)
    headers = {"cache-control": _YEAR if is_current else "no-cache", "vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(path, headers=headers)
    content_type, _ = guess_type(name)
    return Response(compressed(name), headers={**headers, "content-encoding": "gzip"}, media_type=content_type)


def _http_error(console: Console) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        text = "There is no such page." if error.status_code == 404 else error.detail
        session = Session(b"\0" * 32, 0.0, 0.0)
        asked = PageRequest(console, session, request.url.path, wants_json=_wants_json(request))
        return _response(asked, error_page(error.status_code, text), seen=0)

    return handle
