"""The differences between two images of a cluster: all that is known about a part of the log that was deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kconf.client.kraft.image import MetadataImage
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType, Topic
from kconf.model.snapshot import topic_to_json


def difference(old: MetadataImage, new: MetadataImage) -> Iterator[Change]:
    """The changes from one image to another, in a possible order.

    A topic is created before its configs are set, and its configs are removed before it is deleted. A topic with
    another id was deleted and created again.
    """
    for name in sorted({*old.topics, *new.topics}):
        yield from _topic(name, old, new)
    for resource in sorted({*old.configs, *new.configs}):
        if resource.type is not ResourceType.TOPIC:
            yield from _values(resource, old, new)


def _topic(name: str, old: MetadataImage, new: MetadataImage) -> Iterator[Change]:
    one, other, resource = old.topics.get(name), new.topics.get(name), Resource.topic(name)
    if one is not None and other is not None and one.id == other.id:
        if one != other:
            op = "grow" if other.partitions > one.partitions else "reassign"
            yield _topic_change(resource, one, other, op)
        yield from _values(resource, old, new)
        return
    nothing = MetadataImage()
    if one is not None:
        yield from _values(resource, old, nothing)
        yield _topic_change(resource, one, None, "delete")
    if other is not None:
        yield _topic_change(resource, None, other, "create")
        yield from _values(resource, nothing, new)


def _topic_change(resource: Resource, one: Topic | None, other: Topic | None, op: str) -> Change:
    before, after = (None if each is None else topic_to_json(each) for each in (one, other))
    return Change(ChangeKind.TOPIC, resource, "", before, after, op)


def _values(resource: Resource, old: MetadataImage, new: MetadataImage) -> Iterator[Change]:
    keys: Iterable[str] = {*old.overrides(resource), *new.overrides(resource)}
    for key in sorted(keys):
        change = _value(old, new, resource, key)
        if change is not None:
            yield change


def _value(old: MetadataImage, new: MetadataImage, resource: Resource, key: str) -> Change | None:
    before, after = old.overrides(resource).get(key), new.overrides(resource).get(key)
    is_sensitive = old.is_sensitive(resource, key) or new.is_sensitive(resource, key)
    if is_sensitive and before is not None and after is not None:
        known = old.digest(resource, key)
        if known is None or known == new.digest(resource, key):  # equal or unknown
            new.configs[resource][key] = before
            return None
    if before == after:
        return None
    return Change(ChangeKind.CONFIG, resource, key, before, after, "delete" if after is None else "set", is_sensitive)
