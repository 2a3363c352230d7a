"""Records the creation, extension and deletion of topics. Topic ids and replicas are read from the cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kconf.client.calls.base import CallResult
from kconf.client.calls.topics import CreatePartitions, CreateTopics, DeleteTopics, DescribeTopics, TopicName
from kconf.client.journal.base import CallSequence, ItemChange, PlannedChangesRecorder
from kconf.client.journal.record_configs import read_entries
from kconf.errors import ApiError, ErrorCode, KconfError
from kconf.model.cluster import CreatedTopic, TopicDescription
from kconf.model.entry import own_source
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, Topic
from kconf.model.results import Results
from kconf.model.snapshot import encode_id, topic_to_json

IsDone = Callable[[TopicDescription], bool]
MAX_READS: Final = 7  # within about three seconds


class CreateTopicsRecorder:
    """Records a change for the topic, and one for each of its configs."""

    def __init__(self, call: CreateTopics) -> None:
        self.topics = call.topics

    def before(self) -> CallSequence[list[ItemChange]]:
        yield from ()
        found = []
        for name, topic in self.topics.items():
            resource = Resource.topic(name)
            partitions, replication = len(topic.assignment) or topic.partitions, topic.replication_factor
            wanted = json.dumps({"partitions": partitions, "replication": replication})
            found.append(ItemChange(name, Change(ChangeKind.TOPIC, resource, "", None, wanted, "create")))
            for key, value in dict(topic.configs).items():
                found.append(ItemChange(name, Change(ChangeKind.CONFIG, resource, key, None, value, "set")))
        return found

    def after(self, done: Sequence[ItemChange], result: Results[str, CreatedTopic]) -> CallSequence[list[Change]]:
        """Complete the changes. The ids are in the response, in case the brokers' metadata lags."""
        created = {str(each.item): result[str(each.item)] for each in done}

        def is_this(topic: TopicDescription) -> bool:
            return created[topic.name].topic_id.int in (0, topic.topic_id.int)  # zero for older brokers

        confirmed = [
            each._replace(change=each.change._replace(after=_as_created(each.change.after, created[str(each.item)])))
            if each.change.kind is ChangeKind.TOPIC
            else each
            for each in done
        ]
        return (yield from _as_described(confirmed, is_this))


class CreatePartitionsRecorder:
    def __init__(self, call: CreatePartitions) -> None:
        self.counts = call.counts

    def before(self) -> CallSequence[list[ItemChange]]:
        topics = yield from _topics(self.counts)
        return [
            ItemChange(
                name, Change(ChangeKind.TOPIC, Resource.topic(name), "", _text(topics.get(name)), wanted, "grow")
            )
            for name, count in self.counts.items()
            for wanted in [json.dumps({"partitions": count})]
        ]

    def after(self, done: Sequence[ItemChange], result: object) -> CallSequence[list[Change]]:
        return (yield from _as_described(done, lambda topic: len(topic.partitions) >= self.counts[topic.name]))


class DeleteTopicsRecorder(PlannedChangesRecorder):
    """Records a change for each override and one for the topic, since a new topic of that name has no configs."""

    def __init__(self, call: DeleteTopics) -> None:
        self.items = call.items

    def before(self) -> CallSequence[list[ItemChange]]:
        topics = yield from _topics(self.items)
        names = {item: Resource.topic(each.name) for item, each in topics.items()}
        entries = yield from read_entries(dict.fromkeys(names.values()))
        found = []
        for item, resource in names.items():
            own = own_source(resource)
            for name, entry in entries.get(resource, {}).items():
                if entry.source == own and not entry.sensitive:
                    deletion = Change(ChangeKind.CONFIG, resource, name, entry.value, None, "delete")
                    found.append(ItemChange(item, deletion))
            found.append(ItemChange(item, Change(ChangeKind.TOPIC, resource, "", _text(topics[item]), None, "delete")))
        return found


class AwaitTopics(DescribeTopics):
    """Describes topics until a broker shows the change, since its metadata may lag behind the controller."""

    def __init__(self, topics: Iterable[str], is_done: IsDone) -> None:
        super().__init__(topics)
        self._is_done = is_done
        self._reads_left = dict.fromkeys(self.items, MAX_READS)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[TopicName]) -> CallResult:
        result = super().read(version, frame, start, items)
        outcomes = dict(result.outcomes)
        for item in items:
            self._reads_left[item] -= 1
            if self._reads_left[item] > 0 and not self._shows(outcomes.get(item)):
                outcomes[item] = ApiError(ErrorCode.LEADER_NOT_AVAILABLE)  # retriable
        return result._replace(outcomes=outcomes)

    def _shows(self, outcome: TopicDescription | ApiError | None) -> bool:
        if isinstance(outcome, TopicDescription):
            return self._is_done(outcome)
        return outcome is not None and outcome.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _topics(names: Iterable[TopicName]) -> CallSequence[dict[TopicName, TopicDescription]]:
    wanted = list(names)
    return (yield from _found(DescribeTopics(wanted))) if wanted else {}


def _found(call: DescribeTopics) -> CallSequence[dict[TopicName, TopicDescription]]:
    """The topics that can be described."""
    try:
        found: Results[TopicName, TopicDescription] = yield call
    except KconfError:
        return {}
    return {name: found[name] for name in found if name not in found.failures}


def _as_described(done: Sequence[ItemChange], is_done: IsDone) -> CallSequence[list[Change]]:
    """The same changes, with the topics as the cluster describes them now."""
    names = dict.fromkeys(each.change.resource.name for each in done if each.change.kind is ChangeKind.TOPIC)
    topics = yield from _found(AwaitTopics(names, is_done))
    return [
        change._replace(after=_text(topics[name]))
        if change.kind is ChangeKind.TOPIC and (name := change.resource.name) in topics and is_done(topics[name])
        else change
        for _, change in done
    ]


def _as_created(wanted: str | None, topic: CreatedTopic) -> str:
    """The requested topic, with its id and default counts from the response."""
    facts = json.loads(wanted or "{}")
    if not isinstance(topic.details, ApiError):
        facts |= {"partitions": topic.num_partitions, "replication": topic.replication_factor}
    return json.dumps({"id": encode_id(topic.topic_id), **facts} if topic.topic_id.int else facts)


def _text(topic: TopicDescription | None) -> str | None:
    """A topic in the journal's format."""
    if topic is None:
        return None
    return topic_to_json(Topic(topic.name, topic.topic_id, tuple(each.replicas for each in topic.partitions)))
