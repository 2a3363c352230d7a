"""Shortens names from requests in error messages: with a name of 32,767 characters, a message could not be sent."""

from __future__ import annotations

from typing import Final

_LONGEST: Final = 300  # a topic name has at most 249 characters


def shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else name[:_LONGEST] + "…"
