"""`KEY=VALUE` arguments as alterations: units are parsed, secrets are read from files and variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError
from kconf.model.alteration import AlterConfigOp, OpType

if TYPE_CHECKING:
    from kconf.model.resource import ResourceType

Prompt = Callable[[str], str]
"""Prompts for a value with this text."""


def parse_assignments(
    op: OpType, kind: ResourceType, arguments: Sequence[str], prompt: Prompt
) -> tuple[AlterConfigOp, ...]:
    """One alteration per argument. A key may be given only once."""
    if not arguments:
        missing = "no key given; pass the keys to remove" if op is OpType.DELETE else "no config given; pass KEY=VALUE"
        raise ConfigurationError(missing)
    found = [_alteration(op, kind, each, prompt) for each in arguments]
    keys = [each.key for each in found]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ConfigurationError(f"{twice} was given twice")
    return tuple(found)


def _alteration(op: OpType, kind: ResourceType, argument: str, prompt: Prompt) -> AlterConfigOp:
    key, equals, text = argument.partition("=")
    if op is OpType.DELETE:
        if equals:
            raise ConfigurationError(f"unset takes keys without values; pass {key}")
        return AlterConfigOp(op, key, "")
    if not equals or not key:
        raise ConfigurationError(f"{argument!r} is neither a resource (TYPE:NAME) nor KEY=VALUE")
    from kconf.configdef.lookup import known_key
    from kconf.configdef.units import raw_value

    return AlterConfigOp(op, key, raw_value(known_key(kind, key), _resolve_value(key, text, prompt)))


def _resolve_value(key: str, text: str, prompt: Prompt) -> str:
    """The value itself, the content of the named file or variable, or the value entered at a prompt."""
    if text.startswith(("@@", "\\env:")) or text == "\\-":
        return text[1:]
    if text.startswith("@"):
        return read_value_file(key, text[1:])
    if text.startswith("env:"):
        name = text.removeprefix("env:")
        if name not in os.environ:
            raise ConfigurationError(f"{key}=env:{name}: the variable is not set")
        return os.environ[name]
    return prompt(f"{key}: ") if text == "-" else text


def read_value_file(what: str, path: str) -> str:
    """The content of a file without the final newline; `what` is for the error message."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f"cannot read the file with {what}: {reason}") from None
