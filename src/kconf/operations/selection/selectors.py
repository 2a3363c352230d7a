"""Resources as arguments: `topic:orders`, `topic:'logs.*'`, `topic:/re/`, `topic:@names.txt`, `broker:default`.

A glob matches the whole name, a regular expression any part of it, as in policy rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.client.contexts.context import is_glob
from kconf.errors import ConfigurationError, UnsupportedVersion
from kconf.model.resource import INTERNAL_TOPICS, Resource, ResourceType

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient

TYPES: Final = {
    "topic": ResourceType.TOPIC,
    "broker": ResourceType.BROKER,
    "group": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
    "broker-logger": ResourceType.BROKER_LOGGER,
}
BROKERS: Final = "brokers"
"""The name of `broker:default` in tables."""
NUMBERED: Final = (ResourceType.BROKER, ResourceType.BROKER_LOGGER)

ReadText = Callable[[], str]
"""Reads the names of `topic:@-`."""


class NothingMatches(ConfigurationError):
    """A pattern that matches nothing on a cluster."""


class Selector(NamedTuple):
    """Resources of one type: those in `names`, or those that match `pattern`."""

    text: str
    type: ResourceType
    names: tuple[str, ...] = ()
    pattern: str | None = None

    @property
    def is_one(self) -> bool:
        """Whether it is one named resource. A default is not, because it applies to many."""
        return self.pattern is None and len(self.names) == 1 and self.names != ("",)

    @property
    def resources(self) -> list[Resource]:
        """The named resources, without those that match a pattern."""
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


def is_selector(argument: str) -> bool:
    """Whether an argument is a selector: it begins with a resource type."""
    return argument == BROKERS or (argument.partition(":")[0] in TYPES and ":" in argument)


def parse_selector(argument: str, stdin: ReadText | None = None) -> Selector:
    """Parse an argument; `stdin` reads the names of `@-`, if that is allowed."""
    kind_word, colon, name = ("broker:default" if argument == BROKERS else argument).partition(":")
    kind = TYPES.get(kind_word)
    if kind is None or not colon:
        raise ConfigurationError(_no_resource(argument))
    if not name:
        raise ConfigurationError(f"{argument!r} has no name after the colon")
    if name.startswith("@"):
        return Selector(argument, kind, tuple(_checked(kind, each) for each in _names_in(name[1:], stdin)), None)
    if is_regex(name):
        _check_regex(argument, name)
        return Selector(argument, kind, (), name)
    if is_glob(name):
        return Selector(argument, kind, (), name)
    return Selector(argument, kind, (_checked(kind, name),))


def _no_resource(argument: str) -> str:
    """Why it is not a selector, with a suggestion."""
    from difflib import get_close_matches

    kind, colon, name = argument.partition(":")
    near = get_close_matches(kind, TYPES, 1) if colon else []
    if near:
        return f"{kind!r} is not a resource type; did you mean {near[0]}:{name}?"
    first = "topic:NAME" if colon or argument in TYPES else f"topic:{argument}"
    return f"{argument!r} is not a resource; use {', '.join([first, *(f'{each}:NAME' for each in list(TYPES)[1:])])}"


def parse_selectors(arguments: Iterable[str], stdin: ReadText | None = None) -> list[Selector]:
    return [parse_selector(each, stdin) for each in arguments]


def is_one_resource(selectors: Sequence[Selector]) -> bool:
    """Whether it is one named resource, which is changed without confirmation."""
    return len(selectors) == 1 and selectors[0].is_one


def _checked(kind: ResourceType, name: str) -> str:
    if kind not in NUMBERED:
        return name
    if name == "default" and kind is ResourceType.BROKER:
        return ""
    if not (name.isascii() and name.isdigit() and len(name) < 11):
        words = "a number, default or *" if kind is ResourceType.BROKER else "a number or *"
        raise ConfigurationError(f"a broker must be {words}, not {name!r}")
    return str(int(name))


def _check_regex(argument: str, pattern: str) -> None:
    import re

    try:
        re.compile(pattern[1:-1])
    except re.error as error:
        raise ConfigurationError(f"{argument!r} is not a regular expression: {error}") from None


def _names_in(path: str, stdin: ReadText | None) -> list[str]:
    """One name per line, without duplicates; empty lines and lines that begin with # are ignored."""
    try:
        if path == "-" and stdin is not None:
            lines = stdin().splitlines()
        else:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"cannot read the names in {path}: {reason}") from None
    names = dict.fromkeys(each.strip() for each in lines if each.strip() and not each.startswith("#"))
    if not names:
        raise ConfigurationError(f"no names in {path}")
    return list(names)


def resolve(admin: SyncAdminClient, selectors: Sequence[Selector]) -> list[Resource]:
    """The selected resources, without duplicates. A pattern that matches nothing is an error."""
    found: dict[Resource, None] = {}
    for each in selectors:
        if each.pattern is None:
            found.update(dict.fromkeys(each.resources))
            continue
        matched = [name for name in names_of(admin, each.type) if _is_selected(each, name)]
        if not matched:
            raise NothingMatches(f"{each.text} matches nothing")
        found.update(dict.fromkeys(Resource(each.type, name) for name in matched))
    return list(found)


def _is_selected(selector: Selector, name: str) -> bool:
    """Whether a name is selected. Internal topics match only a pattern that begins with two underscores."""
    if selector.type is ResourceType.TOPIC and name in INTERNAL_TOPICS:
        return (selector.pattern or "").lstrip("/^").startswith("__") and selector.matches(name)
    return selector.matches(name)


def names_of(admin: SyncAdminClient, kind: ResourceType) -> list[str]:
    """All names of a resource type on a cluster, including internal topics."""
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
