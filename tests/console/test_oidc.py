"""Logins at a real OIDC provider, in a browser: a change is made as that person, and elsewhere people only look.

The provider, the kconf server with its own console (`kconf serve --console --oidc-issuer`) and the browser are
processes of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from kconf import AclBinding, AclType, NewTopic, Operation, SyncAdminClient
from kconf.client.contexts.context import Context
from kconf.console.run import RunningConsole, console_in_thread
from kconf.console.settings import ConsoleSettings, ListenAddress
from kconf.operations.target import Target
from tests.console.test_pages import AXE, FINDINGS
from tests.support.browsing import Visits
from tests.support.oidc_provider import AUDIENCE, CLIENT, SECRET, OidcProvider
from tests.support.process import KconfProcess

ISSUER_OPTIONS = ("--oidc-client-id", CLIENT, "--oidc-user-claim", "preferred_username")
REFUSED = "the server responded with a status of 403"


class World(NamedTuple):
    provider: OidcProvider
    server: KconfProcess
    url: str  # of the server's own console


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A server where ana may change the topic orders, and bo only describe it."""
    with OidcProvider(tmp_path_factory.mktemp("oidc")) as provider:
        prefix = "listener.name.sasl_plaintext.oauthbearer"
        properties = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{prefix}.sasl.oauthbearer.jwks.endpoint.url": provider.keys_file.as_uri(),
            f"{prefix}.sasl.oauthbearer.expected.issuer": provider.issuer,
            f"{prefix}.sasl.oauthbearer.expected.audience": AUDIENCE,
            f"{prefix}.sasl.oauthbearer.sub.claim.name": "preferred_username",
            "connection.failed.authentication.delay.ms": "0",
        }
        args = ("--console", "127.0.0.1:0", "--oidc-issuer", provider.issuer, *ISSUER_OPTIONS)
        secret = {"KCONF_OIDC_CLIENT_SECRET": SECRET}
        listeners = ("PLAINTEXT", "SASL_PLAINTEXT")
        with KconfProcess(properties=properties, listeners=listeners, args=args, environment=secret) as server:
            _prepare(server)
            found = re.search(r"console=(\S+)", server.log())
            assert found is not None
            yield World(provider, server, found[1])


def _prepare(server: KconfProcess) -> None:
    rights = {
        "User:ana": ("DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"),
        "User:bo": ("DESCRIBE", "DESCRIBE_CONFIGS"),
    }
    with SyncAdminClient(server.address("PLAINTEXT")) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in ("orders", "payments")]).raise_for_failures()
        admin.create_acls(
            [
                AclBinding(AclType.TOPIC, "orders", who, Operation[each])
                for who, operations in rights.items()
                for each in operations
            ]
        ).raise_for_failures()


@pytest.fixture(scope="module")
def looking(world: World) -> Iterator[RunningConsole]:
    """A console for the group staff, of a server that is read without a login, and of one that takes tokens."""
    tokens = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    contexts = [
        Context("open", world.server.address("PLAINTEXT")),
        Context("tokens", world.server.address("SASL_PLAINTEXT"), properties=tokens),
    ]
    settings = ConsoleSettings(
        ListenAddress("127.0.0.1", 0),
        [Target(each) for each in contexts],
        oidc=world.provider.settings(user_claim="preferred_username", required={"groups": ("staff", "owners")}),
        interval=2.0,
        login=True,
    )
    with console_in_thread(settings) as running:
        yield running


def log_in(page: Page, user: str, button: str = "Allow") -> None:
    page.get_by_role("link", name=re.compile("^(Log in|Try again) at")).click()
    page.get_by_label("Account").fill(user)
    page.get_by_role("button", name=button).click()


def rows(page: Page, *names: str) -> None:
    """The list has these topics. It is loaded again until the cluster was read: pages do not wait for a slow one."""

    def is_read() -> bool:
        found = page.locator("tbody th a").all_inner_texts() == list(names)
        if not found:
            page.reload()
        return found

    expect(page.get_by_role("heading", level=1)).to_contain_text("Topics")
    repeat(page, is_read)


