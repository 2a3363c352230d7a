"""Headers, hosts, origins, tokens, sessions and logins."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from kconf.console.security.login import LoginLimited, LoginLimiter, LoginRefused
from kconf.console.security.sessions import IDLE_LIMIT, TOTAL_LIMIT, LoginSessions
from kconf.console.settings import ConsoleSettings, parse_listen
from kconf.errors import ConfigurationError
from kconf.operations.target import Target, UserCredential
from tests.unit.console.world import BASE, JSON, client, snapshot, topics

ANA = UserCredential("ana", "secret")


class OnlyAna:
    """Accepts one user."""

    def check(self, target: Target, user: str, password: str, client: str) -> UserCredential:
        if (user, password) != tuple(ANA):
            raise LoginRefused(f"{target.name} did not accept this user and password")
        return ANA


@pytest.fixture
def browser() -> TestClient:
    return client({"home": snapshot(topics({"orders": {}}))}, login=OnlyAna())


def token(page: str) -> str:
    found = re.search(r'name="token" value="([^"]+)"', page)
    assert found is not None
    return found[1]


def log_in(browser: TestClient, password: str = "secret", **more: str) -> int:
    form = browser.get("/-/login?context=home").text
    fields = {
        "token": token(form),
        "context": "home",
        "user": "ana",
        "password": password,
        "to": "/home/topics",
        **more,
    }
    return browser.post("/-/login", data=fields).status_code


def test_every_response_has_a_strict_policy_and_is_not_stored() -> None:
    browser = client({"home": snapshot(topics({}))})
    for path in ("/", "/home/topics", "/nothing/here/at/all"):
        headers = browser.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")


def test_requests_for_another_host_name_are_refused() -> None:
    browser = client({"home": snapshot(topics({}))})
    assert browser.get("/", headers={"host": "evil.example:8080"}).status_code == 421
    assert browser.get("/", headers={"host": "localhost:8080"}).status_code == 200


def test_without_a_login_a_page_leads_to_the_login_and_json_is_refused(browser: TestClient) -> None:
    found = browser.get("/home/topics?q=a")
    assert (found.status_code, found.headers["location"]) == (303, "/-/login?context=home&to=%2Fhome%2Ftopics%3Fq%3Da")
    assert browser.get("/home/topics", headers=JSON).status_code == 401
    assert browser.get("/home/-/events").status_code == 403
    assert "orders" not in browser.get("/").text


def test_a_login_opens_a_new_session_whose_cookie_scripts_cannot_read(browser: TestClient) -> None:
    before = browser.get("/-/login?context=home").cookies["kconf"]
    assert log_in(browser) == 303
    assert browser.cookies["kconf"] != before
    assert browser.get("/home/topics").status_code == 200
    cookie = TestClient(browser.app, base_url=BASE).get("/-/login?context=home").headers["set-cookie"]
    assert "httponly" in cookie.lower()
    assert "samesite=lax" in cookie.lower()


def test_a_wrong_password_is_refused_and_not_shown(browser: TestClient) -> None:
    form = browser.get("/-/login?context=home").text
    fields = {"token": token(form), "context": "home", "user": "ana", "password": "pa55word"}
    found = browser.post("/-/login", data=fields)
    assert found.status_code == 403
    assert "did not accept" in found.text
    assert "pa55word" not in found.text


def test_a_logout_ends_the_session(browser: TestClient) -> None:
    log_in(browser)
    cookie = browser.cookies["kconf"]
    page = browser.get("/home/topics").text
    assert browser.post("/-/logout", data={"token": token(page)}).status_code == 303
    browser.cookies.set("kconf", cookie)
    assert browser.get("/home/topics").status_code == 303


def test_a_form_without_the_token_or_from_another_site_is_refused(browser: TestClient) -> None:
    log_in(browser)
    assert browser.post("/-/logout", data={}).status_code == 403
    assert browser.post("/-/logout", data={"token": "AAAA"}).status_code == 403
    good = token(browser.get("/home/topics").text)
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        assert browser.post("/-/logout", data={"token": good}, headers=headers).status_code == 403
    assert browser.post("/-/logout", data={"token": good}, headers={"origin": BASE}).status_code == 303


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/\\evil.example", "evil"])
def test_a_login_never_redirects_to_another_address(browser: TestClient, to: str) -> None:
    form = browser.get("/-/login", params={"context": "home", "to": to}).text
    fields = {"token": token(form), "context": "home", "user": "ana", "password": "secret", "to": to}
    assert browser.post("/-/login", data=fields).headers["location"] == "/"


def test_tokens_differ_in_every_page_and_belong_to_one_session() -> None:
    sessions = LoginSessions()
    (_, one), (_, other) = sessions.open(), sessions.open()
    first, second = one.form_token(), one.form_token()
    assert first != second
    assert one.accepts(first)
    assert one.accepts(second)
    assert not other.accepts(first)


def test_sessions_end_when_they_are_idle_or_old() -> None:
    now = [0.0]
    sessions = LoginSessions(lambda: now[0])
    idle, _ = sessions.open({"home": ANA})
    now[0] = IDLE_LIMIT + 1
    assert sessions.find(idle) is None
    used, _ = sessions.open({"home": ANA})
    for _ in range(int(TOTAL_LIMIT // IDLE_LIMIT) + 1):
        now[0] += IDLE_LIMIT - 1
        sessions.find(used)
    assert sessions.find(used) is None
    assert sessions.current() == []


def test_logins_are_limited_by_address_and_by_user() -> None:
    limiter = LoginLimiter(lambda: 0.0)
    for number in range(10):
        limiter.spend(("client", "10.0.0.1"), ("user", "home", f"u{number}"))
    with pytest.raises(LoginLimited):
        limiter.spend(("client", "10.0.0.1"), ("user", "home", "other"))
    limiter.spend(("client", "10.0.0.2"), ("user", "home", "other"))


@pytest.mark.parametrize(
    ("listen", "options", "refused"),
    [
        ("127.0.0.1:8080", {}, None),
        ("[::1]:8080", {}, None),
        ("localhost:8080", {}, None),
        ("0.0.0.0:8080", {}, "--login"),
        ("10.0.0.5:8080", {"login": True}, "TLS"),
        ("10.0.0.5:8080", {"login": True, "certificate": "c", "key": "k"}, None),
        ("127.0.0.1:8080", {"certificate": "c"}, "together"),
    ],
)
def test_an_address_that_others_can_reach_requires_logins_and_tls(
    listen: str, options: dict[str, object], refused: str | None
) -> None:
    from kconf.client.contexts.context import Context

    settings = ConsoleSettings(parse_listen(listen), [Target(Context("home"))], **options)  # type: ignore[arg-type]
    if refused is None:
        settings.check()
    else:
        with pytest.raises(ConfigurationError, match=refused):
            settings.check()
