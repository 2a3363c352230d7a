"""The login in a browser, step by step, and attacks on it: replay, login CSRF, fixation, open redirect, leaks."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from dataclasses import replace
from hashlib import sha256

import pytest

from kconf.console.cluster.snapshot import ClusterSnapshot, Status
from kconf.console.security.oidc.http import ProviderRefused
from kconf.console.security.oidc.pending import MOST_LOGINS, TIME_LIMIT, PendingLogins
from kconf.console.security.sessions import IDLE_LIMIT, LoginSessions
from kconf.operations.target import TokenCredential, UserCredential
from tests.unit.console.oidc.world import ACCESS, CLIENT, ISSUER, REFRESH, SECRET, Browser, settings
from tests.unit.console.test_security import OnlyAna, token
from tests.unit.console.world import BASE, JSON, snapshot, topics

CALLBACK = f"{BASE}/-/oidc/callback"
HOME = {"home": snapshot(topics({"orders": {"retention.ms": "1"}}))}
REFUSED = {"home": replace(HOME["home"], status=Status.UNREACHABLE, is_refused=True, error="it refused the login")}


def shown(page: str) -> str:
    """The error of a login page."""
    found = re.search(r'role="alert">([^<]+)<', page)
    assert found is not None, page
    return found[1].replace("&#39;", "'")


def test_a_login_leads_to_the_provider_and_back_to_the_requested_page() -> None:
    browser = Browser(HOME)
    login = browser.client.get("/home/topics?q=o")
    assert login.headers["location"] == "/-/login?context=home&to=%2Fhome%2Ftopics%3Fq%3Do"
    page = browser.client.get(login.headers["location"]).text
    assert 'href="/-/oidc/start?to=%2Fhome%2Ftopics%3Fq%3Do"' in page
    assert "password" not in page.lower()

    asked = browser.begin("/home/topics?q=o")
    assert {name: asked[name] for name in asked if name not in ("state", "nonce", "code_challenge")} == {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": CALLBACK,
        "scope": "openid profile",
        "code_challenge_method": "S256",
    }
    answer = browser.finish(asked)
    assert (answer.status_code, answer.headers["location"]) == (303, "/home/topics?q=o")
    url, form, _ = browser.http.posted[0]
    assert url == f"{ISSUER}/token"
    assert (form["code"], form["redirect_uri"]) == ("c0de", CALLBACK)
    digest = sha256(form["code_verifier"].encode()).digest()
    assert urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
    assert "id-1" in browser.client.get("/home/topics").text


def test_every_login_has_secrets_of_its_own() -> None:
    browser = Browser(HOME)
    one, other = browser.begin(), browser.begin()
    assert not {one["state"], one["nonce"], one["code_challenge"]} & set(other.values())


def test_a_response_cannot_be_used_twice() -> None:
    browser = Browser(HOME)
    asked = browser.begin()
    assert browser.finish(asked).status_code == 303
    again = browser.finish(asked)
    assert (again.status_code, shown(again.text)) == (
        403,
        "This login has expired, was used before, or was started in another browser. Log in again.",
    )
    assert len(browser.http.posted) == 1


def test_a_response_for_another_browser_logs_nobody_in() -> None:
    """Login CSRF: a link with the attacker's code must not log the victim in as the attacker."""
    browser = Browser(HOME)
    asked, victim = browser.begin(), browser.other()
    victim.get("/")
    for state in (asked["state"], "", "invented"):
        answer = victim.get("/-/oidc/callback", params={"code": "c0de", "state": state})
        assert answer.status_code == 403
    assert victim.get("/-/oidc/callback?code=c0de").status_code == 403
    assert browser.http.posted == []
    assert victim.get("/home/topics").status_code == 303


