"""Errors of object stores as one line: the store's own message, without the request and color codes."""

from __future__ import annotations

import re
from typing import Final

_COLOR: Final = re.compile(r"\x1b\[[0-9;]*m")
_MESSAGE: Final = re.compile(r"<Message>(.*?)</Message>", re.DOTALL)
_CAUSE: Final = re.compile(r"^\s*↳\s*")


def store_error(error: BaseException) -> str:
    """The root cause of a deltalake error; its first line if there is no other."""
    text = _COLOR.sub("", str(error))
    if found := _MESSAGE.search(text):
        return " ".join(found[1].split())
    lines = [line for line in text.splitlines() if line.strip()]
    causes = [_CAUSE.sub("", line).strip() for line in lines if _CAUSE.match(line)]
    return (causes[-1:] or [line.strip() for line in lines[:1]] or [type(error).__name__])[0]
