"""The page of file formats names every field of a line."""

from __future__ import annotations

from kconf.model.lines.fields import ATTEMPT_LINE, CHANGE_LINE
from tests.docs.generated import REFERENCE


def test_every_field_of_a_line_is_on_the_page_of_formats() -> None:
    page = (REFERENCE / "formats.md").read_text("utf-8")
    changes, attempts = (
        page.partition(f"\n## {title}\n")[2].partition("\n## ")[0] for title in ("Changes", "Attempts")
    )

    assert min(len(CHANGE_LINE), len(ATTEMPT_LINE)) > 5
    assert [each.name for each in CHANGE_LINE if f"`{each.name}`" not in changes] == []
    assert [each.name for each in ATTEMPT_LINE if f"`{each.name}`" not in changes + attempts] == []
