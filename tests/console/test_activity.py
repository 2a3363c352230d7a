"""Activity in a browser: it updates itself, filters by its address, and shows refusals."""

from __future__ import annotations

from playwright.sync_api import expect

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from tests.console.conftest import ORDERS, OpenPage
from tests.support.process import KconfProcess


def test_a_change_appears_without_a_reload(served: KconfProcess, open_page: OpenPage) -> None:
    page = open_page("/home/activity")
    expect(page.locator("body[data-live=open]")).to_be_attached()
    with SyncAdminClient(served.bootstrap) as admin:
        admin.create_topics([NewTopic("seen-live", 1, 1)], reason="INC-77 <b>").raise_for_failures()
    expect(page.locator("#feed tbody tr").first).to_contain_text("topic:seen-live")
    expect(page.locator("#feed tbody tr").first).to_contain_text("INC-77 <b>")
    with SyncAdminClient(served.bootstrap) as admin:
        op = AlterConfigOp(OpType.SET, "retention.ms", "7200000")
        admin.incremental_alter_configs({Resource.topic("seen-live"): [op]}).raise_for_failures()
    expect(page.locator("#feed tbody tr").first).to_contain_text("2h")


def test_changes_are_filtered_without_script(open_page: OpenPage) -> None:
    page = open_page("/home/activity", script=False, width=390, dark=True)
    page.get_by_label("Resource", exact=True).fill("topic:orders")
    page.get_by_label("Key", exact=True).fill("cleanup")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("<script>alert(1)</script>")
    assert page.locator("main script").count() == 0


def test_refused_requests_are_shown(served: KconfProcess, open_page: OpenPage) -> None:
    with SyncAdminClient(served.bootstrap) as admin:
        requested = {ORDERS: [AlterConfigOp(OpType.SET, "retention.ms", "nonsense")]}
        assert admin.incremental_alter_configs(requested, reason="a mistake").failures
    page = open_page("/home/activity?show=refusals")
    row = page.locator("tbody tr").filter(has_text="a mistake")
    expect(row).to_contain_text("INVALID_CONFIG")
    expect(row).to_contain_text("retention.ms")
