"""Policies and drift in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.console.conftest import DAY, OpenPage
from tests.console.test_change import value
from tests.support.process import KconfProcess


@pytest.mark.parametrize(("script", "width", "dark"), [(True, 1280, False), (False, 390, True)])
def test_violations_and_rules_are_shown(open_page: OpenPage, script: bool, width: int, dark: bool) -> None:
    page = open_page("/ruled/policies", script=script, width=width, dark=dark)
    row = page.get_by_role("region", name="Violations").locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("topic:orders")
    expect(row).to_contain_text("these topics need 12 partitions")
    expect(page.get_by_role("region", name="Rules")).to_contain_text("min 12")
    page.get_by_role("link", name="1", exact=True).click()
    expect(page.locator("select[name=rule]")).to_have_value("wide")


def test_the_page_reports_a_missing_policy(open_page: OpenPage) -> None:
    expect(open_page("/home/policies").locator("main")).to_contain_text("has no policy")


def test_drift_is_found_and_applied(served: KconfProcess, open_page: OpenPage) -> None:
    page = open_page("/ruled/drift")
    row = page.locator("tbody tr").filter(has_text="retention.ms")
    expect(row).to_contain_text("8d")
    expect(row).to_contain_text("cluster.yaml:6:")
    row.get_by_role("link", name="apply").click()
    page.get_by_role("button", name="Dry run").click()
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Changed")
    assert value(served, "topic-007", "retention.ms") == str(8 * DAY)
    page = open_page("/ruled/drift", script=False)
    expect(page.locator("main")).to_contain_text("No drift")


def test_without_files_the_drift_is_unknown(open_page: OpenPage) -> None:
    expect(open_page("/home/drift").locator("main")).to_contain_text("drift is unknown")
