"""Compares the state with what was read from a broker: which changes were made, and whether the broker lags.

The functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kconf.client.kraft.image import MetadataImage
from kconf.client.kraft.image_difference import difference
from kconf.configdef.lookup import known_key
from kconf.configdef.validate import normalize
from kconf.model.journal import Change, ChangeKind, Revision
from kconf.model.resource import Overrides, Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot, topic_to_json
from kconf.store.upstream.authors.in_flight import NOTHING_IN_FLIGHT, KeysInFlight
from kconf.store.upstream.polling.reading import HIDDEN, Reading

_SHOWN_AS_PARSED: Final = frozenset(
    {ResourceType.TOPIC, ResourceType.BROKER, ResourceType.CLIENT_METRICS, ResourceType.GROUP}
)

Name = tuple[Resource, str]
"""A resource and a key; "" is the topic itself."""


def changes_to(snapshot: Snapshot, reading: Reading, held: KeysInFlight = NOTHING_IN_FLIGHT) -> list[list[Change]]:
    """The changes since the snapshot, without those that a request in flight may have made. Each list is a revision.

    A revision has one change, so that it has one author. A deleted topic and its configs are one revision.
    """
    names = list(_differing(snapshot, reading))
    if not names:
        return []
    before = _image(
        {each.name: snapshot.topics.get(each.name) for each in names if each.type is ResourceType.TOPIC},
        {each: snapshot.overrides(each) for each in names},
    )
    after = _image(
        {
            each.name: reading.topics.get(each.name, snapshot.topics.get(each.name))
            for each in names
            if each.type is ResourceType.TOPIC
        },
        {each: _shown(snapshot, reading, each) for each in names},
    )
    return list(_revisions(_without(held, difference(before, after))))


def _without(held: KeysInFlight, changes: Iterable[Change]) -> list[Change]:
    """The changes that are not held back. If the creation, extension or deletion of a topic is held back, so are all
    changes of its configs.
    """
    found = list(changes)
    whole = {each.resource for each in found if each.kind is ChangeKind.TOPIC and held.concern(each)}
    return [each for each in found if each.resource not in whole and not held.concern(each)]


def _differing(snapshot: Snapshot, reading: Reading) -> Iterator[Resource]:
    """The resources that differ."""
    seen = set()
    for name, topic in reading.topics.items():
        if snapshot.topics.get(name) != topic:
            seen.add(Resource.topic(name))
    for resource, values in reading.configs.items():
        if snapshot.overrides(resource) != values:
            seen.add(resource)
    yield from seen


def _shown(snapshot: Snapshot, reading: Reading, resource: Resource) -> Overrides:
    """The values of a resource in the reading, or those of the state if the broker did not show them."""
    if resource.type is ResourceType.TOPIC and reading.topics.get(resource.name, False) is None:
        return {}
    return reading.configs.get(resource, snapshot.overrides(resource))


def _image(topics: Mapping[str, Topic | None], configs: Mapping[Resource, Overrides]) -> MetadataImage:
    hidden = {
        (resource, key): value.encode()
        for resource, values in configs.items()
        for key, value in values.items()
        if is_hidden(resource, value)
    }
    return MetadataImage.restore(
        [each for each in topics.values() if each is not None],
        {resource: dict(values) for resource, values in configs.items() if values},
        {},
        hidden,
    )


def about_known(reading: Reading, snapshot: Snapshot) -> Reading:
    """A reading of resources that were requested by name, without refusals of those that may not exist."""
    refused = {
        each: failure
        for each, failure in reading.refused.items()
        if each in snapshot.configs
        or (each.type is ResourceType.TOPIC and (each.name in snapshot.topics or reading.topics.get(each.name)))
    }
    return reading._replace(refused=refused)


def is_hidden(resource: Resource, value: str) -> bool:
    """Whether a value is the placeholder of a sensitive one."""
    return resource.type is ResourceType.SCRAM or value == HIDDEN


def _revisions(changes: Iterable[Change]) -> Iterator[list[Change]]:
    deleted: list[Change] = []
    changes = list(changes)
    going = {each.resource for each in changes if each.kind is ChangeKind.TOPIC and each.after is None}
    for change in changes:
        if change.resource in going and change.after is None:
            deleted.append(change)
            if change.kind is ChangeKind.TOPIC:
                yield deleted
                deleted = []
        else:
            yield [change]


def shown_value(change: Change) -> str | None:
    """What a broker shows for the new value of a change: the parsed value."""
    key = known_key(change.resource.type, change.key) if change.resource.type in _SHOWN_AS_PARSED else None
    return change.after if key is None or change.after is None else normalize(key, change.after)


class RecentChanges:
    """Recent values, with which a lagging broker is detected.

    A lagging broker shows a value from before a recent change. `window` is in seconds.
    """

    def __init__(self, window: float) -> None:
        self._window = window
        self._former: dict[Name, dict[str | None, float]] = {}  # former values, and when they were replaced

    def add(self, revision: Revision, now: float) -> None:
        for change in revision.changes:
            self._former.setdefault((change.resource, change.key), {})[change.before] = now
        if len(self._former) > _MANY:
            self._forget(now)

    def _forget(self, now: float) -> None:
        recent = {
            name: {value: at for value, at in values.items() if now - at < self._window}
            for name, values in self._former.items()
        }
        self._former = {name: values for name, values in recent.items() if values}

    def older(self, snapshot: Snapshot, reading: Reading, now: float) -> Name | None:
        """A key for which the reading has a value from before a recent change, or None."""
        self._forget(now)
        for (resource, key), values in self._former.items():
            is_read, shown, current = _value(snapshot, reading, resource, key)
            if is_read and shown != current and shown in values:
                return resource, key
        return None


_MANY: Final = 50_000


def _value(snapshot: Snapshot, reading: Reading, resource: Resource, key: str) -> tuple[bool, str | None, str | None]:
    """Whether the reading has a key, its value there, and its value in the state."""
    if not key and resource.type is ResourceType.TOPIC:
        shown, current = reading.topics.get(resource.name), snapshot.topics.get(resource.name)
        text = [None if each is None else topic_to_json(each) for each in (shown, current)]
        return resource.name in reading.topics, text[0], text[1]
    is_read = resource in reading.configs or (
        resource.type is ResourceType.TOPIC and reading.topics.get(resource.name, False) is None
    )
    return is_read, reading.configs.get(resource, {}).get(key), snapshot.overrides(resource).get(key)