def test_a_login_opens_a_new_session_and_ends_the_old_one() -> None:
    """Session fixation: an attacker who planted the old cookie gains nothing."""
    browser = Browser(HOME)
    asked = browser.begin()
    planted = browser.client.cookies["kconf"]
    assert browser.finish(asked).status_code == 303
    assert browser.client.cookies["kconf"] != planted
    attacker = browser.other()
    attacker.cookies.set("kconf", planted)
    assert attacker.get("/home/topics").status_code == 303


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/\t/evil"])
def test_a_login_never_redirects_to_another_address(to: str) -> None:
    assert Browser(HOME).log_in(to).headers["location"] == "/"


def test_pending_logins_are_limited_in_number_and_time() -> None:
    now = [0.0]
    logins = PendingLogins(lambda: now[0])
    begun = [logins.begin("/", CALLBACK) for _ in range(MOST_LOGINS + 1)]
    assert logins.take(begun[0].state) is None
    assert logins.take(begun[1].state) is begun[1]
    now[0] = TIME_LIMIT + 1
    assert logins.take(begun[2].state) is None


@pytest.mark.parametrize(
    ("error", "why"),
    [
        ("access_denied", "you, or the provider, did not allow the login"),
        ("server_error", "the provider has a problem"),
        ("interaction_required", "error interaction_required"),
        ("<script>alert(1)</script> text", "error without a code"),
    ],
)
def test_an_error_of_the_provider_is_shown_with_a_link_to_try_again(error: str, why: str) -> None:
    browser = Browser(HOME)
    asked = browser.begin()
    answer = browser.client.get("/-/oidc/callback", params={"error": error, "state": asked["state"]})
    assert answer.status_code == 403
    assert why in shown(answer.text)
    assert 'href="/-/oidc/start?to=%2Fhome%2Ftopics"' in answer.text
    assert "<script>alert" not in answer.text
    assert browser.finish(asked).status_code == 403  # the state was used


def test_a_response_of_another_provider_is_refused() -> None:
    browser = Browser(HOME)
    assert browser.finish(browser.begin(), iss="https://evil.test").status_code == 403
    assert browser.finish(browser.begin(), iss=ISSUER).status_code == 303
    browser = Browser(HOME)
    browser.http.metadata["authorization_response_iss_parameter_supported"] = True
    assert browser.finish(browser.begin()).status_code == 403


def test_an_unreachable_provider_is_reported_on_a_page() -> None:
    browser = Browser(HOME)
    asked = browser.begin()
    browser.http.is_unreachable = True
    answer = browser.finish(asked)
    assert (answer.status_code, shown(answer.text)) == (502, f"{ISSUER} cannot be reached: Connection refused")
    unreachable = Browser(HOME)
    unreachable.http.is_unreachable = True
    answer = unreachable.client.get("/-/oidc/start")
    assert (answer.status_code, shown(answer.text)) == (502, f"{ISSUER} cannot be reached: Connection refused")


def test_a_code_that_the_provider_refuses_is_reported_on_a_page() -> None:
    browser = Browser(HOME)
    browser.http.answer = ProviderRefused(f"{ISSUER} refused the request: invalid_grant", "invalid_grant")
    answer = browser.log_in()
    assert (answer.status_code, shown(answer.text)) == (403, f"{ISSUER} refused the request: invalid_grant")


@pytest.mark.parametrize(
    ("code", "logged"),
    [
        ("invalid_client", [f"{ISSUER} does not accept this console as a client: invalid_client"]),
        ("unauthorized_client", [f"{ISSUER} does not accept this console as a client: unauthorized_client"]),
        ("invalid_grant", []),
    ],
)
def test_a_wrong_client_secret_is_logged_for_the_operator_and_a_wrong_code_is_not(
    caplog: pytest.LogCaptureFixture, code: str, logged: list[str]
) -> None:
    browser = Browser(HOME)
    browser.http.answer = ProviderRefused(f"{ISSUER} refused the request: {code}", code)
    assert browser.log_in().status_code == 403
    assert [each.message for each in caplog.records if each.levelname == "ERROR"] == logged


