"""The report: one self-contained page for all browsers, with the figures of the tables."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from kconf.cli.commands.lake.plots import nice
from kconf.lake.schemas import HISTORY
from kconf.spark.delta_tables import Lake
from tests.spark.tables import INTERVALS, finish, put, rendered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta"}


@pytest.fixture
def page(report: Path) -> str:
    return report.read_text()


def tree(page: str) -> ElementTree.Element:
    """The parsed page: the HTML is also well-formed XML, so all parsers read it alike."""
    assert page.startswith("<!DOCTYPE html>\n")
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


class Strict(HTMLParser):
    """Checks by the rules of an HTML parser that every element is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: list[tuple[str, str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_for_browsers_and_for_xml(page: str) -> None:
    parser = Strict()
    parser.feed(page)
    parser.close()

    assert parser.open == []
    assert tree(page).tag == "html"


def test_the_page_loads_nothing_and_has_no_script(page: str) -> None:
    parser = Strict()
    parser.feed(page)

    assert parser.seen.isdisjoint({"script", "link", "iframe", "img", "object", "embed", "base", "form"})
    named = {name for _, name, _ in parser.attributes}
    assert named.isdisjoint({"src", "href", "srcset", "style"})
    assert not any(name.startswith("on") for name in named)
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert "url(" not in page
    assert "@import" not in page


def test_the_page_supports_light_and_dark_mode(page: str) -> None:
    style = tree(page).findtext("./head/style") or ""
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    names = set(re.findall(r"(--\w+):", light))

    assert "color-scheme: light dark" in light
    assert {"--paper", "--ink", "--c0", "--c5"} <= names
    assert set(re.findall(r"(--\w+):", dark)) == names
    assert set(re.findall(r"var\((--\w+)\)", style)) <= names


def test_the_page_shows_the_numbers_of_the_tables(page: str) -> None:
    root = tree(page)
    tiles = {each.tail: each.text for each in root.findall(".//ul[@class='tiles']/li/b")}
    assert tiles == {
        "clusters": "1",
        "topics": "1",
        "changes in 30 days": str(7 * sum(3 + back for back in range(0, 20, 4))),
        "values that drifted": "2",
        "open policy violations": "2",
        "journal integrity findings": "1",
    }
    titles = [each.text or "" for each in root.iter(f"{SVG}title")]
    newest = max(each[0] for each in map(re.compile(r"\d{4}-\d\d-\d\d").match, titles) if each)
    today = datetime.now(UTC).date()
    assert newest in (
        str(today),
        str(today - timedelta(days=1)),
    )  # midnight may have passed since the rows were written
    assert f"{newest}: User:alice, 3 of 21 changes" in titles
    assert "retention.ms: 1 values that drifted" in titles
    assert "search: 1 open policy violations (warn)" in titles
    assert "User:eve: 9 refusals" in titles


def test_bars_are_proportional_to_their_values_and_inside_the_plot(page: str) -> None:
    for plot in tree(page).iter(f"{SVG}svg"):
        _, _, width, height = map(float, plot.attrib["viewBox"].split())
        for bar in plot.iter(f"{SVG}rect"):
            x, y, wide, high = (float(bar.attrib[name]) for name in ("x", "y", "width", "height"))
            assert x >= 0
            assert y >= 0
            assert x + wide <= width + 0.2
            assert y + high <= height + 0.2
            assert bar.findtext(f"{SVG}title")
            assert re.fullmatch(r"s[0-5]", bar.attrib["class"])
    days = next(plot for plot in tree(page).iter(f"{SVG}svg") if "per day" in plot.attrib["aria-label"])
    heights = {bar.findtext(f"{SVG}title"): float(bar.attrib["height"]) for bar in days.iter(f"{SVG}rect")}
    ratios = [high / int(re.findall(r", ([\d,]+) of", told or "")[0]) for told, high in heights.items()]
    assert max(ratios) - min(ratios) < 0.05, "heights are written with one digit after the point"


def test_names_of_resources_are_never_interpreted_as_markup(page: str) -> None:
    assert "<b>bob</b>" not in page
    assert "User:&lt;b&gt;bob&lt;/b&gt;" in page
    assert any("User:<b>bob</b>" in (each.text or "") for each in tree(page).iter(f"{SVG}title"))


def test_an_empty_lake_has_a_report_too(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"), spark)
    put(lake, HISTORY, INTERVALS[:1])
    finish(lake, [HISTORY])

    root = tree(rendered(tmp_path).read_text())

    assert list(root.iter(f"{SVG}svg")) == []
    empty = "No declared state: the last run had no files to compare with."
    assert empty in [each.text for each in root.iter("p")]


def test_the_report_can_be_written_to_stdout(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"), spark)
    put(lake, HISTORY, INTERVALS[:1])
    finish(lake, [HISTORY])
    command = [sys.executable, "-m", "kconf", "lake", "report", "-", "--lake", lake.uri]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=True)

    assert tree(done.stdout).tag == "html"


@pytest.mark.parametrize(("largest", "top"), [(0, 4), (4, 4), (5, 8), (21, 24), (33, 40), (231, 240), (2689, 3200)])
def test_an_axis_ends_at_a_round_number(largest: int, top: int) -> None:
    assert nice(largest) == top
