"""Regular expressions of policies, compiled by RE2.

A pattern is matched against names and values that any client may choose, on the server's event loop. RE2 takes time
linear in the text, whatever the pattern; `re` and Java's engine backtrack. The pipeline uses RE2 as well
(spark/transforms/values.py), so that a rule means the same there. `re2` is imported with the first pattern.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

LONGEST: Final = 256  # characters; a longer text matches no pattern

_UNSUPPORTED: Final = {
    "(?=": "a lookahead",
    "(?!": "a negative lookahead",
    "(?<=": "a lookbehind",
    "(?<!": "a negative lookbehind",
    "(?>": "an atomic group",
    r"\k": "a backreference",
    **{rf"\{digit}": "a backreference" for digit in range(1, 10)},
}


class Regex:
    """A compiled pattern. It only returns whether a string matches."""

    __slots__ = ("_pattern",)

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern

    def search(self, text: str) -> bool:
        """Whether the pattern is found anywhere in the text."""
        return self._pattern.search(text.encode(errors="replace")) is not None


@lru_cache(maxsize=1024)
def compile_regex(text: str, *, whole: bool = False) -> Regex:
    """The pattern, or ValueError with a reason that completes "the pattern …". `whole`: see `anchored`."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        pattern = re2.compile(text, options)
        return Regex(re2.compile(anchored(text), options) if whole else pattern)
    except UnicodeEncodeError:
        raise ValueError("cannot be parsed: it is not Unicode text") from None
    except re2.error as error:
        raise ValueError(_reason(error.args[0].decode(errors="replace"))) from None


def anchored(text: str) -> str:
    """The pattern that a search finds only if this one matches the whole text."""
    return rf"\A(?:{text})\z"


def _reason(error: str) -> str:
    """RE2's message is `invalid perl operator: (?!` or `missing ]: [a-z`."""
    unsupported = error.rpartition(": ")[2]
    if unsupported in _UNSUPPORTED:
        return f"contains {_UNSUPPORTED[unsupported]}, {unsupported}, which RE2 does not support"
    return f"cannot be parsed: {error}"