def test_logins_are_limited() -> None:
    browser = Browser(HOME)
    statuses = [browser.client.get("/-/oidc/start").status_code for _ in range(11)]
    assert statuses == [303] * 10 + [429]


def test_json_without_a_login_is_refused_and_not_redirected() -> None:
    browser = Browser(HOME)
    answer = browser.client.get("/home/topics", headers=JSON)
    assert (answer.status_code, answer.json()["error"]) == (401, "log in to home")
    browser.log_in()
    assert browser.client.get("/home/topics", headers=JSON).status_code == 200


def test_there_is_no_login_at_a_provider_without_the_setting() -> None:
    from tests.unit.console.world import client

    browser = client(HOME, login=OnlyAna())
    for path in ("/-/oidc/start", "/-/oidc/callback?state=x&code=y", "/-/logged-out"):
        assert browser.get(path).status_code == 404
    assert Browser(HOME).client.get("/-/login?context=home").status_code == 200


def test_a_logout_ends_session_and_tokens_and_links_to_the_providers_logout() -> None:
    browser = Browser(HOME)
    browser.log_in()
    cookie = browser.client.cookies["kconf"]
    (session,) = [each for each in browser.console.sessions.current() if each.identity is not None]
    page = browser.client.get("/home/topics").text
    answer = browser.client.post("/-/logout", data={"token": token(page)})
    assert answer.headers["location"] == "/-/logged-out"
    assert f'href="{ISSUER}/logout?from=app&amp;client_id={CLIENT}"' in browser.client.get("/-/logged-out").text
    assert session.identity is not None
    assert session.identity.tokens.has_ended
    browser.client.cookies.set("kconf", cookie)
    assert browser.client.get("/home/topics").status_code == 303


def test_tokens_end_with_an_idle_session() -> None:
    browser = Browser(HOME)
    browser.log_in()
    (session,) = [each for each in browser.console.sessions.current() if each.identity is not None]
    now = [0.0]
    sessions = LoginSessions(lambda: now[0])
    assert session.identity is not None
    sessions.open(identity=session.identity)
    now[0] = IDLE_LIMIT + 1
    assert sessions.current() == []
    assert session.identity.tokens.has_ended


def test_no_token_and_no_secret_is_in_a_page_a_cookie_or_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    browser = Browser(HOME)
    answers = [browser.log_in(), *(browser.client.get(path) for path in ("/", "/home/topics", "/-/logged-out"))]
    answers.append(browser.client.get("/home/topics", headers=JSON))
    browser.http.claims = {"nonce": "stale"}
    answers.append(browser.log_in())
    assert answers[-1].status_code == 403
    said = [f"{each.text} {each.headers}" for each in answers] + [caplog.text, repr(browser.console.settings)]
    said += [repr(each) for each in browser.console.sessions.current()]
    (_, form, headers) = browser.http.posted[0]
    for secret in (ACCESS, REFRESH, SECRET, "eyJ", form["code_verifier"], headers["Authorization"]):
        assert [each for each in said if secret in each] == []
    assert "User:id-1 logged in with https://idp.test" in caplog.text
    assert "the ID token of the provider is not valid: its nonce" in caplog.text


# -- what a person may do --------------------------------------------------------------------------------------------


def can_change(browser: Browser) -> bool:
    """Whether the page of a topic and the form allow a change."""
    page = browser.client.get("/home/topic/orders").text
    form = browser.client.get("/home/change?resource=topic:orders")
    offers = [">Change<" in page, form.status_code == 200 and "Dry run" in form.text]
    assert len(set(offers)) == 1
    return offers[0]


def test_a_kconf_server_that_accepts_the_token_can_be_changed_with_it() -> None:
    browser = Browser(HOME)
    browser.log_in()
    assert can_change(browser)
    (session,) = [each for each in browser.console.sessions.current() if each.identity is not None]
    cluster = browser.console.cluster("home", session)
    assert isinstance(cluster.target.credential, TokenCredential)
    assert cluster.target.credential.token() == ACCESS


