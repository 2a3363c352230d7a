"""A change appears on pages through the change feed of the server."""

from __future__ import annotations

from playwright.sync_api import expect

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from tests.console.conftest import OpenPage
from tests.support.process import KconfProcess


def test_a_page_announces_a_change_and_shows_it_after_a_reload(open_page: OpenPage, served: KconfProcess) -> None:
    page = open_page("/home/topic/payments")
    note = page.get_by_role("link", name="Something changed: reload")
    expect(note).to_be_hidden()
    expect(page.locator("body")).to_have_attribute("data-live", "open")
    with SyncAdminClient(served.bootstrap) as admin:
        requested = {Resource.topic("payments"): [AlterConfigOp(OpType.SET, "segment.ms", "3600000")]}
        admin.incremental_alter_configs(requested, reason="smaller segments").raise_for_failures()
    expect(note).to_be_visible()
    note.click()
    expect(page.locator("tr.set")).to_contain_text("smaller segments")


def test_a_new_topic_is_in_the_list_and_a_deleted_one_is_not(open_page: OpenPage, served: KconfProcess) -> None:
    page = open_page("/home/topics?q=fresh")
    with SyncAdminClient(served.bootstrap) as admin:
        admin.create_topics([NewTopic("fresh", 2, 1)]).raise_for_failures()
        page.get_by_role("link", name="Something changed: reload").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        admin.delete_topics(["fresh"]).raise_for_failures()
        page.get_by_role("link", name="Something changed: reload").click()
    expect(page.get_by_text("No topic matches.")).to_be_visible()
