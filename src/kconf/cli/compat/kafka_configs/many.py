"""Many entities in one command, which Kafka's tool does not support: names from a file, or all that match a pattern."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from kconf.cli.compat.kafka_configs.arguments import Arguments, InvalidArguments
from kconf.cli.compat.kafka_configs.describe import RESOURCE_TYPES
from kconf.cli.compat.kafka_configs.entities import Entities

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient

OPTIONS = ("entity-names-file", "entity-regex")


def check(arguments: Arguments, given: Entities) -> Entities:
    """The entities with the names from the file; raises `InvalidArguments` if the two options cannot be used."""
    file, regex = (arguments.one(each) for each in OPTIONS)
    if arguments.has("strict-compat"):
        raise InvalidArguments(f"--strict-compat supports neither --{' nor --'.join(OPTIONS)}")
    if len(given.types) != 1 or given.head not in RESOURCE_TYPES:
        raise InvalidArguments(f"--{' and --'.join(OPTIONS)} require one --entity-type of {', '.join(RESOURCE_TYPES)}")
    if regex is not None:
        if given.names or file is not None:
            raise InvalidArguments("--entity-regex cannot be combined with entity names")
        _compiled(regex)
        return given
    return given._replace(names=(*given.names, *_read(file or "")))


def matched(admin: SyncAdminClient, given: Entities, regex: str) -> Entities:
    """The entities whose whole name matches the pattern. Internal topics only if the pattern starts like them."""
    from kconf.model.resource import INTERNAL_TOPICS
    from kconf.operations.selection.selectors import names_of

    pattern = _compiled(regex)
    own = () if regex.removeprefix("^").startswith("__") else INTERNAL_TOPICS
    names = [each for each in names_of(admin, RESOURCE_TYPES[given.head]) if pattern.fullmatch(each)]
    names = [each for each in names if given.head != "topics" or each not in own]
    if not names:
        raise InvalidArguments(f"None of the {given.head} has a name that {regex} matches")
    return given._replace(names=tuple(sorted(names)))


def _compiled(regex: str) -> re.Pattern[str]:
    try:
        return re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidArguments(f"{regex!r} is not a regular expression: {error}") from None


def _read(path: str) -> list[str]:
    """One name per line; empty lines are ignored."""
    try:
        if path == "-":
            lines = sys.stdin.read().splitlines()
        else:
            with open(path, encoding="utf-8-sig") as file:
                lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidArguments(f"The names in {path} cannot be read: {reason}") from None
    names = [each.strip() for each in lines if each.strip()]
    if not names:
        raise InvalidArguments(f"There are no names in {path}")
    return names
