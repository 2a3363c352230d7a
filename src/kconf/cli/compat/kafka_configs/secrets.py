"""Hides the secrets of a command line in errors, in dry runs, and where the command line itself is printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kconf.configdef.sensitive import HIDDEN, is_sensitive_key
from kconf.model.resource import ResourceType

_WITH_VALUES = ("add-config",)


def is_secret(kind: str, key: str) -> bool:
    """Whether the value of this key must be hidden for this entity type."""
    return is_sensitive_key(ResourceType.BROKER if kind == "brokers" else None, key)


def shown(kind: str, key: str, value: str | None) -> str | None:
    return HIDDEN if value is not None and is_secret(kind, key) else value


def masked(argv: Iterable[str], kind: str) -> str:
    """The command line as one string, without its secrets."""
    arguments: list[str] = []
    hide = False
    for argument in argv:
        name, equals, value = argument.lstrip("-").partition("=")
        if hide:
            arguments.append(_masked_pairs(argument, kind))
            hide = False
        elif argument.startswith("-") and name in _WITH_VALUES and equals:
            arguments.append(f"{argument[: -len(value)] if value else argument}{_masked_pairs(value, kind)}")
        else:
            hide = argument.startswith("-") and name in _WITH_VALUES
            arguments.append(argument)
    return " ".join(arguments)


def _masked_pairs(text: str, kind: str) -> str:
    from kconf.cli.compat.kafka_configs.grammar import parse_pairs
    from kconf.errors import ConfigurationError

    try:
        pairs = parse_pairs(text, strict=True)
    except ConfigurationError:
        return HIDDEN  # it cannot be parsed, so any part of it may be a secret
    if text.count("[") != text.count("]"):
        return HIDDEN  # it is not clear where a secret ends
    if not any(is_secret(kind, key) for key in pairs):
        return text
    return ",".join(f"{key}={shown(kind, key, value)}" for key, value in pairs.items())


def scrubbed(message: str, kind: str, added: Mapping[str, str]) -> str:
    """A server's message without the secrets that were sent to it."""
    for key, value in added.items():
        if len(value) > 2 and value in message and is_secret(kind, key):
            message = message.replace(value, HIDDEN)
    return message
