"""How topics that are made, grown and deleted are recorded. Their ids and replicas are known to the cluster alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final
from uuid import UUID

from kconf.client.calls.base import CallResult
from kconf.client.calls.topics import CreatePartitions, CreateTopics, DeleteTopics, DescribeTopics
from kconf.client.journal.configs import Begun, Known, Script, described
from kconf.errors import ApiError, ErrorCode, KafkaError, Results
from kconf.model.cluster import CreatedTopic, TopicDescription
from kconf.model.entry import own_source
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, Topic
from kconf.model.snapshot import topic_to_json

Name = str | UUID
IsDone = Callable[[TopicDescription], bool]
LOOKS: Final = 7  # over some three seconds


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

    def after(self, done: Sequence[Begun], result: Results[str, CreatedTopic]) -> Script[list[Change]]:
        ids = {str(each.item): result[str(each.item)].topic_id for each in done}  # an old broker tells none: zero

        def is_this(topic: TopicDescription) -> bool:
            return ids[topic.name].int in (0, topic.topic_id.int)

        return (yield from _as_they_are(done, is_this))


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

    def after(self, done: Sequence[Begun], result: object) -> Script[list[Change]]:
        return (yield from _as_they_are(done, lambda topic: len(topic.partitions) >= self.counts[topic.name]))


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


class Awaited(DescribeTopics):
    """Topics as a broker shows them once it knows of what was done: its metadata may lag behind the controller."""

    def __init__(self, topics: Iterable[str], is_done: IsDone) -> None:
        super().__init__(topics)
        self._is_done = is_done
        self._looks = dict.fromkeys(self.items, LOOKS)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[Name]) -> CallResult:
        answer = super().read(version, frame, start, items)
        outcomes = dict(answer.outcomes)
        for item in items:
            self._looks[item] -= 1
            if self._looks[item] > 0 and not self._shows(outcomes.get(item)):
                outcomes[item] = ApiError(ErrorCode.LEADER_NOT_AVAILABLE)  # so that it is asked for again
        return answer._replace(outcomes=outcomes)

    def _shows(self, outcome: TopicDescription | ApiError | None) -> bool:
        if isinstance(outcome, TopicDescription):
            return self._is_done(outcome)
        return outcome is not None and outcome.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _topics(names: Iterable[Name]) -> Script[dict[Name, TopicDescription]]:
    wanted = list(names)
    return (yield from _found(DescribeTopics(wanted))) if wanted else {}


def _found(call: DescribeTopics) -> Script[dict[Name, TopicDescription]]:
    """The topics that can be described."""
    try:
        found: Results[Name, TopicDescription] = yield call
    except KafkaError:
        return {}
    return {name: found[name] for name in found if name not in found.failures}


def _as_they_are(done: Sequence[Begun], is_done: IsDone) -> Script[list[Change]]:
    """The same lines, with topics as the cluster tells them now."""
    names = dict.fromkeys(each.change.resource.name for each in done if each.change.kind is ChangeKind.TOPIC)
    topics = yield from _found(Awaited(names, is_done))
    return [
        change._replace(after=_text(topics[name]))
        if change.kind is ChangeKind.TOPIC and (name := change.resource.name) in topics and is_done(topics[name])
        else change
        for _, change in done
    ]


def _text(topic: TopicDescription | None) -> str | None:
    """A topic as the journal has it."""
    if topic is None:
        return None
    return topic_to_json(Topic(topic.name, topic.topic_id, tuple(each.replicas for each in topic.partitions)))
