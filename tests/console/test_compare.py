"""Compare in a browser: a value of one time is restored through the form of a change."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from kconf import NewTopic, SyncAdminClient
from tests.console.conftest import DAY, OpenPage
from tests.console.test_change import alter, value
from tests.support.process import KconfProcess


@pytest.mark.parametrize(("script", "width"), [(True, 1280), (False, 390)])
def test_two_times_are_compared_and_the_first_is_restored(
    served: KconfProcess, open_page: OpenPage, script: bool, width: int
) -> None:
    topic = f"compared-{width}"
    with SyncAdminClient(served.bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 1, 1)]).raise_for_failures()
    alter(served, topic, "retention.ms", str(9 * DAY))
    page = open_page("/home/compare", script=script, width=width)
    page.get_by_label("or from", exact=True).fill("1h")
    page.get_by_label("Resource", exact=True).fill(topic)
    page.get_by_role("button", name="Compare").click()
    row = page.locator("tbody tr").filter(has_text="retention.ms")
    expect(row).to_contain_text("9d")
    row.get_by_role("link", name="restore").click()
    expect(page.get_by_label("Operation for retention.ms")).to_have_value("unset")
    page.get_by_role("button", name="Dry run").click()
    page.get_by_label("Accept the risk: data-loss").check()
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Changed")
    assert value(served, topic, "retention.ms") == str(7 * DAY)


def test_two_contexts_of_one_cluster_do_not_differ(open_page: OpenPage) -> None:
    page = open_page("/home/compare")
    page.locator("select[name=with]").select_option("guarded")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("main")).to_contain_text("No differences")
