"""The history of a key: in which releases it was added, changed and removed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from kconf.configdef.key import ConfigKey
from kconf.configdef.releases.catalogs import catalog_of
from kconf.configdef.releases.data import BASE, COMPLETE, RELEASES, release_data
from kconf.model.resource import ResourceType

_KINDS: Final = {
    ResourceType.TOPIC: "topic",
    ResourceType.BROKER: "broker",
    ResourceType.GROUP: "group",
    ResourceType.CLIENT_METRICS: "client_metrics",
}


class KeyChange(NamedTuple):
    """A change in a release. `what` is type, default, range, update or required. None means no default or no bounds."""

    release: str
    what: str
    before: str | None
    after: str | None


class KeyHistory(NamedTuple):
    """`since` and `until` are the first and last release with the key, or None if it is older, or still exists."""

    since: str | None
    until: str | None
    changes: tuple[KeyChange, ...]

    @property
    def span(self) -> str:
        """`since 4.1`, `up to 3.9`, `from 4.1 to 4.2`, or empty if every known release has the key."""
        if self.since and self.until:
            return f"from {self.since} to {self.until}"
        return f"since {self.since}" if self.since else f"up to {self.until}" if self.until else ""


@cache
def newer_keys(kind: ResourceType) -> Mapping[str, ConfigKey]:
    """The known keys of a resource type that exist only after the base release."""
    word = _KINDS.get(kind)
    newer = RELEASES[RELEASES.index(BASE) + 1 :]
    if word is None:
        return {}
    return {name: catalog_of(each).of(kind)[name] for each in newer for name in release_data(each).added.get(word, {})}


def key_in(kind: ResourceType, name: str, release: str) -> ConfigKey | None:
    """The definition of a key in a release, or None if it does not have the key."""
    return catalog_of(release).of(kind).get(name)


def history_of(kind: ResourceType, name: str) -> KeyHistory | None:
    """The history of a key over all releases with complete data, or None if no release has it. Includes newer keys."""
    if kind not in _KINDS:
        return None
    found = {each: key_in(kind, name, each) for each in RELEASES}
    having = [each for each in COMPLETE if found[each] is not None]
    if not having:
        later = [each for each in RELEASES if found[each] is not None]
        return KeyHistory(later[0], None, ()) if later else None
    since = None if having[0] == COMPLETE[0] else having[0]
    until = None if having[-1] == COMPLETE[-1] else having[-1]
    changes = [change for older, newer in pairwise(having) for change in _changes(newer, found[older], found[newer])]
    return KeyHistory(since, until, (*changes, *_later(kind, name)))


def _later(kind: ResourceType, name: str) -> list[KeyChange]:
    """Changes in later releases that are certain from their client jars."""
    base, newest = key_in(kind, name, BASE), RELEASES[-1]
    named = release_data(newest).changed.get(_KINDS[kind], {})
    return _changes(newest, base, key_in(kind, name, newest)) if base is not None and name in named else []


def _changes(release: str, older: ConfigKey | None, newer: ConfigKey | None) -> list[KeyChange]:
    if older is None or newer is None:
        return []
    before, after = _facts(older), _facts(newer)
    return [KeyChange(release, what, before[what], after[what]) for what in before if before[what] != after[what]]


def _facts(key: ConfigKey) -> dict[str, str | None]:
    return {
        "type": key.type.name.lower(),
        "default": key.default,
        "range": None if key.validator is None else str(key.validator),
        "update": None if key.mode is None else str(key.mode),
        "required": "yes" if key.required else "no",
        "internal": "yes" if key.internal else "no",
    }
