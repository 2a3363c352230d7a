"""What may stand next on a command line: commands, options, contexts, resources, keys and values.

Commands and options come from the parsers themselves, keys and values from the catalog, names from the cluster that
the line is about. For shell completion and for the shell of kconf; what cannot be found out is no suggestion.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kconf.errors import KconfError
from kconf.model.entry import ValueType
from kconf.model.resource import ResourceType

_PATIENCE: Final = 3.0  # seconds for a cluster to say its names
_CHANGES: Final = ("set", "unset", "append", "subtract")
_ON_RESOURCES: Final = (*_CHANGES, "describe", "history", "blame", "rollback", "watch")


def suggestions(line: str, where: Sequence[str] = ()) -> Iterator[str]:
    """What may stand in place of the last word of a line that begins behind `kconf`. `where` is -C or -b, if known."""
    *before, last = _words(line)
    for each in _candidates(before, last, where):
        if each.startswith(last) and not any(character.isspace() for character in each):
            yield each


def _words(line: str) -> list[str]:
    """The words so far; the last one may be empty, or have a quote that is still open."""
    for closing in ("", "'", '"'):
        try:
            words = shlex.split(line + closing)
        except ValueError:
            continue
        return [*words, ""] if not words or (line[-1:].isspace() and not closing) else words
    return line.split(" ")


def _candidates(before: list[str], last: str, where: Sequence[str]) -> Iterable[str]:
    from kconf.cli.main import COMMANDS, KAFKAS, parser

    if not before:
        return [*COMMANDS, *KAFKAS]
    if before[0] not in COMMANDS:
        return []
    found, verbs = _parser_of(parser(before[0]), before)
    if verbs is not None:
        return verbs
    options = {name: action for action in found._actions for name in action.option_strings}
    action = options.get(before[-1])
    if action is not None and action.nargs is None:
        return _option_values(action)
    if last.startswith("-"):
        return options
    return _arguments(before, last, [*where, *_where(before)])


def _parser_of(top: argparse.ArgumentParser, words: Sequence[str]) -> tuple[argparse.ArgumentParser, list[str] | None]:
    """The parser of the command so far, or its verbs where one must be chosen now."""
    found = top
    for word in [*words, None]:
        verbs = next((each for each in found._actions if isinstance(each, argparse._SubParsersAction)), None)
        if verbs is None:
            break
        if word is None or word not in verbs.choices:
            return found, list(verbs.choices)
        found = verbs.choices[word]
    return found, None


def _option_values(action: argparse.Action) -> Iterable[str]:
    if action.choices is not None:
        return [str(each) for each in action.choices]
    if "--context" in action.option_strings:
        return _contexts()
    return []


def _contexts() -> list[str]:
    from kconf.client.contexts.contexts import load_contexts

    try:
        return list(load_contexts().contexts)
    except KconfError:
        return []


def _where(words: Sequence[str]) -> list[str]:
    """What the line itself says about the cluster."""
    found = []
    for name, value in zip(words, [*words[1:], ""], strict=True):
        if name in ("-C", "--context", "-b", "--bootstrap-server", "--command-config"):
            found += [name, value]
    return found


def _arguments(words: Sequence[str], last: str, where: Sequence[str]) -> Iterable[str]:
    command = words[0]
    if command == "context":
        return _contexts()
    if command == "explain":
        return _keys_everywhere()
    if command == "topic":
        return _names(ResourceType.TOPIC, where) if "create" not in words else []
    return _of_resources(command, words, last, where) if command in _ON_RESOURCES else []


def _of_resources(command: str, words: Sequence[str], last: str, where: Sequence[str]) -> Iterable[str]:
    from kconf.operations.selectors import TYPES, is_selector

    if is_selector(last):
        word = last.partition(":")[0]
        extra = ["default"] if word == "broker" else []
        return [f"{word}:{name}" for name in (*extra, *_names(TYPES[word], where))]
    chosen = next((each.partition(":")[0] for each in words if is_selector(each)), None)
    if chosen is None:
        return [f"{each}:" for each in TYPES]
    return _of_keys(command, TYPES[chosen], last) if command in _CHANGES else []


def _of_keys(command: str, kind: ResourceType, last: str) -> Iterable[str]:
    from kconf.cli.common.units import keys_for

    keys = keys_for(kind)
    name, equals, _ = last.partition("=")
    if equals:
        return [f"{name}={each}" for each in values_of(kind, name)]
    if command in ("append", "subtract"):
        keys = {each: key for each, key in keys.items() if key.type is ValueType.LIST}
    return [each if command == "unset" else f"{each}=" for each in keys]


def values_of(kind: ResourceType, name: str) -> list[str]:
    """The values that a key may have, where these are few."""
    from kconf.cli.common.catalog import known_key

    key = known_key(kind, name)
    if key is None:
        return []
    if key.type is ValueType.BOOLEAN:
        return ["false", "true"]
    return list(key.validator.choices) if key.validator is not None else []


def _keys_everywhere() -> list[str]:
    from kconf.cli.common.units import keys_for

    kinds = (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP, ResourceType.CLIENT_METRICS)
    return sorted({name for kind in kinds for name in keys_for(kind)})


def _names(kind: ResourceType, where: Sequence[str]) -> list[str]:
    from kconf.cli.common.target import add_target, target
    from kconf.operations.selectors import names_of

    parser = argparse.ArgumentParser(exit_on_error=False, add_help=False)
    add_target(parser)
    try:
        options, _ = parser.parse_known_args([*where, "--timeout", str(_PATIENCE)])
        with target(options).open() as admin:
            return names_of(admin, kind)
    except (KconfError, argparse.ArgumentError):
        return []
