r"""Parses Java's .properties format.

Lines end with LF, CR or both. Blanks are space, tab and form feed. A line continues on the next one if it ends with an
odd number of backslashes. `#` and `!` start a comment. A key ends at the first unescaped `=`, `:` or blank. `\uXXXX` is
a UTF-16 code unit. If a key is repeated, the last value counts. One difference from Java: a single backslash at the end
of the text is ignored, while Java returns a property without name and value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kconf.errors import ConfigurationError

_BLANKS = " \t\f"
_NAMED_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = r"(?s)\\(?:u([0-9a-fA-F]{4})|(u)|(.)|\Z)"


def read_properties(text: str) -> dict[str, str]:
    """Parse properties, in the order of first occurrence. Raises ConfigurationError for an invalid escape."""
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        properties[_unescape(key)] = _unescape(value)
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """Lines joined with their continuations, without leading blanks, empty lines and comments."""
    line = ""
    for natural in re.split(r"\r\n|\r|\n", text):
        part = natural.lstrip(_BLANKS)
        if not line and part[:1] in ("", "#", "!"):
            continue  # also after a single backslash: for Java the line has not started yet
        line += part
        if _continues(part):
            line = line[:-1]
        elif line:
            yield line
            line = ""
    if line:
        yield line


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    end, escaped = 0, False
    for end, character in enumerate(line):  # noqa: B007
        if not escaped and character in "=: \t\f":
            break
        escaped = character == "\\" and not escaped
    else:
        return line, ""
    value = line[end:].lstrip(_BLANKS)
    if value[:1] in ("=", ":"):  # at most one separator: a second one belongs to the value
        value = value[1:].lstrip(_BLANKS)
    return line[:end], value


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = re.sub(_ESCAPE, _character, text)
    # A character above U+FFFF is written as two code units (a surrogate pair).
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _character(match: re.Match[str]) -> str:
    code, broken, character = match.groups()
    if broken:
        raise ConfigurationError(r"a \u in a properties file must be followed by four hexadecimal digits")
    if code:
        return chr(int(code, 16))
    return _NAMED_ESCAPES.get(character, character) if character else ""
