"""Every figure in the README is also in docs/performance.md, which says how it was measured."""

from __future__ import annotations

import re

from tests.docs.blocks import ROOT

MEASURED = (ROOT / "docs/performance.md").read_text()
FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?")


def _figures(text: str) -> set[str]:
    """The numbers in a table, except in its first column."""
    rows = [line.strip("|").split("|")[1:] for line in text.splitlines() if line.startswith("|")][2:]
    return {figure for row in rows for cell in row for figure in FIGURE.findall(cell)}


def test_every_figure_in_the_readme_is_in_the_measurements() -> None:
    table = (ROOT / "README.md").read_text().partition("## How fast")[2].partition("\n## ")[0]
    shown = _figures(table)

    assert len(shown) >= 10
    assert shown - set(FIGURE.findall(MEASURED)) == set()
