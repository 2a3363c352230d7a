"""`KEY=VALUE` on the command line, as alterations: units read, secrets fetched from where they are."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError
from kconf.model.alteration import AlterConfigOp, OpType

if TYPE_CHECKING:
    from kconf.model.resource import ResourceType


def alterations(op: OpType, kind: ResourceType, words: Sequence[str]) -> tuple[AlterConfigOp, ...]:
    """What is wished, each key once."""
    if not words:
        raise ConfigurationError("name a key" if op is OpType.DELETE else "name a key and its value: KEY=VALUE")
    found = [_alteration(op, kind, each) for each in words]
    if len({each.key for each in found}) < len(found):
        raise ConfigurationError("a key stands there twice")
    return tuple(found)


def _alteration(op: OpType, kind: ResourceType, word: str) -> AlterConfigOp:
    key, equals, text = word.partition("=")
    if op is OpType.DELETE:
        if equals:
            raise ConfigurationError(f"unset takes keys without a value: {key}")
        return AlterConfigOp(op, key, "")
    if not equals or not key:
        raise ConfigurationError(f"{word!r} is neither a resource nor KEY=VALUE")
    from kconf.configdef.lookup import known_key
    from kconf.configdef.units import raw_value

    return AlterConfigOp(op, key, raw_value(known_key(kind, key), fetched(key, text)))


def fetched(key: str, text: str) -> str:
    """The value itself, or what is in the file, the variable or the terminal that it names."""
    if text.startswith(("@@", "\\env:")) or text == "\\-":
        return text[1:]
    if text.startswith("@"):
        return from_file(key, text[1:])
    if text.startswith("env:"):
        name = text.removeprefix("env:")
        if name not in os.environ:
            raise ConfigurationError(f"{key}=env:{name} names a variable that is not set")
        return os.environ[name]
    return from_person(f"{key}: ") if text == "-" else text


def from_file(what: str, path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigurationError(f"the file with {what} cannot be read: {reason}") from None


def from_person(question: str) -> str:
    """From the terminal, unseen, or the next line of what is piped in."""
    if sys.stdin.isatty():
        from getpass import getpass

        return getpass(question)
    return sys.stdin.readline().rstrip("\r\n")
