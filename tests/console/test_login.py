"""`kconf serve --console` with SASL: people log in with their own user, and ACLs apply to them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from kconf import AclBinding, AclType, NewTopic, Operation, SyncAdminClient
from tests.support.browsing import Visits
from tests.support.process import KconfProcess

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
USERS = {"ana": "ana-secret", "bo": "b0 ${env:HOME}"}
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ana",
    "sasl.enabled.mechanisms": "PLAIN",
    "plain.sasl.jaas.config": f"{MODULE} required "
    + " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    + ";",
}
REFUSED = "the server responded with a status of 403"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The console of a server where ana may do everything, and bo may describe one topic."""
    args = ("--console", "127.0.0.1:0")
    with KconfProcess(properties=PROPERTIES, listeners=["SASL_PLAINTEXT"], args=args) as server:
        given = {
            "bootstrap.servers": server.address("SASL_PLAINTEXT"),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{MODULE} required username="ana" password="{USERS["ana"]}";',
        }
        with SyncAdminClient.from_properties(given) as admin:
            admin.create_topics([NewTopic(name, 1, 1) for name in ("orders", "payments")]).raise_for_failures()
            rights = [
                AclBinding(AclType.TOPIC, "payments", "User:bo", each)
                for each in (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)
            ]
            admin.create_acls(rights).raise_for_failures()
        found = re.search(r"console=(\S+)", server.log())
        assert found is not None
        yield found[1]


def log_in(page: Page, user: str, password: str) -> None:
    page.get_by_label("User").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def rows(page: Page) -> list[str]:
    expect(page.get_by_role("heading", level=1)).to_contain_text("Topics")
    return page.locator("tbody th a").all_inner_texts()


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_page_redirects_to_the_login_and_back_and_a_logout_ends_the_session(
    visits: Visits, address: str, script: bool
) -> None:
    page = visits.open(address, "/kconf/topics?q=o", script=script)
    log_in(page, "ana", USERS["ana"])
    assert rows(page) == ["orders"]
    expect(page.locator("header .who")).to_have_text("ana")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Clusters")
    page.goto("/kconf/topics")
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in to kconf")


def test_people_see_what_their_acls_allow_and_passwords_are_taken_literally(visits: Visits, address: str) -> None:
    page = visits.open(address, "/kconf/topics")
    log_in(page, "bo", USERS["bo"])
    assert rows(page) == ["payments"]
    assert page.goto("/kconf/topic/payments").status == 200  # type: ignore[union-attr]


def test_a_wrong_password_is_refused_and_the_form_can_be_sent_again(visits: Visits, address: str) -> None:
    page = visits.open(address, "/kconf/topics", expected=REFUSED)
    log_in(page, "ana", "wrong")
    expect(page.get_by_role("alert")).to_have_text("kconf did not accept this user and password")
    log_in(page, "ana", USERS["ana"])
    assert rows(page) == ["orders", "payments"]
