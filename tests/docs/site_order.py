"""A mkdocs hook (`hooks` in mkdocs.yml) that orders the pages of the site: tutorials first, decisions last.

New pages need no entry: within a folder they are sorted by name.
"""

from __future__ import annotations

from typing import Any

FIRST = ("index.md", "tutorial-any-cluster.md", "tutorial.md")
FOLDERS = ("How to", "Reference")
LAST = "Decisions"


def on_nav(nav: Any, **_: Any) -> Any:
    nav.items.sort(key=_place)
    return nav


def _place(item: Any) -> tuple[int, int]:
    if item.is_section:
        return (3, 0) if item.title == LAST else (1, FOLDERS.index(item.title) if item.title in FOLDERS else 9)
    name = item.file.src_path
    return (0, FIRST.index(name)) if name in FIRST else (2, 0)
