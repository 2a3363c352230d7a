"""Quotas in a browser: explain, preview, save and undo."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from kconf import SyncAdminClient
from kconf.model.quota import QuotaEntity
from tests.console.conftest import OpenPage
from tests.support.process import KconfProcess

MIB = 1 << 20


def stored(server: KconfProcess, entity: QuotaEntity) -> dict[str, float]:
    with SyncAdminClient(server.bootstrap) as admin:
        return dict(admin.describe_client_quotas().get(entity, {}))


@pytest.mark.parametrize("script", [True, False])
def test_a_quota_is_explained_tried_saved_and_undone(served: KconfProcess, open_page: OpenPage, script: bool) -> None:
    user = f"alice-{script}"
    own, pair = QuotaEntity.of({"user": user}), QuotaEntity.of({"user": user, "client-id": "app"})
    with SyncAdminClient(served.bootstrap) as admin:
        admin.alter_client_quotas({own: {"producer_byte_rate": 10.0 * MIB}}).raise_for_failures()
    page = open_page("/home/quotas", script=script)
    expect(page.locator("main")).to_contain_text(f"user {user}")
    page.get_by_label("User", exact=True).fill(user)
    page.get_by_label("Client ID", exact=True).fill("app")
    page.get_by_role("button", name="Explain").click()
    row = page.get_by_role("region", name="Quotas in effect").locator("tr").filter(has_text="producer_byte_rate")
    expect(row).to_contain_text("10MiB")
    expect(row).to_contain_text("all client IDs of this user together")
    expect(row).to_contain_text("unknown")

    page.locator("select[name=level]").select_option("client in user")
    page.locator("select[name=key]").select_option("producer_byte_rate")
    page.get_by_label("Value", exact=True).fill("3MiB")
    page.get_by_role("button", name="Show the effect").click()
    expect(page.locator("main").get_by_role("status")).to_contain_text("10MiB (user) → 3MiB (client in user)")
    assert stored(served, pair) == {}

    page.get_by_role("button", name="Dry run").click()
    expect(page.locator("tbody")).to_contain_text("accepted")
    assert stored(served, pair) == {}
    page.get_by_label("Reason").fill("INC-5")
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Changed quota:user {user}, client-id app")
    assert stored(served, pair) == {"producer_byte_rate": 3.0 * MIB}

    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Changed")
    assert stored(served, pair) == {}
