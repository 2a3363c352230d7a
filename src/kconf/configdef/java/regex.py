"""Checks whether a text is a regular expression that Java accepts, without Java.

The text is scanned once and not compiled, so the time is linear in its length: Python's `re` takes two milliseconds to
compile a set such as `[一-龿]`, and a client may send thousands of them. RE2 is not used, since it has no lookaround, no
backreferences and no possessive quantifiers. The rules are those of Java 17. Two things are accepted without a check:
names of scripts and blocks (`\\p{IsGreek}`), and the length of a lookbehind.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_DEEPEST: Final = 800  # nested groups; with 1,000 Java's stack overflows
_DEEPEST_SET: Final = 3000
_LARGEST: Final = (1 << 31) - 1  # maximum number in a quantifier
_LAST: Final = 0x10FFFF  # maximum code point

_QUOTE: Final = re.compile(r"(?s)\\(?:Q(?P<quoted>.*?)(?:\\E|\Z)|.)")
_PLAIN: Final = re.compile(r"[^\\\[(){*+?|\s#^$.]+")
_QUANTIFIER: Final = re.compile(r"(?P<sign>[*+?])|\{(?P<least>[0-9]+)(?:,(?P<most>[0-9]*))?\}")
_NAMED: Final = re.compile(r"\(\?<(?P<name>[A-Za-z][A-Za-z0-9]*)>")
_GROUP: Final = re.compile(r"\(\?(?:(?P<kind>[:=!>]|<[=!])|(?P<on>[idmsucxU]*)(?:-(?P<off>[idmsucxU]*))?(?P<end>[:)]))")
_COMMENT: Final = re.compile(r"(?:[ \t-\r]|#[^\n\r\x85\u2028\u2029]*)+")
_CLASS: Final = re.compile(
    r"\\(?:[dDhHsSvVwW]|[pP](?:[CLMNPSZ]|\{(?:"
    r"I[sn]\w[^}]*|\w+=[^}]+|java[A-Z][A-Za-z]*"
    r"|C[cfnos]?|L[CDlmotu1]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?"
    r"|ASCII|Alnum|Alpha|Blank|Cntrl|Digit|Graph|Lower|Print|Punct|Space|Upper|XDigit|all"
    r")\}))"
)
_CHARACTER: Final = re.compile(
    r"(?s)\\(?:0(?P<octal>[0-3][0-7]{0,2}|[0-7]{1,2})"
    r"|(?:x(?P<x>[0-9A-Fa-f]{2})|x\{(?P<long>[0-9A-Fa-f]+)\}|u(?P<u>[0-9A-Fa-f]{4}))"
    r"|N\{(?P<name>[^}]*)\}|c(?P<control>.)|(?P<letter>[aefnrt])|(?P<itself>[^A-Za-z0-9]))"
)
_LETTERS: Final = {"a": 7, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9}
_BOUNDARY: Final = re.compile(r"\\(?:[ABGRXZz]|b(?:\{g\})?)")
_REFERENCE: Final = re.compile(r"\\(?:[1-9]|k<(?P<name>[A-Za-z][A-Za-z0-9]*)>)")


class _Invalid(Exception):
    """The text is not a valid regular expression in Java."""


class _Scope(NamedTuple):
    """The settings inside a group."""

    comments: bool = False  # the flag x
    behind: bool = False  # a lookbehind


def is_java_regex(text: str) -> bool:
    try:
        _Scanner(_QUOTE.sub(_unquoted, text)).run()
    except _Invalid:
        return False
    return True


def _unquoted(match: re.Match[str]) -> str:
    quoted = match["quoted"]
    return match[0] if quoted is None else re.sub(r"[^A-Za-z\x80-\U0010ffff]", _literal, quoted)


def _literal(match: re.Match[str]) -> str:
    return f"\\x{ord(match[0]):02x}"


class _Scanner:
    """Scans a text from left to right. Raises _Invalid where Java would refuse it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._names: set[str] = set()
        self._outer: list[_Scope] = []
        self._scope = _Scope()

    def run(self) -> None:
        text, repeatable = self._text, False
        while self._at < len(text):
            if self._scope.comments and self._take(_COMMENT):
                continue
            match text[self._at]:
                case "(":
                    self._open()
                    repeatable = False
                case ")":
                    self._close()
                    repeatable = True
                case "[":
                    self._set()
                    repeatable = True
                case "\\":
                    self._escape()
                    repeatable = True
                case "*" | "+" | "?" | "{":
                    self._quantifier(repeatable=repeatable)
                    repeatable = False
                case "|":
                    self._at += 1
                    repeatable = False
                case _:
                    if not self._take(_PLAIN):
                        self._at += 1
                    repeatable = True
        if self._outer:
            raise _Invalid

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found

    # -- groups ------------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        if len(self._outer) >= _DEEPEST:
            raise _Invalid
        inner = self._scope
        if named := self._take(_NAMED):
            if named["name"] in self._names:
                raise _Invalid
            self._names.add(named["name"])
        elif group := self._take(_GROUP):
            if group["kind"] in ("<=", "<!"):
                inner = inner._replace(behind=True)
            elif group["kind"] in ("=", "!"):
                inner = inner._replace(behind=False)
            elif group["kind"] is None:
                comments = (inner.comments or "x" in group["on"]) and "x" not in (group["off"] or "")
                inner = inner._replace(comments=comments)
                if group["end"] == ")":
                    self._scope = inner
                    return
        elif self._text.startswith("(?", self._at):
            raise _Invalid
        else:
            self._at += 1
        self._outer.append(self._scope)
        self._scope = inner

    def _close(self) -> None:
        if not self._outer:
            raise _Invalid
        self._at += 1
        self._scope = self._outer.pop()

    # -- atoms and quantifiers ---------------------------------------------------------------------------------------

    def _quantifier(self, *, repeatable: bool) -> None:
        found = self._take(_QUANTIFIER)
        if found is None or (found["sign"] and not repeatable):  # Java allows {2} without an atom before it
            raise _Invalid
        if found["least"]:
            least, most = _number(found["least"]), _number(found["most"] or found["least"])
            if most < least:
                raise _Invalid
        if self._scope.comments:
            self._take(_COMMENT)
        if self._text.startswith(("+", "?"), self._at):
            self._at += 1

    def _escape(self) -> None:
        if self._take(_CLASS) or self._take(_BOUNDARY):
            return
        if reference := self._take(_REFERENCE):  # a number may refer to a group that does not exist
            if self._scope.behind or (reference["name"] and reference["name"] not in self._names):
                raise _Invalid
            return
        self._character()

    def _character(self) -> int:
        """Read a code point, escaped or not."""
        if self._text[self._at] != "\\":
            self._at += 1
            return ord(self._text[self._at - 1])
        found = self._take(_CHARACTER)
        if found is None:
            raise _Invalid
        match found.lastgroup:
            case "octal":
                return int(found["octal"], 8)
            case "x" | "long" | "u":
                return _code_point(found[found.lastgroup])
            case "name":
                return _named(found["name"])
            case "control":
                return ord(found["control"]) ^ 64
            case "letter":
                return _LETTERS[found["letter"]]
            case _:
                return ord(found["itself"])

    # -- sets --------------------------------------------------------------------------------------------------------

    def _set(self) -> None:
        """Read a set. It may contain other sets and intersections: [a-z&&[^aeiou]]."""
        text, filled = self._text, list[bool]()  # for each open set, whether it is non-empty
        while self._at < len(text):
            if filled and self._scope.comments and self._take(_COMMENT):
                continue
            character = text[self._at]
            if character == "[":
                filled.append(False)
                if len(filled) > _DEEPEST_SET:
                    raise _Invalid
                self._at += 2 if text.startswith("[^", self._at) else 1
            elif character == "]" and filled[-1]:
                self._at += 1
                filled.pop()
                if not filled:
                    return
                filled[-1] = True
            elif text.startswith("&&", self._at):
                self._at += 2
                if not filled[-1] and text[self._at : self._at + 1] in ("]", "&"):
                    raise _Invalid
            else:
                self._range()
                filled[-1] = True
        raise _Invalid

    def _range(self) -> None:
        if self._take(_CLASS):
            return
        first = self._character()
        if self._text[self._at : self._at + 1] != "-" or self._text[self._at + 1 : self._at + 2] in ("", "[", "]"):
            return
        self._at += 1
        if self._character() < first:
            raise _Invalid


def _number(digits: str) -> int:
    """Parse the number of a quantifier."""
    value = int(digits.lstrip("0")[:12] or "0")
    if value > _LARGEST:
        raise _Invalid
    return value


def _code_point(digits: str) -> int:
    value = int(digits.lstrip("0")[:12] or "0", 16)
    if value > _LAST:
        raise _Invalid
    return value


def _named(name: str) -> int:
    from unicodedata import lookup

    try:
        return ord(lookup(name))
    except (KeyError, TypeError):
        raise _Invalid from None
