"""What topics inherit from a changed broker level. Rules about topics use it, because they apply to that level too."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kconf.engine.configs.resolver import ConfigResolver
from kconf.model.resource import Overrides, Topic
from kconf.model.snapshot import Snapshot


@dataclass(frozen=True)
class TopicDefaults:
    """The broker levels before and after, of each broker that is planned for, and the topics at that moment."""

    levels: Sequence[tuple[ConfigResolver, ConfigResolver]]
    snapshot: Snapshot

    def keys(self, broker_keys: Collection[str]) -> frozenset[str]:
        """The topic keys that fall back on these broker keys."""
        return topic_keys(self.levels[0][0], frozenset(broker_keys))

    def inheriting(self, keys: Collection[str]) -> Iterator[tuple[Topic, Overrides]]:
        """The topics that have no value of their own for one of the keys."""
        for topic in self.snapshot.topics.values():
            overrides = self.snapshot.overrides(topic.resource)
            if any(key not in overrides for key in keys):
                yield topic, overrides


def topic_keys(resolver: ConfigResolver, broker_keys: frozenset[str]) -> frozenset[str]:
    found: Mapping[str, frozenset[str]] | None = resolver.memo.get("topic keys by fallback")
    if found is None:
        by_name: dict[str, set[str]] = {}
        for key in resolver.catalog.topic.values():
            for each in key.fallbacks:
                by_name.setdefault(each.name, set()).add(key.name)
        found = resolver.memo["topic keys by fallback"] = {name: frozenset(keys) for name, keys in by_name.items()}
    return frozenset(key for name in broker_keys for key in found.get(name, ()))
