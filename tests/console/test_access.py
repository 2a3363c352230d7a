"""Access in a browser: a server without an authorizer, and SCRAM users."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from kconf import SyncAdminClient
from kconf.model.scram import Mechanism, UserScramCredentialUpsertion
from tests.console.conftest import OpenPage
from tests.support.process import KconfProcess


@pytest.mark.parametrize(("script", "width", "dark"), [(True, 1280, False), (False, 390, True)])
def test_access_acl_review_and_scram_users_are_shown(
    served: KconfProcess, open_page: OpenPage, script: bool, width: int, dark: bool
) -> None:
    with SyncAdminClient(served.bootstrap) as admin:
        credential = UserScramCredentialUpsertion("carol", Mechanism.SCRAM_SHA_256, 4096, b"salt", b"p" * 32)
        admin.alter_user_scram_credentials([credential]).raise_for_failures()
    page = open_page("/home/access", script=script, width=width, dark=dark)
    page.get_by_label("Resource", exact=True).fill("topic:orders")
    page.locator("select[name=operation]").select_option("read")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("main")).to_contain_text("no authorizer")
    page.get_by_role("link", name="ACL review").click()
    expect(page.locator("main")).to_contain_text("no authorizer")
    page.get_by_role("link", name="SCRAM users").click()
    row = page.locator("tbody tr").filter(has_text="carol")
    expect(row).to_contain_text("SCRAM-SHA-256")
    expect(row).to_contain_text("4,096")
