"""The table of tools in the README agrees with docs/reference/compared.md, and each cell has a source."""

from __future__ import annotations

import re

from tests.docs.blocks import ROOT

README = (ROOT / "README.md").read_text()
PAGE = (ROOT / "docs/reference/compared.md").read_text()
SECTION = re.compile(r"^## (.+?)$\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def _rows(text: str) -> list[list[str]]:
    """The cells of the first table in a text, without the line of dashes."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _tables() -> dict[str, list[list[str]]]:
    return {title: _rows(text)[1:] for title, text in SECTION.findall(PAGE)}


def test_the_readme_has_some_rows_of_the_page_with_the_same_cells() -> None:
    (_, *tools), *rows = _rows(dict(SECTION.findall(README))["Compared with other tools"])

    names = [row[0] for row in rows]
    in_readme = {tool: [[row[0], row[place]] for row in rows] for place, tool in enumerate(tools, start=1)}
    assert len(names) == 9
    assert in_readme == {tool: [row[:2] for row in table if row[0] in names] for tool, table in _tables().items()}


def test_a_cell_of_another_tool_has_a_link_or_what_the_tool_itself_prints() -> None:
    bare = [
        (tool, row)
        for tool, table in _tables().items()
        for row in table
        if not re.search(r"\]\((https://\S+|[\w./-]+\.md)\)|`[^`]+`", row[2])
    ]
    assert bare == []


def test_claims_about_kconf_cite_existing_tests_and_pages() -> None:
    places = re.findall(r"`([\w/]+\.\w+)`", " ".join(row[2] for row in _tables()["kconf"]))

    assert len(places) >= 10
    assert [place for place in places if not (ROOT / place).is_file()] == []
