"""Parses `--adminclient-property`: a list of key=value, given once or several times.

A value may contain equals signs (every `sasl.jaas.config` does). A comma ends it if another KEY= follows, unless the
comma is inside double quotes or brackets: `bootstrap.servers=a:9092,b:9092` is one property. Brackets around a value
group it and are removed. Errors never repeat a value, which may be a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from kconf.errors import ConfigurationError

_OPTION: Final = "--adminclient-property"
_PAIR: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*=(.*)", re.DOTALL)


def parse_properties(options: Iterable[str]) -> dict[str, str]:
    """The properties of all options; if a key is repeated, the last value applies."""
    found: dict[str, str] = {}
    for option in options:
        found.update(_of_option(option))
    return found


def _of_option(option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    key = ""
    for piece in _pieces(option):
        match = _PAIR.fullmatch(piece)
        if match is not None:
            key = match[1]
            found[key] = match[2]
        elif key:
            found[key] += f",{piece}"  # the comma was part of the value
        elif piece.strip():
            raise ConfigurationError(f"{_OPTION} takes KEY=VALUE,KEY=VALUE")
    return {name: _unwrapped(value) for name, value in found.items()}


def _pieces(option: str) -> Iterator[str]:
    """Split at the commas outside double quotes and brackets."""
    start, depth, quoted, escaped = 0, 0, False, False
    for place, character in enumerate(option):
        if escaped:
            escaped = False
        elif quoted:
            escaped, quoted = character == "\\", character != '"'
        elif character == '"':
            quoted = True
        elif character in "[]":
            depth = max(depth + (1 if character == "[" else -1), 0)
        elif character == "," and not depth:
            yield option[start:place]
            start = place + 1
    if quoted or depth:
        raise ConfigurationError(f"{_OPTION}: a quote or a bracket is not closed")
    yield option[start:]


def _unwrapped(value: str) -> str:
    plain = value.strip()
    return plain[1:-1] if plain[:1] == "[" and plain[-1:] == "]" else plain
