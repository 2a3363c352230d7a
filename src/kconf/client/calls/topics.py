"""Topics: make, delete, grow, list, describe. The first three are the controller's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from kconf.client.calls.base import CONTROLLER, CallResult, ClusterCall, NodeVersions, PerItemCall, distinct, failure
from kconf.client.calls.cluster import operations_of
from kconf.client.calls.describe_decoder import source_of
from kconf.errors import ApiError, ErrorCode
from kconf.model.alteration import NewTopic
from kconf.model.cluster import CreatedTopic, PartitionDescription, TopicDescription, TopicListing
from kconf.model.entry import Entry, View

TopicName = str | UUID


class CreateTopics(PerItemCall[str, CreatedTopic]):
    name = "CreateTopics"
    route = CONTROLLER
    repeatable = False

    def __init__(self, topics: Iterable[NewTopic | str], *, timeout_ms: int, validate_only: bool = False) -> None:
        wishes = [NewTopic(each) if isinstance(each, str) else each for each in topics]
        super().__init__(distinct((each.name for each in wishes), "a topic"))
        self.wishes = {each.name: each for each in wishes}
        self._timeout_ms, self.validate_only = timeout_ms, validate_only
        self.repeatable = validate_only
        if any(not each.assignment and -1 in (each.partitions, each.replication_factor) for each in wishes):
            self.least = 4
            self.advice = "before Kafka 2.4 partitions and replication factor must be given"
        elif validate_only:
            self.least = 1

    def write(self, peer: NodeVersions, version: int, items: Sequence[str]) -> object:
        from kconf.protocol.messages.create_topics import (
            CreatableReplicaAssignment,
            CreatableTopic,
            CreatableTopicConfig,
            CreateTopicsRequest,
        )

        topics = [
            CreatableTopic(
                wish.name,
                wish.partitions,
                wish.replication_factor,
                [CreatableReplicaAssignment(partition, list(ids)) for partition, ids in wish.assignment],
                [CreatableTopicConfig(key, value) for key, value in dict(wish.configs).items()],
            )
            for wish in (self.wishes[name] for name in items)
        ]
        return CreateTopicsRequest(topics, self._timeout_ms, self.validate_only)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[str]) -> CallResult:
        body = self.body(version, frame, start)
        outcomes = {
            each.name: failure(each.error_code, each.error_message) if each.error_code else _created(each)
            for each in body.topics
        }
        return CallResult(outcomes, body.throttle_time_ms)


def _created(told: Any) -> CreatedTopic:
    """KIP-525. A caller who may not describe configs gets none, and no counts (`topic_config_error_code`)."""
    topic_id = UUID(bytes=told.topic_id)
    if told.topic_config_error_code or told.num_partitions < 0:
        return CreatedTopic(told.name, topic_id)
    entries = sorted(
        (
            Entry(
                each.name,
                each.value,
                source_of(each.config_source),
                read_only=each.read_only,
                sensitive=each.is_sensitive,
            )
            for each in told.configs or ()
        ),
        key=lambda entry: entry.name,
    )
    return CreatedTopic(told.name, topic_id, told.num_partitions, told.replication_factor, View(tuple(entries)))


class DeleteTopics(PerItemCall[TopicName, None]):
    """By name or by id."""

    name = "DeleteTopics"
    route = CONTROLLER
    repeatable = False

    def __init__(self, topics: Iterable[TopicName], *, timeout_ms: int) -> None:
        super().__init__(distinct(topics, "a topic"))
        self._timeout_ms = timeout_ms
        if any(isinstance(each, UUID) for each in self.items):
            self.least = 6
            self.advice = "topics can be deleted by id from Kafka 2.8 on"

    def group(self, item: TopicName) -> bool:
        return isinstance(item, UUID)  # so that an answer, which has both, is for one of them

    def write(self, peer: NodeVersions, version: int, items: Sequence[TopicName]) -> object:
        from kconf.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

        states = [
            DeleteTopicState(None, each.bytes) if isinstance(each, UUID) else DeleteTopicState(each) for each in items
        ]
        return DeleteTopicsRequest(states, [each for each in items if isinstance(each, str)], self._timeout_ms)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[TopicName]) -> CallResult:
        body = self.body(version, frame, start)
        asked = set(items)
        outcomes: dict[TopicName, ApiError | None] = {}
        for each in body.responses:
            topic_id = UUID(bytes=each.topic_id)
            key = topic_id if topic_id in asked else each.name
            outcomes[key] = failure(each.error_code, each.error_message) if each.error_code else None
        return CallResult(outcomes, body.throttle_time_ms)


class CreatePartitions(PerItemCall[str, None]):
    """`counts` has the number of partitions that a topic shall have in the end."""

    name = "CreatePartitions"
    route = CONTROLLER

    def __init__(
        self,
        counts: Mapping[str, int],
        *,
        timeout_ms: int,
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        validate_only: bool = False,
    ) -> None:
        super().__init__(counts)
        self.counts, self._assignments = counts, assignments or {}
        self._timeout_ms, self.validate_only = timeout_ms, validate_only
        self.repeatable = validate_only

    def write(self, peer: NodeVersions, version: int, items: Sequence[str]) -> object:
        from kconf.protocol.messages.create_partitions import (
            CreatePartitionsAssignment,
            CreatePartitionsRequest,
            CreatePartitionsTopic,
        )

        topics = []
        for name in items:
            given = self._assignments.get(name)
            rows = None if given is None else [CreatePartitionsAssignment(list(ids)) for ids in given]
            topics.append(CreatePartitionsTopic(name, self.counts[name], rows))
        return CreatePartitionsRequest(topics, self._timeout_ms, self.validate_only)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[str]) -> CallResult:
        body = self.body(version, frame, start)
        outcomes = {
            each.name: failure(each.error_code, each.error_message) if each.error_code else None
            for each in body.results
        }
        return CallResult(outcomes, body.throttle_time_ms)


class ListTopics(ClusterCall[dict[str, TopicListing]]):
    name = "Metadata"

    def __init__(self, *, internal: bool = False) -> None:
        super().__init__()
        self._internal = internal

    def write(self, peer: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.metadata import MetadataRequest

        return MetadataRequest(None if version else [], allow_auto_topic_creation=False)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: failure(body.error_code, None)})
        found = {
            each.name: TopicListing(
                each.name, UUID(bytes=each.topic_id), each.is_internal, len(each.partitions), _replication(each)
            )
            for each in body.topics
            if each.name is not None and (self._internal or not each.is_internal)
        }
        return CallResult({None: {name: found[name] for name in sorted(found)}}, body.throttle_time_ms)


def _replication(told: Any) -> int:
    return len(told.partitions[0].replica_nodes) if told.partitions else 0


class DescribeTopics(PerItemCall[TopicName, TopicDescription]):
    name = "Metadata"

    def __init__(self, topics: Iterable[TopicName], *, authorized_operations: bool = False) -> None:
        super().__init__(dict.fromkeys(topics))
        self._operations = authorized_operations
        if any(isinstance(each, UUID) for each in self.items):
            self.least = 12
            self.advice = "topics can be described by id from Kafka 3.1 on"

    def group(self, item: TopicName) -> bool:
        return isinstance(item, UUID)  # a broker overlooks names in a request that has ids

    def write(self, peer: NodeVersions, version: int, items: Sequence[TopicName]) -> object:
        from kconf.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

        topics = [
            MetadataRequestTopic(each.bytes, None) if isinstance(each, UUID) else MetadataRequestTopic(name=each)
            for each in items
        ]
        return MetadataRequest(topics, False, include_topic_authorized_operations=self._operations)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[TopicName]) -> CallResult:
        body = self.body(version, frame, start)
        asked = set(items)
        outcomes: dict[TopicName, TopicDescription | ApiError] = {}
        for each in body.topics:
            topic_id = UUID(bytes=each.topic_id)
            key = topic_id if topic_id in asked else each.name
            outcomes[key] = _described(each, topic_id)
        return CallResult(outcomes, body.throttle_time_ms)


def _described(told: Any, topic_id: UUID) -> TopicDescription | ApiError:
    if told.error_code and told.error_code != ErrorCode.LEADER_NOT_AVAILABLE:
        return failure(told.error_code, None)
    partitions = tuple(
        PartitionDescription(
            each.partition_index,
            each.leader_id if each.leader_id >= 0 else None,
            tuple(each.replica_nodes),
            tuple(each.isr_nodes),
            tuple(each.offline_replicas),
        )
        for each in sorted(told.partitions, key=lambda each: each.partition_index)
    )
    operations = operations_of(told.topic_authorized_operations)
    return TopicDescription(told.name, topic_id, told.is_internal, partitions, operations)
