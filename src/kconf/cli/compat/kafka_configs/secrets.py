"""What must not be shown: not in errors, not in dry runs, not where a command line is repeated.

By its name alone, so that no table of keys is needed for it; a broker's key that we do not know is a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

HIDDEN = "[hidden]"
_SECRET = (
    r"(?i)SCRAM-.*|"
    r".*(?:password|passwd|passphrase|secret|credential|token|jaas|keystore\.key|api\.?key|private).*"
)
_WITH_VALUES = ("add-config",)


def looks_secret(key: str) -> bool:
    return re.fullmatch(_SECRET, key) is not None


def is_secret(kind: str, key: str) -> bool:
    """Whether a value for this key of an entity type is to be hidden."""
    if looks_secret(key):
        return True
    if kind != "brokers":
        return False
    from kconf.configdef.broker import BROKER
    from kconf.configdef.dynamic import base_name

    known = BROKER.get(base_name(key))
    return known is None or known.sensitive


def shown(kind: str, key: str, value: str | None) -> str | None:
    return HIDDEN if value is not None and is_secret(kind, key) else value


def masked(argv: Iterable[str], kind: str) -> str:
    """The command line as one text, without its secrets."""
    words: list[str] = []
    hide = False
    for word in argv:
        name, equals, value = word.lstrip("-").partition("=")
        if hide:
            words.append(_masked_pairs(word, kind))
            hide = False
        elif word.startswith("-") and name in _WITH_VALUES and equals:
            words.append(f"{word[: -len(value)] if value else word}{_masked_pairs(value, kind)}")
        else:
            hide = word.startswith("-") and name in _WITH_VALUES
            words.append(word)
    return " ".join(words)


def _masked_pairs(text: str, kind: str) -> str:
    from kconf.cli.compat.kafka_configs.grammar import parse_pairs
    from kconf.errors import ConfigurationError

    try:
        pairs = parse_pairs(text, strict=True)
    except ConfigurationError:
        return HIDDEN  # who knows what it was meant to be
    if text.count("[") != text.count("]"):
        return HIDDEN  # nor where a secret ends
    if not any(is_secret(kind, key) for key in pairs):
        return text
    return ",".join(f"{key}={shown(kind, key, value)}" for key, value in pairs.items())


def scrubbed(message: str, kind: str, added: Mapping[str, str]) -> str:
    """A server's words, less the secrets that we sent it."""
    for key, value in added.items():
        if len(value) > 2 and value in message and is_secret(kind, key):
            message = message.replace(value, HIDDEN)
    return message
