"""The state at one revision.

A snapshot is immutable: `apply` returns the next one, which shares unchanged data.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar
from uuid import UUID

from immutables import Map

from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import NO_OVERRIDES, Overrides, Resource, ResourceType, Topic
from kconf.util.slices import in_slices


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All topics and overrides. `changed` has the revision of each resource's last change.

    `topic_ids` and `metric_names` are derived from `topics`; `Snapshot.of` creates them.
    """

    EMPTY: ClassVar[Snapshot]

    revision: int = 0
    topics: Map[str, Topic] = Map()  # noqa: RUF009 – immutable
    topic_ids: Map[UUID, str] = Map()  # noqa: RUF009
    metric_names: Map[str, frozenset[str]] = Map()  # noqa: RUF009 – topics with '.' or '_', by their metric name
    configs: Map[Resource, Overrides] = field(default=Map(), repr=False)  # contains secrets
    changed: Map[Resource, int] = Map()  # noqa: RUF009

    @classmethod
    def of(
        cls, revision: int, topics: Map[str, Topic], configs: Map[Resource, Overrides], changed: Map[Resource, int]
    ) -> Snapshot:
        """A snapshot from the contents of a store."""
        metric_names: dict[str, frozenset[str]] = {}
        for name in topics:
            if "." in name or "_" in name:
                metric_names[metric_name(name)] = metric_names.get(metric_name(name), frozenset()) | {name}
        ids = Map({topic.id: name for name, topic in topics.items()})
        return cls(revision, topics, ids, Map(metric_names), configs, changed)

    def colliding_topic(self, name: str) -> str | None:
        """Another topic with the same metric name, in which '.' becomes '_'."""
        same = self.metric_names.get(metric_name(name), frozenset()) - {name}
        return min(same) if same else None

    def overrides(self, resource: Resource) -> Overrides:
        return self.configs.get(resource, NO_OVERRIDES)

    def names(self, kind: ResourceType) -> list[str]:
        """The names of the resources of one type that have overrides."""
        return sorted(resource.name for resource in in_slices(self.configs) if resource.type == kind)

    def apply(self, changes: Sequence[Change], revision: int) -> Snapshot:
        """The snapshot after one committed revision."""
        known: _Topics | None = None
        configs, changed = self.configs, self.changed
        moved: dict[Resource, dict[str, str]] = {}
        for change in in_slices(changes):
            resource = change.resource
            if change.kind is ChangeKind.CONFIG:
                values = moved.get(resource)
                if values is None:
                    values = moved[resource] = dict(configs.get(resource, NO_OVERRIDES))
                if change.after is None:
                    values.pop(change.key, None)
                else:
                    values[change.key] = change.after
            else:
                moved.setdefault(resource, dict(configs.get(resource, NO_OVERRIDES)))
                known = known or _Topics(self)
                known.apply(change)
        new_configs, new_changed = configs.mutate(), changed.mutate()
        for resource, values in in_slices(moved.items()):
            if values:
                new_configs[resource] = values
            else:
                new_configs.pop(resource, None)
            new_changed[resource] = revision
        topics = (self.topics, self.topic_ids, self.metric_names) if known is None else known.finish()
        return Snapshot(revision, *topics, new_configs.finish(), new_changed.finish())


Snapshot.EMPTY = Snapshot()


def metric_name(name: str) -> str:
    """The name of a topic in metrics. Kafka refuses a topic with the metric name of another one."""
    return name.replace(".", "_")


class _Topics:
    """The three maps of topics while changes are applied."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._topics, self._ids = snapshot.topics.mutate(), snapshot.topic_ids.mutate()
        self._metric_names = snapshot.metric_names.mutate()

    def apply(self, change: Change) -> None:
        name = change.resource.name
        old = self._topics.get(name)
        if old is not None:
            del self._ids[old.id]
        if change.after is None:
            del self._topics[name]
            self._forget_metric_name(name)
            return
        topic = topic_from_json(name, change.after)
        if old is None and ("." in name or "_" in name):
            same = self._metric_names.get(metric_name(name), frozenset())
            self._metric_names[metric_name(name)] = same | {name}
        self._topics[name] = topic
        self._ids[topic.id] = name

    def _forget_metric_name(self, name: str) -> None:
        left = self._metric_names.get(metric_name(name), frozenset()) - {name}
        if left:
            self._metric_names[metric_name(name)] = left
        else:
            self._metric_names.pop(metric_name(name), None)

    def finish(self) -> tuple[Map[str, Topic], Map[UUID, str], Map[str, frozenset[str]]]:
        return self._topics.finish(), self._ids.finish(), self._metric_names.finish()


def topic_to_json(topic: Topic) -> str:
    """A topic as in the journal: its id in Kafka's base64, and the replicas of each partition."""
    return json.dumps({"id": encode_id(topic.id), "replicas": topic.replicas}, separators=(",", ":"))


def topic_from_json(name: str, text: str) -> Topic:
    facts = json.loads(text)
    return Topic(name, decode_id(facts["id"]), tuple(tuple(each) for each in facts["replicas"]))


def encode_id(value: UUID) -> str:
    return urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def decode_id(text: str) -> UUID:
    return UUID(bytes=urlsafe_b64decode(text + "=="))


def replay(revisions: Iterable[tuple[int, Sequence[Change]]], start: Snapshot = Snapshot.EMPTY) -> Snapshot:
    """Apply committed changes to a snapshot."""
    for number, changes in revisions:
        start = start.apply(changes, number)
    return start
