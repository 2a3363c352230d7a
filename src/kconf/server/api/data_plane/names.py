"""Names that clients choose, in messages: a name of 32,767 characters must not make a message that cannot be sent."""

from __future__ import annotations

from typing import Final

_LONGEST: Final = 300  # a topic's name has at most 249 characters


def shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else name[:_LONGEST] + "…"
