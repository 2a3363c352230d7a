"""Makes untrusted text safe to show: control characters become visible escapes such as `\\u001b`."""

from __future__ import annotations

from typing import Final

_CONTROLS: Final = (
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0x061C, 0x200E, 0x200F),  # direction marks
    *range(0x2028, 0x202F),  # line and paragraph separators, directional embeddings and overrides
    *range(0x2066, 0x206A),  # directional isolates
    0xFEFF,
)
UNSAFE: Final = {code: f"\\u{code:04x}" for code in _CONTROLS}
_IN_ONE_LINE: Final = {**UNSAFE, ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def visible(text: str) -> str:
    """The text on one line, with control characters as escapes."""
    return text if text.isprintable() else text.translate(_IN_ONE_LINE)
