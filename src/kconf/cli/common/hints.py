"""Hints on what to try next after a command failed.

An error message is printed as the server sent it; a hint is a separate line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kconf.errors import AuthenticationFailed, ConfigurationError, ConnectionFailed, KconfError

if TYPE_CHECKING:
    import argparse

    from kconf.cli.output.result import Item

NO_CLUSTER = "no cluster given; pass -b HOST:PORT, or add a context with `kconf context add`"


TOPICS = "list topics with `kconf topic list`"
NO_LOGIN = "the listener may require authentication: see docs/how-to/contexts.md"
NO_TLS = "perhaps the listener does not use TLS; if so, set security.protocol to PLAINTEXT or SASL_PLAINTEXT"


def hints(options: argparse.Namespace, failed: Iterable[Item], error: KconfError | None) -> list[str]:
    """The hints without duplicates, even if thousands of topics failed for the same reason."""
    wrong = dict.fromkeys(each for item in failed for each in _mistakes(item))
    found = [each for word, key in wrong for each in (_for_key(word, key) if key else [TOPICS])]
    if isinstance(error, ConnectionFailed | AuthenticationFailed):
        found += _for_connection(options, error)
    return list(dict.fromkeys(found))


def _for_connection(options: argparse.Namespace, error: ConnectionFailed | AuthenticationFailed) -> Iterator[str]:
    if isinstance(error, AuthenticationFailed):
        if str(error).startswith("TLS handshake with"):
            yield NO_TLS
    elif not _names_a_cluster(options):
        yield NO_CLUSTER
    elif error.sent and not _has_login(options):
        yield NO_LOGIN


def _mistakes(item: Item) -> Iterator[tuple[str, str]]:
    """Resource types with a refused key, or without a key if the topic does not exist."""
    if item["error"] == "UNKNOWN_TOPIC_OR_PARTITION":
        yield "topic", ""
    if item["error"] == "INVALID_CONFIG":
        word = str(item.get("resource")).partition(":")[0]
        yield from ((word, key) for key in (item.get("key"), *(item.get("configs") or ())) if key)


def _for_key(word: str, key: str) -> Iterator[str]:
    """For an unknown key, the key that was probably meant."""
    from kconf.configdef.lookup import known_key, similar_key
    from kconf.operations.selection.selectors import BROKERS, TYPES

    kind = TYPES.get("broker" if word == BROKERS else word)
    if kind is None or known_key(kind, key) is not None:
        return
    near = similar_key(kind, key)
    if near is not None:
        yield f"{key}: did you mean {near}?"


def _names_a_cluster(options: argparse.Namespace) -> bool:
    if getattr(options, "bootstrap_server", None) or getattr(options, "context", None):
        return True
    from kconf.client.contexts.load import load_contexts

    return bool(os.environ.get("KCONF_CONTEXT") or load_contexts().current)


def _has_login(options: argparse.Namespace) -> bool:
    """Whether a login is configured; True also if the command has no such options."""
    from kconf.cli.common.target import targets

    if not hasattr(options, "command_config"):
        return True
    try:
        return bool(options.command_config) or any(
            each.context.properties or each.context.properties_file for each in targets(options)
        )
    except ConfigurationError:
        return True
