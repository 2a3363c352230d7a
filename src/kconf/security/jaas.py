"""Parses `sasl.jaas.config`: a Java login module and its options. Errors never contain any part of the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kconf.errors import ConfigurationError

_FLAGS = ("required", "requisite", "sufficient", "optional")
_PART = re.compile(
    r"""\s*(?:(?P<name>[^\s=;"']+)\s*=\s*(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<bare>[^\s;"']+))|(?P<end>;))""",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class LoginModule(NamedTuple):
    """One login module and its options, which may be secrets."""

    name: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"LoginModule({self.name!r}, [hidden])"

    def option(self, name: str) -> str:
        value = self.options.get(name, "")
        if not value:
            raise ConfigurationError(f"sasl.jaas.config: {self.name.rpartition('.')[2]} needs {name}")
        return value


def parse(text: str) -> LoginModule:
    """Parse `<module> required key="value" …;` with Java's quoting."""
    head = re.match(rf"\s*([\w.$]+)\s+({'|'.join(_FLAGS)})\b", text, re.IGNORECASE)
    if head is None:
        raise ConfigurationError('sasl.jaas.config must be: <login module> required <option>="<value>" … ;')
    options: dict[str, str] = {}
    position = head.end()
    while True:
        part = _PART.match(text, position)
        if part is None:
            raise ConfigurationError("sasl.jaas.config: options must be name=\"value\", with ';' after the last one")
        if part["end"]:
            break
        quoted = part["double"] if part["double"] is not None else part["single"]
        options[part["name"]] = part["bare"] if quoted is None else re.sub(r"(?s)\\(.)", _escape, quoted)
        position = part.end()
    if text[part.end() :].strip():
        raise ConfigurationError("sasl.jaas.config must contain exactly one login module")
    return LoginModule(head[1], options)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1])
