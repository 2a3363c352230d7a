"""The report in a real browser, light and dark, on a desktop and on a phone.

The page must load nothing and log no errors, every plot must have bars, nothing may overflow, and text and bars must
have the contrast ratios of WCAG 2 (4.5 for text, 3 for graphics). A screenshot of each is saved next to the page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.browser import Browser, Tab

COMPLAINTS = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Network.loadingFailed")
WORDS, DRAWN = 4.5, 3.0

BOXES = """
[...document.querySelectorAll('svg')].map(plot => {
  const outer = plot.getBoundingClientRect()
  const bars = [...plot.querySelectorAll('rect')].map(bar => bar.getBoundingClientRect())
  return {
    label: plot.ariaLabel, width: outer.width, height: outer.height,
    bars: bars.map(bar => [bar.width, bar.height]),
    outside: bars.filter(bar => bar.left < outer.left - 1 || bar.right > outer.right + 1 ||
                                bar.top < outer.top - 1 || bar.bottom > outer.bottom + 1).length,
  }
})
"""
COLORS = """
(() => {
  const solid = color => !/^rgba\\(.*, 0\\)$/.test(color)
  const behind = node => {
    for (let each = node; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor
      if (solid(color)) return color
    }
    return 'rgb(255, 255, 255)'
  }
  const found = []
  for (const each of document.querySelectorAll('body *')) {
    const own = [...each.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim())
    const style = getComputedStyle(each)
    const drawn = each.tagName === 'rect'
    if (drawn || (own && each.tagName !== 'title'))
      found.push({what: each.tagName + ' ' + each.textContent.slice(0, 40), drawn, size: parseFloat(style.fontSize),
        front: each instanceof SVGElement ? style.fill : style.color, back: behind(drawn ? each.closest('svg') : each)})
  }
  return found
})()
"""
OVER = """
[...document.querySelectorAll('body, section, h1, h2, p, li, td, th')]
  .filter(each => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== 'inline')
  .map(each => each.tagName + ' ' + each.textContent.slice(0, 40))
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture(scope="module", params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=[1280, 390], ids=["wide", "narrow"])
def shown(request: pytest.FixtureRequest, browser: Browser, report: Path, scheme: str) -> Tab:
    tab = browser.open(report.as_uri(), width=request.param, dark=scheme == "dark")
    tab.picture(report.with_name(f"{request.param}-{scheme}.png"))
    return tab


def test_the_page_loads_nothing_else_and_causes_no_console_errors(shown: Tab, report: Path) -> None:
    asked = [each["request"]["url"] for each in shown.happened("Network.requestWillBeSent")]

    assert asked == [report.as_uri()]
    assert shown.happened(*COMPLAINTS) == []
    assert shown.ask("document.title") == "Kafka configuration report"


def test_every_plot_is_visible_and_has_bars_inside_it(shown: Tab) -> None:
    plots = shown.ask(BOXES)

    assert len([each for each in plots if "per day" in each["label"]]) == 1
    assert len(plots) == 1 + 7 + 2 + 2 + 1, "the days; people, drifted keys, owners, the refused"
    for each in plots:
        assert each["width"] > 100
        assert each["height"] > 10
        assert each["bars"]
        assert all(width >= 1 and height >= 1 for width, height in each["bars"])
        assert each["outside"] == 0


def test_nothing_overflows_the_page(shown: Tab) -> None:
    """Wide tables scroll in their own container; the page does not."""
    assert shown.ask("document.documentElement.scrollWidth - innerWidth") == 0
    assert shown.ask(OVER) == []


def test_text_and_bars_have_enough_contrast(shown: Tab, scheme: str) -> None:
    seen = shown.ask(COLORS)
    behind = {each["back"] for each in seen}
    weak = [each for each in seen if contrast(each["front"], each["back"]) < (DRAWN if each["drawn"] else WORDS)]

    assert weak == []
    assert all(luminance(each) < 0.05 if scheme == "dark" else luminance(each) > 0.9 for each in behind)
    assert len(seen) > 100


def test_text_is_large_enough_to_read(shown: Tab) -> None:
    """For text inside a plot, the size on the screen counts, because it shrinks with the plot."""
    heights = shown.ask("[...document.querySelectorAll('svg text')].map(each => each.getBoundingClientRect().height)")
    sizes = [each["size"] for each in shown.ask(COLORS) if not each["drawn"]]

    assert min(sizes) >= 12
    assert min(heights) >= 12


def test_a_screenshot_of_each_page_is_saved(shown: Tab, report: Path, scheme: str) -> None:
    taken = report.with_name(f"{shown.ask('innerWidth')}-{scheme}.png").read_bytes()

    assert taken.startswith(b"\x89PNG\r\n")
    assert int.from_bytes(taken[16:20]) == shown.ask("innerWidth")
    assert int.from_bytes(taken[20:24]) == shown.ask("document.documentElement.scrollHeight")


def luminance(color: str) -> float:
    """The relative luminance of `rgb(…)`, as WCAG 2 defines it."""
    parts = [int(each) / 255 for each in re.findall(r"\d+", color)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else math.pow((part + 0.055) / 1.055, 2.4) for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