@pytest.mark.parametrize(
    ("snapshots", "takes_tokens", "why"),
    [
        (HOME, False, "its context does not use OAUTHBEARER"),
        (REFUSED, True, "home did not accept your login. it refused the login"),
        ({"home": replace(HOME["home"], is_kconf=False)}, True, "home is not a kconf server or gateway"),
        ({"home": ClusterSnapshot()}, True, "it is not known yet whether home accepts your login"),
    ],
    ids=["no tokens", "refused", "not kconf", "unknown"],
)
def test_clusters_that_do_not_accept_the_token_are_read_only(
    snapshots: dict[str, ClusterSnapshot], takes_tokens: bool, why: str
) -> None:
    browser = Browser(snapshots, takes_tokens=takes_tokens)
    browser.log_in()
    assert f"You can view this cluster but not change it: {why}" in browser.client.get("/home/topics").text
    assert not can_change(browser)
    found = browser.client.post(
        "/home/change",
        data={
            "token": token(browser.client.get("/home/topics").text),
            "resource": "topic:orders",
            "key.0": "retention.ms",
            "op.0": "set",
            "value.0": "2",
        },
    )
    assert found.status_code == 403
    assert why in found.text


def test_a_cluster_that_refuses_the_token_is_read_with_the_credential_of_the_context() -> None:
    browser = Browser(REFUSED)
    browser.log_in()
    (session,) = [each for each in browser.console.sessions.current() if each.identity is not None]
    assert browser.console.cluster("home", session).target.credential is None


def test_a_login_as_a_user_of_the_cluster_allows_changes_without_a_token() -> None:
    browser = Browser(HOME, takes_tokens=False, login=True)
    browser.console.login = OnlyAna()
    browser.log_in()
    page = browser.client.get("/home/topics").text
    assert 'href="/-/login?context=home&amp;to=%2Fhome%2Ftopics"' in page
    fields = {"token": token(page), "context": "home", "user": "ana", "password": "secret", "to": "/home/topics"}
    assert browser.client.post("/-/login", data=fields).status_code == 303
    (session,) = [each for each in browser.console.sessions.current() if each.identity is not None]
    assert isinstance(browser.console.cluster("home", session).target.credential, UserCredential)
    assert session.identity is not None
    assert not session.identity.tokens.has_ended
    assert can_change(browser)


def test_a_login_that_the_provider_ended_must_be_repeated() -> None:
    browser = Browser(HOME)
    browser.log_in()
    (session,) = [each for each in browser.console.sessions.current() if each.identity is not None]
    assert session.identity is not None
    session.identity.tokens.end()
    assert browser.client.get("/home/topics").status_code == 303
    assert browser.client.get("/home/-/events").status_code == 403


def test_the_monitor_of_a_person_is_kept_during_the_session() -> None:
    browser = Browser(HOME)
    browser.log_in()
    (session,) = [each for each in browser.console.sessions.current() if each.identity is not None]
    assert session.identity is not None
    browser.console.end_unused()
    assert browser.console.monitors.retained == {("home", session.identity.credential)}  # type: ignore[attr-defined]


def test_the_redirect_uri_has_the_public_address_of_a_proxy() -> None:
    browser = Browser(HOME, public_url="https://kconf.example.com/", names=["kconf.example.com"])
    answer = browser.client.get("/-/oidc/start", headers={"host": "kconf.example.com"})
    assert "redirect_uri=https%3A%2F%2Fkconf.example.com%2F-%2Foidc%2Fcallback" in answer.headers["location"]
    assert answer.headers["set-cookie"].startswith("__Host-kconf=")
    assert "; Secure" in answer.headers["set-cookie"]


def test_further_parameters_and_scopes_are_sent() -> None:
    oidc = settings(parameters={"audience": "kafka"}, scopes=("openid", "offline_access"))
    asked = Browser(HOME, oidc=oidc).begin()
    assert (asked["audience"], asked["scope"]) == ("kafka", "openid offline_access")
