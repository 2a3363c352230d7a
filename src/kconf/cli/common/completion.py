"""Completion of a command line: commands, options, contexts, resources, keys and values.

Commands and options come from the parsers, keys and values from the catalog of the cluster's release, names from the
cluster. Used by the completion scripts of bash, zsh and fish, and by `kconf shell`. What cannot be read is not
suggested.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from kconf.cli.common.program import Program
from kconf.errors import KconfError
from kconf.model.entry import ValueType
from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.configdef.key import ConfigKey

T = TypeVar("T")
_TIMEOUT: Final = 3.0  # seconds to list the names of a cluster
_CHANGES: Final = ("set", "unset", "append", "subtract")
_ON_RESOURCES: Final = (*_CHANGES, "describe", "history", "blame", "rollback", "watch")


def suggestions(program: Program, line: str, where: Sequence[str] = ()) -> Iterator[str]:
    """Completions of the last argument of a line without `kconf`. `where` is the -C or -b of the session, if any."""
    *before, last = _split(line)
    for each in _candidates(program, before, last, where):
        if each.startswith(last) and each.isprintable() and not any(character.isspace() for character in each):
            yield each


def _split(line: str) -> list[str]:
    """The arguments so far; the last one may be empty, or have a quote that is still open."""
    for closing in ("", "'", '"'):
        try:
            found = shlex.split(line + closing)
        except ValueError:
            continue
        return [*found, ""] if not found or (line[-1:].isspace() and not closing) else found
    return line.split(" ")


def _candidates(program: Program, before: list[str], last: str, where: Sequence[str]) -> Iterable[str]:
    if not before:
        return [*program.commands, *program.kafka_tools]
    if before[0] not in program.commands:
        return []
    found, verbs = _parser_of(program.parser(before[0]), before)
    if verbs is not None:
        return verbs
    options = {name: action for action in found._actions for name in action.option_strings}
    action = options.get(before[-1])
    if action is not None and action.nargs is None:
        return _option_values(action)
    if last.startswith("-"):
        return options
    return _arguments(before, last, [*where, *_where(before)])


def _parser_of(
    top: argparse.ArgumentParser, arguments: Sequence[str]
) -> tuple[argparse.ArgumentParser, list[str] | None]:
    """The parser of the command so far, or its subcommands if one comes next."""
    found = top
    for word in [*arguments, None]:
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
    from kconf.client.contexts.load import load_contexts

    try:
        return list(load_contexts().contexts)
    except KconfError:
        return []


def _where(arguments: Sequence[str]) -> list[str]:
    """The options of the line that name a cluster."""
    found = []
    for name, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if name in ("-C", "--context", "-b", "--bootstrap-server", "--command-config"):
            found += [name, value]
    return found


def _arguments(arguments: Sequence[str], last: str, where: Sequence[str]) -> Iterable[str]:
    command = arguments[0]
    if command == "context":
        return _contexts()
    if command == "explain":
        return _keys_everywhere()
    if command == "topic":
        return _names(ResourceType.TOPIC, where) if "create" not in arguments else []
    return _of_resources(command, arguments, last, where) if command in _ON_RESOURCES else []


def _of_resources(command: str, arguments: Sequence[str], last: str, where: Sequence[str]) -> Iterable[str]:
    from kconf.operations.selection.selectors import TYPES, is_selector

    if is_selector(last):
        word = last.partition(":")[0]
        extra = ["default"] if word == "broker" else []
        return [f"{word}:{name}" for name in (*extra, *_names(TYPES[word], where))]
    chosen = next((each.partition(":")[0] for each in arguments if is_selector(each)), None)
    if chosen is None:
        return [f"{each}:" for each in TYPES]
    return _of_keys(command, TYPES[chosen], last, where) if command in _CHANGES else []


def _of_keys(command: str, kind: ResourceType, last: str, where: Sequence[str]) -> Iterable[str]:
    name, equals, _ = last.partition("=")
    if equals:
        return [f"{name}={each}" for each in values_of(kind, name)]
    keys = _keys(kind, where)
    if command in ("append", "subtract"):
        keys = {each: key for each, key in keys.items() if key.type is ValueType.LIST}
    return [each if command == "unset" else f"{each}=" for each in keys]


def values_of(kind: ResourceType, name: str) -> list[str]:
    """The possible values of a key, if there are few."""
    from kconf.configdef.lookup import known_key

    key = known_key(kind, name)
    if key is None:
        return []
    if key.type is ValueType.BOOLEAN:
        return ["false", "true"]
    return list(key.validator.choices) if key.validator is not None else []


def _keys_everywhere() -> list[str]:
    from kconf.configdef.lookup import keys_for

    kinds = (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP, ResourceType.CLIENT_METRICS)
    return sorted({name for kind in kinds for name in keys_for(kind)})


def _keys(kind: ResourceType, where: Sequence[str]) -> Mapping[str, ConfigKey]:
    """The keys of the cluster's release; of all releases if the cluster does not respond or none is given."""
    from kconf.configdef.lookup import keys_for

    release = _asked(where, lambda admin: admin.cluster_release().catalog)
    if release is None or not keys_for(kind):
        return keys_for(kind)
    from kconf.configdef.releases.keys import release_keys

    return release_keys(kind, release) or keys_for(kind)


def _names(kind: ResourceType, where: Sequence[str]) -> list[str]:
    from kconf.operations.selection.selectors import names_of

    return _asked(where, lambda admin: names_of(admin, kind)) or []


def _asked(where: Sequence[str], ask: Callable[[SyncAdminClient], T]) -> T | None:
    """The response of the cluster; None if it does not respond."""
    from kconf.cli.common.target import add_target, target

    parser = argparse.ArgumentParser(exit_on_error=False, add_help=False)
    add_target(parser)
    try:
        options, _ = parser.parse_known_args([*where, "--timeout", str(_TIMEOUT)])
        with target(options).open() as admin:
            return ask(admin)
    except (KconfError, argparse.ArgumentError):
        return None
