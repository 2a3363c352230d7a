"""Log in to a cluster with a Kafka credential, or at the OIDC provider, and log out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from kconf.console.console import NotFound
from kconf.console.page import Page, PageRequest, PageRoute, Redirect
from kconf.console.security.login import LoginLimited, LoginRefused
from kconf.console.security.oidc.http import ProviderUnavailable
from kconf.console.security.oidc.login import OidcLogin

CALLBACK: Final = "/-/oidc/callback"
"""The path to which the provider sends people back. It must be registered there as a redirect URI."""

_STATUS: Final[Mapping[type[LoginRefused], int]] = {LoginLimited: 429, ProviderUnavailable: 502}


@dataclass(frozen=True)
class LoginPage:
    """`to` is where the person goes after the login. `issuer` is None if there is no OIDC provider."""

    context: str
    contexts: list[str]
    to: str
    user: str = ""
    error: str = ""
    takes_password: bool = True
    issuer: str | None = None
    start: str = ""


@dataclass(frozen=True)
class LoggedOutPage:
    """`path` ends the session at the provider, too; None: that is not possible."""

    issuer: str
    path: str | None


def login_path(context: str, to: str) -> str:
    return f"/-/login?{urlencode({'context': context, 'to': to})}"


def login(request: PageRequest) -> Page | Redirect:
    given = request.form if request.method == "POST" else request.query
    context, settings = given.get("context") or request.console.contexts[0], request.console.settings
    target = request.console.monitors.targets.get(context)
    if target is None or not settings.has_logins or (request.method == "POST" and not settings.login):
        raise NotFound(f"no login for {context!r}")
    page = _page(request, context, _local(given.get("to", "/")))
    if request.method == "GET":
        return _shown(page)
    page = replace(page, user=given.get("user", ""))
    try:
        credential = request.console.login.check(target, page.user, given.get("password", ""), request.client)
    except LoginRefused as refused:
        return _shown(page, refused)
    session = request.session
    token, _ = request.console.sessions.open({**session.credentials, context: credential}, session.identity)
    return Redirect(page.to, token)


def _page(request: PageRequest, context: str, to: str) -> LoginPage:
    settings = request.console.settings
    return LoginPage(
        context,
        list(request.console.contexts),
        to,
        takes_password=settings.login,
        issuer=None if settings.oidc is None else settings.oidc.issuer,
        start=f"/-/oidc/start?{urlencode({'to': to})}",
    )


def _shown(page: LoginPage, refused: LoginRefused | None = None) -> Page:
    title = f"Log in to {page.context}" if page.takes_password else "Log in"
    if refused is None:
        return Page("login.html", page, title)
    return Page("login.html", replace(page, error=str(refused)), title, status=_STATUS.get(type(refused), 403))


def start(request: PageRequest) -> Page | Redirect:
    """Send the browser to the provider. Reached by a link, because the Content-Security-Policy allows forms only to
    this site.
    """
    oidc, to = _oidc(request), _local(request.query.get("to", "/"))
    back = f"{request.console.settings.origin(request.host)}{CALLBACK}"
    try:
        return Redirect(oidc.begin(request.session.logins, to, back, request.client))
    except LoginRefused as refused:
        return _shown(_page(request, request.console.contexts[0], to), refused)


def callback(request: PageRequest) -> Page | Redirect:
    """The provider has sent the browser back. A login opens a new session with a new ID."""
    oidc, sessions = _oidc(request), request.console.sessions
    pending = request.session.logins.take(request.query.get("state", ""))
    try:
        identity = oidc.finish(pending, request.query, request.client)
    except LoginRefused as refused:
        to = "/" if pending is None else pending.to
        return _shown(_page(request, request.console.contexts[0], to), refused)
    assert pending is not None
    token, _ = sessions.open(identity=identity)
    return Redirect(pending.to, token)


def logout(request: PageRequest) -> Redirect:
    return Redirect("/" if request.session.identity is None else "/-/logged-out", "")


def logged_out(request: PageRequest) -> Page:
    oidc = _oidc(request)
    try:
        path = oidc.provider.logout_url()
    except LoginRefused:
        path = None
    return Page("logged_out.html", LoggedOutPage(oidc.provider.issuer, path), "Logged out")


def _oidc(request: PageRequest) -> OidcLogin:
    if request.console.oidc is None:
        raise NotFound("there is no OIDC provider")
    return request.console.oidc


def _local(path: str) -> str:
    """A path on this site, never the address of another site."""
    is_local = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_local else "/"


PAGES = (
    PageRoute("/-/login", login, ("GET", "POST")),
    PageRoute("/-/oidc/start", start),
    PageRoute(CALLBACK, callback),
    PageRoute("/-/logout", logout, ("POST",)),
    PageRoute("/-/logged-out", logged_out),
)
