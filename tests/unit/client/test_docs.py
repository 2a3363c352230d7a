"""docs/reference/client.md names every method. Its blocks are run by tests/docs/test_pages.py."""

from __future__ import annotations

from pathlib import Path

from kconf import AdminClient

PAGE = (Path(__file__).parents[3] / "docs/reference/client.md").read_text()


def test_every_method_is_in_the_table() -> None:
    methods = [name for name in vars(AdminClient) if not name.startswith("_")]
    others = {"close", "settings", "from_properties"}

    assert len(methods) > 20
    assert [name for name in methods if name not in others and f"`{name}(" not in PAGE] == []
