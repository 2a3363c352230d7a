"""Values of items as plain text, for CSV and for tables."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> str:
    """A value as text without units; None becomes empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ",".join(f"{name}={each}" for name, each in value.items())
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def guarded_cell(value: Any) -> str:
    """Like `plain`, with a prefix if a spreadsheet would evaluate the cell as a formula."""
    text = plain(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
