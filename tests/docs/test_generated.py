"""Generated pages are up to date."""

from __future__ import annotations

import pytest

from tests.docs.generated import PAGES, REFERENCE

TELL = "run: python -m tests.docs"


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (REFERENCE / name).read_text("utf-8") == PAGES[name](), TELL
