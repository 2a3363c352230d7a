"""How topics that are made, grown and deleted are recorded. Their ids and replicas are known to the cluster alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from uuid import UUID

from kconf.client.calls_topics import CreatePartitions, CreateTopics, DeleteTopics, DescribeTopics
from kconf.client.recorders import Begun, Known, Script, described
from kconf.errors import KafkaError, Results
from kconf.model.cluster import TopicDescription
from kconf.model.entry import own_source
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, Topic
from kconf.model.snapshot import topic_to_json

Name = str | UUID


class CreatedTopics:
    """A line for the topic, and one for each of its configs."""

    def __init__(self, call: CreateTopics) -> None:
        self.wishes = call.wishes

    def before(self) -> Script[list[Begun]]:
        yield from ()
        found = []
        for name, wish in self.wishes.items():
            resource = Resource.topic(name)
            partitions, replication = len(wish.assignment) or wish.partitions, wish.replication_factor
            wanted = json.dumps({"partitions": partitions, "replication": replication})
            found.append(Begun(name, Change(ChangeKind.TOPIC, resource, "", None, wanted, "create")))
            for key, value in dict(wish.configs).items():
                found.append(Begun(name, Change(ChangeKind.CONFIG, resource, key, None, value, "set")))
        return found

    def after(self, done: Sequence[Begun]) -> Script[list[Change]]:
        return (yield from _as_they_are(done))


class GrownTopics:
    def __init__(self, call: CreatePartitions) -> None:
        self.counts = call.counts

    def before(self) -> Script[list[Begun]]:
        topics = yield from _topics(self.counts)
        return [
            Begun(name, Change(ChangeKind.TOPIC, Resource.topic(name), "", _text(topics.get(name)), wanted, "grow"))
            for name, count in self.counts.items()
            for wanted in [json.dumps({"partitions": count})]
        ]

    def after(self, done: Sequence[Begun]) -> Script[list[Change]]:
        return (yield from _as_they_are(done))


class DeletedTopics(Known):
    """A line for each override, and one for the topic: what is made again under its name inherits nothing."""

    def __init__(self, call: DeleteTopics) -> None:
        self.items = call.items

    def before(self) -> Script[list[Begun]]:
        topics = yield from _topics(self.items)
        names = {item: Resource.topic(each.name) for item, each in topics.items()}
        entries = yield from described(dict.fromkeys(names.values()))
        found = []
        for item, resource in names.items():
            own = own_source(resource)
            for name, entry in entries.get(resource, {}).items():
                if entry.source == own and not entry.sensitive:
                    gone = Change(ChangeKind.CONFIG, resource, name, entry.value, None, "delete")
                    found.append(Begun(item, gone))
            found.append(Begun(item, Change(ChangeKind.TOPIC, resource, "", _text(topics[item]), None, "delete")))
        return found


def _topics(names: Iterable[Name]) -> Script[dict[Name, TopicDescription]]:
    wanted = list(names)
    if not wanted:
        return {}
    try:
        found: Results[Name, TopicDescription] = yield DescribeTopics(wanted)
    except KafkaError:
        return {}
    return {name: found[name] for name in found if name not in found.failures}


def _as_they_are(done: Sequence[Begun]) -> Script[list[Change]]:
    """The same lines, with topics as the cluster tells them now."""
    topics = yield from _topics(dict.fromkeys(str(each.item) for each in done if each.change.kind is ChangeKind.TOPIC))
    return [
        change._replace(after=_text(topics[name]))
        if change.kind is ChangeKind.TOPIC and (name := change.resource.name) in topics
        else change
        for _, change in done
    ]


def _text(topic: TopicDescription | None) -> str | None:
    """A topic as the journal has it."""
    if topic is None:
        return None
    return topic_to_json(Topic(topic.name, topic.topic_id, tuple(each.replicas for each in topic.partitions)))
