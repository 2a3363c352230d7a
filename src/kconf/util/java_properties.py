r"""Java's .properties text.

Lines end with LF, CR or both; blanks are space, tab and form feed. A line goes on below when an odd number of
backslashes ends it; `#` and `!` open a comment; a key ends at the first `=`, `:` or blank that is not escaped; `\uXXXX`
is a UTF-16 unit. Of a key given twice the last value counts. One thing differs from Java: a lone backslash that ends
the text is no property, where Java sees one without name and value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kconf.errors import ConfigurationError

_BLANKS = " \t\f"
_NAMED_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = r"(?s)\\(?:u([0-9a-fA-F]{4})|(u)|(.)|\Z)"


def read_properties(text: str) -> dict[str, str]:
    """The properties of a text, in the order in which they first occur; `ConfigurationError` for a broken escape."""
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        properties[_unescape(key)] = _unescape(value)
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with their continuations, without leading blanks; neither empty lines nor comments."""
    line = ""
    for natural in re.split(r"\r\n|\r|\n", text):
        part = natural.lstrip(_BLANKS)
        if not line and part[:1] in ("", "#", "!"):
            continue  # also after a lone backslash: for Java the line has not started yet
        line += part
        if _goes_on(part):
            line = line[:-1]
        elif line:
            yield line
            line = ""
    if line:
        yield line


def _goes_on(line: str) -> bool:
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
    if value[:1] in ("=", ":"):  # one sign at most: a second belongs to the value
        value = value[1:].lstrip(_BLANKS)
    return line[:end], value


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = re.sub(_ESCAPE, _character, text)
    # A character beyond U+FFFF is written as two units; a unit without its other half means nothing.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _character(match: re.Match[str]) -> str:
    code, broken, character = match.groups()
    if broken:
        raise ConfigurationError(r"a \u in a properties file must be followed by four hexadecimal digits")
    if code:
        return chr(int(code, 16))
    return _NAMED_ESCAPES.get(character, character) if character else ""
