"""Resources on the command line: `topic:orders`, `topic:'logs.*'`, `topic:/re/`, `topic:@names.txt`, `broker:default`.

A glob is for the whole name, a regular expression is found anywhere in it, as in rules. Quota entities are named by
flags, since their names may hold anything.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.client.contexts.context import is_glob
from kconf.errors import ConfigurationError, UnsupportedVersion
from kconf.model.resource import INTERNAL_TOPICS, Resource, ResourceType

if TYPE_CHECKING:
    import argparse

    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.quota import QuotaEntity

TYPES: Final = {
    "topic": ResourceType.TOPIC,
    "broker": ResourceType.BROKER,
    "group": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
    "broker-logger": ResourceType.BROKER_LOGGER,
}
BROKERS: Final = "brokers"
"""What tables call `broker:default`."""
NUMBERED: Final = (ResourceType.BROKER, ResourceType.BROKER_LOGGER)


class NothingMatches(ConfigurationError):
    """A pattern that matches nothing on a cluster."""


class Selector(NamedTuple):
    """Some resources of one type: `names` as they stand, or those that `pattern` matches."""

    text: str
    type: ResourceType
    names: tuple[str, ...] = ()
    pattern: str | None = None

    @property
    def is_one(self) -> bool:
        """Whether it is one named resource. A default is not: it is for many."""
        return self.pattern is None and len(self.names) == 1 and self.names != ("",)

    @property
    def resources(self) -> list[Resource]:
        """What it names without asking anyone."""
        return [Resource(self.type, each) for each in self.names]

    def matches(self, name: str) -> bool:
        import re
        from fnmatch import fnmatchcase

        assert self.pattern is not None
        if is_regex(self.pattern):
            return re.search(self.pattern[1:-1], name) is not None
        return fnmatchcase(name, self.pattern)


def is_regex(text: str) -> bool:
    return len(text) > 2 and text.startswith("/") and text.endswith("/")


def is_selector(word: str) -> bool:
    """Whether a word on the command line means resources: it begins with one of their types."""
    return word == BROKERS or (word.partition(":")[0] in TYPES and ":" in word)


def parse_selector(word: str) -> Selector:
    kind_word, colon, name = ("broker:default" if word == BROKERS else word).partition(":")
    kind = TYPES.get(kind_word)
    if kind is None or not colon:
        raise ConfigurationError(_no_resource(word))
    if not name:
        raise ConfigurationError(f"{word!r} has no name behind the colon")
    if name.startswith("@"):
        return Selector(word, kind, tuple(_checked(kind, each) for each in _names_in(name[1:])), None)
    if is_regex(name):
        _compiled(word, name)
        return Selector(word, kind, (), name)
    if is_glob(name):
        return Selector(word, kind, (), name)
    return Selector(word, kind, (_checked(kind, name),))


def _no_resource(word: str) -> str:
    """What is wrong with it, and what it may have been meant for."""
    from difflib import get_close_matches

    kind, colon, name = word.partition(":")
    near = get_close_matches(kind, TYPES, 1) if colon else []
    if near:
        return f"{kind!r} is no kind of resource; did you mean {near[0]}:{name}?"
    first = "topic:NAME" if colon or word in TYPES else f"topic:{word}"
    return f"{word!r} names no resource; write {', '.join([first, *(f'{each}:NAME' for each in list(TYPES)[1:])])}"


def parse_selectors(words: Iterable[str]) -> list[Selector]:
    return [parse_selector(each) for each in words]


def is_one_resource(selectors: Sequence[Selector]) -> bool:
    """One named resource changes at once; all else is asked about first."""
    return len(selectors) == 1 and selectors[0].is_one


def _checked(kind: ResourceType, name: str) -> str:
    if kind not in NUMBERED:
        return name
    if name == "default" and kind is ResourceType.BROKER:
        return ""
    if not (name.isascii() and name.isdigit() and len(name) < 11):
        words = "a number, default or *" if kind is ResourceType.BROKER else "a number or *"
        raise ConfigurationError(f"a broker is named by {words}, not {name!r}")
    return str(int(name))


def _compiled(word: str, pattern: str) -> None:
    import re

    try:
        re.compile(pattern[1:-1])
    except re.error as error:
        raise ConfigurationError(f"{word!r} holds no regular expression: {error}") from None


def _names_in(path: str) -> list[str]:
    """One name per line, each once; empty lines and lines that begin with # are left out."""
    try:
        if path == "-":
            lines = sys.stdin.read().splitlines()
        else:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise ConfigurationError(f"the names in {path} cannot be read: {reason}") from None
    names = dict.fromkeys(each.strip() for each in lines if each.strip() and not each.startswith("#"))
    if not names:
        raise ConfigurationError(f"there are no names in {path}")
    return list(names)