def repeat(page: Page, is_done: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_done():
            return
        page.wait_for_timeout(100)
    pytest.fail("it did not happen")


def author(server: KconfProcess, reason: str) -> list[str]:
    with SyncAdminClient(server.address("PLAINTEXT")) as admin:
        found = admin.list_changes(0, limit=1000)
    return [str(each.caller.principal) for each in found.revisions if each.caller.reason == reason]


@pytest.mark.parametrize(("script", "key"), [(True, "retention.ms"), (False, "delete.retention.ms")])
def test_a_change_is_made_as_the_person_who_logged_in_at_the_provider(
    visits: Visits, world: World, script: bool, key: str
) -> None:
    page = visits.open(world.url, "/kconf/topics?q=o", script=script, elsewhere=world.provider.issuer)
    before = {each["value"] for each in page.context.cookies()}
    log_in(page, "ana")
    rows(page, "orders")
    assert page.url.endswith("/kconf/topics?q=o")
    expect(page.locator("header .who")).to_have_text("ana")
    assert not before & {each["value"] for each in page.context.cookies()}

    page.goto(f"/kconf/change?resource=topic:orders&key={key}")
    page.get_by_label(f"Value of {key}", exact=True).fill("8d")
    page.get_by_role("button", name="Dry run").click()
    reason = f"INC-24, script {script}"
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.locator("main").get_by_role("status")).to_contain_text("1 change made")
    assert author(world.server, reason) == ["User:ana"]

    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Logged out")
    expect(page.get_by_role("link", name="Log out at")).to_have_attribute(
        "href", f"{world.provider.issuer}/logout?client_id={CLIENT}"
    )
    page.goto("/kconf/topics")
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")


def test_the_server_decides_what_the_person_may_do(visits: Visits, world: World) -> None:
    page = visits.open(world.url, "/kconf/topics", elsewhere=world.provider.issuer)
    log_in(page, "bo")
    rows(page, "orders")
    page.goto("/kconf/change?resource=topic:orders&set=cleanup.policy=compact")
    page.get_by_role("button", name="Dry run").click()
    expect(page.locator("main")).to_contain_text("TOPIC_AUTHORIZATION_FAILED")


def test_clusters_that_do_not_accept_the_token_are_read_only(
    visits: Visits, world: World, looking: RunningConsole
) -> None:
    page = visits.open(looking.url, "/open/topics", elsewhere=world.provider.issuer, expected=REFUSED)
    log_in(page, "bo")
    rows(page, "orders", "payments")
    expect(page.locator("main")).to_contain_text("You can view this cluster but not change it")
    expect(page.get_by_role("button", name="Change selected")).to_have_count(0)
    page.goto("/open/topic/orders")
    expect(page.get_by_role("link", name="Change")).to_have_count(0)
    response = page.goto("/open/change?resource=topic:orders")
    assert response is not None
    assert response.status == 403
    expect(page.locator("section.message")).to_contain_text("You can view this cluster but not change it")
    expect(page.locator("main form")).to_have_count(0)


def test_a_person_without_the_group_or_without_consent_is_not_logged_in(
    visits: Visits, world: World, looking: RunningConsole
) -> None:
    page = visits.open(looking.url, "/open/topics", elsewhere=world.provider.issuer, expected=REFUSED)
    log_in(page, "eve")
    expect(page.get_by_role("alert")).to_contain_text("your account does not have the value of the claim")
    log_in(page, "bo", "Deny")
    expect(page.get_by_role("alert")).to_contain_text("did not allow the login")
    log_in(page, "bo")
    expect(page.locator("header .who")).to_have_text("bo")
    assert page.url.endswith("/open/topics")


def test_an_expired_token_is_renewed_until_the_provider_ends_the_login(
    visits: Visits, world: World, looking: RunningConsole
) -> None:
    world.provider.control(lifetime=3)
    try:
        # Without script: the stream of events of an open page is refused when the login has ended, which htmx reports.
        page = visits.open(looking.url, "/tokens/topics", elsewhere=world.provider.issuer, script=False)
        log_in(page, "ana")
        rows(page, "orders")
        repeat(page, lambda: world.provider.control() >= 2)
        page.goto("/tokens/change?resource=topic:orders&set=max.message.bytes=1234567")
        page.get_by_role("button", name="Dry run").click()
        expect(page.locator("main")).to_contain_text("accepted")
        world.provider.control(revoke=True)

        def has_ended() -> bool:
            page.goto("/tokens/topics")
            return page.get_by_role("heading", level=1).inner_text() == "Log in to tokens"

        repeat(page, has_ended)
    finally:
        world.provider.control(lifetime=300)


def test_the_pages_of_a_login_are_accessible_and_fit_a_phone(
    visits: Visits, world: World, looking: RunningConsole
) -> None:
    page = visits.open(looking.url, "/open/topics", elsewhere=world.provider.issuer)
    check_page(page, "Log in to open")
    log_in(page, "bo")
    check_page(page, "Topics")
    page.get_by_role("button", name="Log out").click()
    check_page(page, "Logged out")


def check_page(page: Page, title: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text(title)
    page.evaluate(AXE.read_text())
    assert page.evaluate(FINDINGS, None) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(FINDINGS, ["color-contrast"]) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 900})


def test_no_secret_is_in_the_log(visits: Visits, world: World) -> None:
    page = visits.open(world.url, "/kconf/topics?q=o", elsewhere=world.provider.issuer)
    log_in(page, "ana")
    rows(page, "orders")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Logged out")

    log = world.server.log()
    assert "User:ana logged in with" in log
    assert SECRET not in log
    assert "eyJ" not in log  # how every token begins
    assert "code=" not in log
