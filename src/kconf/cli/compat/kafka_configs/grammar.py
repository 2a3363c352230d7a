"""Parses `--add-config`, `--add-config-file` and `--delete-config`.

A comma or an equals sign is a separator if the next bracket after it opens, or there is none. Kafka's tool then removes
all brackets from a value, wherever they are, and the surrounding spaces. That silently stores a different password than
intended, so here a value that would be changed is rejected; `--strict-compat` changes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kconf.cli.compat.kafka_configs.arguments import Arguments, InvalidArguments

_OUTSIDE = r"(?=[^\[\]]*(?:\[|\Z))"
_COMMA = "," + _OUTSIDE
_EQUALS = r"[ \t\n\v\f\r]*=[ \t\n\v\f\r]*" + _OUTSIDE
_TRIMMED = "".join(map(chr, range(0x21)))  # Java's String.trim
_KEY = r"[a-zA-Z0-9._-]*"
_FORM = (
    'requirement failed: Invalid entity config: all configs to be added must be in the format "key=val" or  '
    '"key=[val1,val2]" to group values which contain commas.'
)


class ConfigSpecs(NamedTuple):
    """What to set and what to delete."""

    add: Mapping[str, str]
    delete: Sequence[str]


def config_specs(arguments: Arguments) -> ConfigSpecs:
    strict = arguments.has("strict-compat")
    inline, file = arguments.one("add-config"), arguments.one("add-config-file")
    add: Mapping[str, str] = {}
    if inline is not None:
        add = parse_pairs(inline, strict=strict)
    elif file is not None:
        from kconf.client.properties import read_file

        add = read_file(file)
    for key in add:
        if not re.fullmatch(_KEY, key):
            raise InvalidArguments(f"Invalid character found for config key: {key}")
    delete = [name.strip(_TRIMMED) for text in arguments.all("delete-config") for name in text.split(",")]
    if not strict and "" in (*add, *delete):
        raise InvalidArguments("A config needs a name to be added or deleted")
    return ConfigSpecs(add, delete)


def parse_pairs(text: str, *, strict: bool = False) -> dict[str, str]:
    """Parse `k=v,k=[v,v]`; if a key is repeated, the last value applies."""
    pieces = re.split(_COMMA, text)
    while len(pieces) > 1 and not pieces[-1]:
        pieces.pop()
    if pieces == [""] and text:
        return {}  # only commas
    pairs = [re.split(_EQUALS, piece) for piece in pieces]
    if any(len(pair) != 2 for pair in pairs):
        raise InvalidArguments(_FORM)
    return {key.strip(_TRIMMED): _value(key.strip(_TRIMMED), value, strict) for key, value in pairs}


def _value(key: str, text: str, strict: bool) -> str:
    bare = text.replace("[", "").replace("]", "")
    plain = bare.strip(_TRIMMED)
    if strict:
        return plain
    outer = text.strip(_TRIMMED)
    inner = outer[1:-1] if outer[:1] == "[" and outer[-1:] == "]" else outer
    if "[" in inner or "]" in inner:
        raise InvalidArguments(f"--add-config would remove the brackets in the value of {key}: use --add-config-file")
    if inner != plain and _looks_sensitive(key):
        raise InvalidArguments(f"--add-config would remove the spaces around the value of {key}: use --add-config-file")
    return plain


def _looks_sensitive(key: str) -> bool:
    from kconf.configdef.sensitive import looks_sensitive

    return looks_sensitive(key)
