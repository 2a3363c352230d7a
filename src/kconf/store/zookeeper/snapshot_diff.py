"""The changes between two snapshots, as in the journal."""

from __future__ import annotations

from collections.abc import Iterator

from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Overrides, Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot, topic_to_json
from kconf.store.sensitive import is_sensitive


def diff_snapshots(before: Snapshot, after: Snapshot) -> list[Change]:
    resources = {Resource.topic(name) for name in {*before.topics, *after.topics}} | {*before.configs, *after.configs}
    return [change for each in sorted(resources) for change in diff_resource(each, before, after)]


def diff_resource(resource: Resource, before: Snapshot, after: Snapshot) -> Iterator[Change]:
    if resource.type == ResourceType.TOPIC:
        yield from diff_topic(resource, before.topics.get(resource.name), after.topics.get(resource.name))
    yield from diff_overrides(resource, before.overrides(resource), after.overrides(resource))


def diff_topic(resource: Resource, before: Topic | None, after: Topic | None) -> Iterator[Change]:
    if before != after:
        op = "create" if before is None else "delete" if after is None else "grow"
        old, new = (None if each is None else topic_to_json(each) for each in (before, after))
        yield Change(ChangeKind.TOPIC, resource, "", old, new, op)


def diff_overrides(resource: Resource, before: Overrides, after: Overrides) -> Iterator[Change]:
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old != new:
            op = "delete" if new is None else "set"
            yield Change(ChangeKind.CONFIG, resource, key, old, new, op, sensitive=is_sensitive(resource, key))
