"""The whole precedence of a config value (quotas: engine/quotas/precedence.py): every level that the cluster shows.

DescribeConfigs returns the levels that are set. Broker keys with another name and unit (log.retention.hours for
retention.ms) are added from the brokers' own configs, if all brokers agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kconf.configdef.sensitive import HIDDEN
from kconf.configdef.units import shown_value
from kconf.operations.planned_change import SOURCES

if TYPE_CHECKING:
    from kconf.configdef.key import ConfigKey
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.model.entry import Entry


@dataclass(frozen=True)
class Level:
    """A candidate: where it is set, under which key, and its value as text. The first one wins."""

    source: str
    key: str
    value: str | None
    shown: str
    wins: bool = False


def precedence(entry: Entry, key: ConfigKey | None, snapshot: ClusterSnapshot) -> list[Level]:
    if entry.synonyms:
        found = [_level(each.name, each.value, SOURCES[each.source], entry) for each in entry.synonyms]
    else:
        found = [_level(entry.name, entry.value, SOURCES[entry.source], entry)]
    named = {each.key for each in found}
    if key is not None and not entry.sensitive:
        found += [each for each in _weaker(key, snapshot, entry) if each.key not in named]
    return [Level(each.source, each.key, each.value, each.shown, place == 0) for place, each in enumerate(found)]


def _level(name: str, value: str | None, source: str, entry: Entry) -> Level:
    return Level(source, name, value, HIDDEN if entry.sensitive else shown_value(name, value))


def _weaker(key: ConfigKey, snapshot: ClusterSnapshot, entry: Entry) -> Iterator[Level]:
    for fallback in key.fallbacks:
        levels = set(_at_brokers(snapshot, fallback.name))
        if len(levels) == 1:
            value, source = levels.pop()
            if value is not None:
                yield _level(fallback.name, value, source, entry)


def _at_brokers(snapshot: ClusterSnapshot, name: str) -> Sequence[tuple[str | None, str]]:
    entries = (view.get(name) for view in snapshot.brokers)
    return [(each.value, SOURCES[each.source]) for each in entries if each is not None and not each.sensitive]
