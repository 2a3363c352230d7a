"""Log in to a cluster with a Kafka credential, and log out."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from kconf.console.console import NotFound
from kconf.console.page import Page, PageRequest, PageRoute, Redirect
from kconf.console.security.login import LoginLimited, LoginRefused


@dataclass(frozen=True)
class LoginPage:
    """`to` is where the person goes after the login."""

    context: str
    contexts: list[str]
    to: str
    user: str = ""
    error: str = ""


def login_path(context: str, to: str) -> str:
    return f"/-/login?{urlencode({'context': context, 'to': to})}"


def login(request: PageRequest) -> Page | Redirect:
    given = request.form if request.method == "POST" else request.query
    context, to = given.get("context") or request.console.contexts[0], _local(given.get("to", "/"))
    target = request.console.monitors.targets.get(context)
    if target is None or not request.console.settings.login:
        raise NotFound(f"no login for {context!r}")
    page = LoginPage(context, list(request.console.contexts), to, given.get("user", ""))
    if request.method == "GET":
        return Page("login.html", page, f"Log in to {context}")
    try:
        credential = request.console.login.check(target, page.user, given.get("password", ""), request.client)
    except LoginRefused as refused:
        shown = LoginPage(context, page.contexts, to, page.user, str(refused))
        return Page(
            "login.html", shown, f"Log in to {context}", status=429 if isinstance(refused, LoginLimited) else 403
        )
    token, _ = request.console.sessions.open({**request.session.credentials, context: credential})
    return Redirect(to, token)


def logout(request: PageRequest) -> Redirect:
    return Redirect("/", "")


def _local(path: str) -> str:
    """A path on this site, never the address of another site."""
    is_local = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_local else "/"


PAGES = (
    PageRoute("/-/login", login, ("GET", "POST")),
    PageRoute("/-/logout", logout, ("POST",)),
)
