"""Every page in a browser: light, dark, on a phone, and without script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import OpenPage, TakePicture
from tests.support.targets import one_of

PAGES = {
    "clusters": "/",
    "topics": "/home/topics?q=topic-00+retention.ms%3E1d&columns=retention.ms,partitions&sort=-partitions",
    "topic": "/home/topic/orders?key=retention.ms&at=now&from=1h",
    "brokers": "/home/brokers",
    "broker": "/home/broker/1",
    "defaults": "/home/broker/default",
    "groups": "/home/groups",
    "users": "/home/users",
    "activity": "/home/activity?resource=topic:orders",
    "refusals": "/home/activity?show=refusals",
    "quotas": "/home/quotas?user=dora&client-id=app&level=user&key=producer_byte_rate&value=2MiB",
    "access": "/home/access?operation=read&resource=topic%3Aorders",
    "acls": "/home/access/acls",
    "scram": "/home/access/users",
    "compare": "/home/compare?from=1h&resource=orders",
    "drift": "/ruled/drift",
    "policies": "/ruled/policies",
    "reports": "/home/reports",
    "down": "/down/topics",
}
AXE = Path(__file__).parent / "vendored" / "axe.min.js"
FINDINGS = """only => axe.run(document, only ? {runOnly: only} : {})
    .then(found => found.violations.map(each => each.id + ': ' + each.nodes.map(node => node.html).join(' ')))"""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_and_fits_a_phone(open_page: OpenPage, name: str) -> None:
    page = open_page(PAGES[name])
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if name != "broker":
        page.evaluate(AXE.read_text())
        assert page.evaluate(FINDINGS, None) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("name", one_of("topic", [name for name in PAGES if name != "topic"]))
def test_a_page_is_accessible_in_light_and_dark_and_can_be_printed(
    open_page: OpenPage, take_picture: TakePicture, name: str
) -> None:
    page = open_page(PAGES[name])
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    take_picture(page, f"{name}-light")
    is_checked = name != "broker"  # hundreds of rows like those of a topic, each of which takes its time
    if is_checked:
        page.evaluate(AXE.read_text())
        assert page.evaluate(FINDINGS, None) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.emulate_media(color_scheme="dark")
    take_picture(page, f"{name}-dark")
    assert not is_checked or page.evaluate(FINDINGS, ["color-contrast"]) == []
    page.set_viewport_size({"width": 390, "height": 844})
    take_picture(page, f"{name}-telephone")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.emulate_media(media="print", color_scheme="light")
    take_picture(page, f"{name}-print")
    assert page.locator(".top nav").count() == 0 or page.locator(".top nav").is_hidden()


def test_without_script_a_search_is_a_form_and_a_row_is_a_link(open_page: OpenPage) -> None:
    page = open_page("/home/topics", script=False)
    page.get_by_role("searchbox").fill("pay")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="payments").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("payments")


def test_without_script_the_time_slider_is_a_form(open_page: OpenPage) -> None:
    page = open_page("/home/topic/orders", script=False)
    page.get_by_role("button", name="Show this time").click()
    expect(page.get_by_role("heading", name="Set at")).to_be_visible()
    page.get_by_label("Compare from").fill("1h")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("table.diff")).to_contain_text("retention.ms")


def test_the_list_is_searched_while_the_user_types(open_page: OpenPage) -> None:
    page = open_page("/home/topics")
    page.get_by_role("searchbox").press_sequentially("orders")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"q=orders$"))


def test_keys_move_the_selection_open_the_search_and_turn_pages(open_page: OpenPage) -> None:
    page = open_page("/home/topics?sort=name")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    _is_current(page, 0)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    expect(page.get_by_text("Page 2 of 3")).to_be_visible()


def _is_current(page: Page, number: int) -> None:
    expect(page.locator("[data-row]").nth(number)).to_have_class("current")


def test_hostile_text_is_escaped(open_page: OpenPage) -> None:
    page = open_page("/home/topic/orders")
    expect(page.locator("table.changes")).to_contain_text("<script>alert(1)</script> & \\u202e\\u001b[31mred")
    assert page.locator("main script").count() == 0


def test_an_unreachable_cluster_does_not_affect_the_others(open_page: OpenPage) -> None:
    page = open_page("/")
    expect(page.locator(".card", has_text="down")).to_contain_text("unreachable")
    expect(page.locator(".card", has_text="home")).to_contain_text("reachable")