def resolve(admin: SyncAdminClient, selectors: Sequence[Selector]) -> list[Resource]:
    """The resources that are meant, each once. A pattern that matches nothing is an error."""
    found: dict[Resource, None] = {}
    for each in selectors:
        if each.pattern is None:
            found.update(dict.fromkeys(each.resources))
            continue
        matched = [name for name in names_of(admin, each.type) if _is_meant(each, name)]
        if not matched:
            raise NothingMatches(f"{each.text} matches nothing")
        found.update(dict.fromkeys(Resource(each.type, name) for name in matched))
    return list(found)


def _is_meant(selector: Selector, name: str) -> bool:
    """Kafka's own topics are not met by chance: a pattern must begin with two underscores to mean them."""
    if selector.type is ResourceType.TOPIC and name in INTERNAL_TOPICS:
        return (selector.pattern or "").lstrip("/^").startswith("__") and selector.matches(name)
    return selector.matches(name)


def names_of(admin: SyncAdminClient, kind: ResourceType) -> list[str]:
    """All names of a type that a cluster knows, Kafka's own topics included."""
    match kind:
        case ResourceType.TOPIC:
            return list(admin.list_topics(internal=True))
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return [str(each) for each in sorted(admin.describe_cluster().nodes)]
        case ResourceType.GROUP:
            running = {each.name for each in admin.list_groups()}
            try:
                configured = {each.name for each in admin.list_config_resources([ResourceType.GROUP])}
            except UnsupportedVersion:
                configured = set()
            return sorted(running | configured)
        case _:
            return [each.name for each in admin.list_config_resources([kind])]


def add_quota_entity(parser: argparse.ArgumentParser) -> None:
    """Who a quota is for, by flags."""
    group = parser.add_argument_group("whom")
    words = (("user", "a user", "users"), ("client-id", "a client id", "client ids"), ("ip", "an address", "addresses"))
    for kind, one, many in words:
        either = group.add_mutually_exclusive_group()
        either.add_argument(f"--{kind}", metavar="NAME", help=f"{one}, by name")
        either.add_argument(f"--{kind}-default", action="store_true", help=f"the default of {many}")


def quota_entity(options: argparse.Namespace) -> QuotaEntity | None:
    """The entity that the flags name, or None where there are none."""
    from kconf.model.quota import CLIENT_ID, IP, USER, QuotaEntity

    parts: dict[str, str | None] = {}
    for kind in (USER, CLIENT_ID, IP):
        name = getattr(options, kind.replace("-", "_"))
        if name is not None:
            parts[kind] = name
        elif getattr(options, f"{kind.replace('-', '_')}_default"):
            parts[kind] = None
    if "" in parts.values():
        raise ConfigurationError("a quota entity has a name; for the default there is a flag, such as --user-default")
    if IP in parts and len(parts) > 1:
        raise ConfigurationError("an address has quotas of its own: --ip goes with neither --user nor --client-id")
    return QuotaEntity.of(parts) if parts else None
