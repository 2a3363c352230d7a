"""The HTML of a report: every text is escaped, and what is missing is visible."""

from __future__ import annotations

import re

from kconf.cli.commands.lake.page import ReportSection, page

HOSTILE = "<script>alert('x') & \"y\"</script>"
ESCAPED = "&lt;script&gt;alert(&#x27;x&#x27;) &amp; &quot;y&quot;&lt;/script&gt;"


def test_every_text_is_escaped() -> None:
    section = ReportSection(HOSTILE, HOSTILE, legend={HOSTILE: 0}, headings=[HOSTILE], rows=[[HOSTILE]])

    shown = page(HOSTILE, HOSTILE, {HOSTILE: 1}, [section])

    assert "<script" not in shown
    assert shown.count(ESCAPED) == 9


def test_an_empty_cell_shows_a_dash() -> None:
    section = ReportSection(
        "Owners", "Who owns topics.", headings=["topic", "owner"], rows=[["orders", "shop"], ["logs", ""]]
    )

    shown = page("Report", "All clusters.", {}, [section])

    assert re.findall("<tr>(.*?)</tr>", shown) == [
        '<th scope="col">topic</th><th scope="col">owner</th>',
        "<td>orders</td><td>shop</td>",
        '<td>logs</td><td class="none">–</td>',
    ]


def test_a_section_without_rows_or_legend_has_no_empty_elements() -> None:
    shown = page(
        "Report", "All clusters.", {"topics": 12_345}, [ReportSection("Owners", "Nobody.", headings=["topic"])]
    )

    assert "<li><b>12,345</b>topics</li>" in shown
    assert "<table" not in shown
    assert 'class="legend"' not in shown


def test_colors_of_a_legend_repeat_after_the_sixth() -> None:
    shown = page("Report", "", {}, [ReportSection("People", "", legend={"ana": 0, "bob": 5, "carl": 6})])

    assert re.findall(r'<i class="(s\d)"></i>(\w+)', shown) == [("s0", "ana"), ("s5", "bob"), ("s0", "carl")]
