"""Create, delete, extend, list and describe topics. Changes go to the controller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from kconf.client.calls.amounts import plain_value
from kconf.client.calls.arguments import item_of, items_of, mapping_of, text_of
from kconf.client.calls.base import CONTROLLER, CallResult, ClusterCall, NodeVersions, PerItemCall, api_error, distinct
from kconf.client.calls.cluster import operations_of
from kconf.client.calls.describe_decoder import source_of
from kconf.errors import ApiError, ErrorCode
from kconf.model.alteration import NewTopic
from kconf.model.cluster import CreatedTopic, PartitionDescription, TopicDescription, TopicDetails, TopicListing
from kconf.model.entry import Entry, View
from kconf.model.resource import ResourceType

TopicName = str | UUID


class CreateTopics(PerItemCall[str, CreatedTopic]):
    """Values of configs may have units. Without `has_units`, they are sent as they are."""

    name = "CreateTopics"
    route = CONTROLLER
    repeatable = False

    def __init__(
        self,
        topics: Iterable[NewTopic | str],
        *,
        timeout_ms: int,
        validate_only: bool = False,
        reason: str | None = None,
        has_units: bool = True,
    ) -> None:
        listed = items_of("topics", topics, NewTopic, str)
        named = [NewTopic(each) if isinstance(each, str) else each for each in listed]
        given = [_plain(each) if has_units else each for each in named]
        super().__init__(distinct((each.name for each in given), "a topic"))
        self.topics, self.reason = {each.name: each for each in given}, reason
        self._timeout_ms, self.validate_only = timeout_ms, validate_only
        self.repeatable = validate_only
        if any(not each.assignment and -1 in (each.partitions, each.replication_factor) for each in given):
            self.min_version = 4
            self.hint = "pass partitions and replication factor: before Kafka 2.4 they have no default"
        elif validate_only:
            self.min_version = 1

    def write(self, node: NodeVersions, version: int, items: Sequence[str]) -> object:
        from kconf.protocol.messages.create_topics import (
            CreatableReplicaAssignment,
            CreatableTopic,
            CreatableTopicConfig,
            CreateTopicsRequest,
        )

        topics = [
            CreatableTopic(
                topic.name,
                topic.partitions,
                topic.replication_factor,
                [CreatableReplicaAssignment(partition, list(ids)) for partition, ids in topic.assignment],
                [CreatableTopicConfig(key, value) for key, value in dict(topic.configs).items()],
            )
            for topic in (self.topics[name] for name in items)
        ]
        reason = self.reason if node.is_kconf and version >= 5 else None
        return CreateTopicsRequest(topics, self._timeout_ms, self.validate_only, reason)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[str]) -> CallResult:
        body = self.body(version, frame, start)
        outcomes = {
            each.name: api_error(each.error_code, each.error_message)
            if each.error_code
            else CreatedTopic(each.name, UUID(bytes=each.topic_id), _details(each, version))
            for each in body.topics
        }
        return CallResult(outcomes, body.throttle_time_ms)


def _plain(topic: NewTopic) -> NewTopic:
    """A topic with config values as in the protocol, without units."""
    what = f"topics: {item_of('topics: the name of a topic', topic.name, str)}"
    for count in (topic.partitions, topic.replication_factor):
        item_of(f"{what}: a number of partitions or replicas", count, int)
    configs: dict[str, str | None] = dict(topic.configs)
    plain = {key: value if value is None else _text(what, key, value) for key, value in configs.items()}
    return topic if plain == configs else topic._replace(configs=tuple(plain.items()))


def _text(topic: str, key: str, value: object) -> str:
    return plain_value(ResourceType.TOPIC, key, text_of(f"{topic}: {key}", value))


def _details(topic: Any, version: int) -> TopicDetails | ApiError:
    """The details of a created topic (KIP-525), which require DescribeConfigs."""
    if topic.topic_config_error_code:
        return api_error(topic.topic_config_error_code, "not authorized to describe the configs of this topic")
    if topic.num_partitions < 0:
        return ApiError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"CreateTopics v{version} does not return the partitions and configs of a topic, "
            "which Kafka supports since 2.4 (v5)",
        )
    entries = sorted(
        (
            Entry(
                each.name,
                each.value,
                source_of(each.config_source),
                read_only=each.read_only,
                sensitive=each.is_sensitive,
            )
            for each in topic.configs or ()
        ),
        key=lambda entry: entry.name,
    )
    return TopicDetails(topic.num_partitions, topic.replication_factor, View(tuple(entries)))


class DeleteTopics(PerItemCall[TopicName, None]):
    """Deletes topics by name or by id."""

    name = "DeleteTopics"
    route = CONTROLLER
    repeatable = False

    def __init__(self, topics: Iterable[TopicName], *, timeout_ms: int, reason: str | None = None) -> None:
        super().__init__(distinct(items_of("topics", topics, str, UUID), "a topic"))
        self._timeout_ms, self.reason = timeout_ms, reason
        if any(isinstance(each, UUID) for each in self.items):
            self.min_version = 6
            self.hint = "topics can be deleted by ID since Kafka 2.8"

    def group(self, item: TopicName) -> bool:
        return isinstance(item, UUID)  # responses contain both name and id

    def write(self, node: NodeVersions, version: int, items: Sequence[TopicName]) -> object:
        from kconf.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

        states = [
            DeleteTopicState(None, each.bytes) if isinstance(each, UUID) else DeleteTopicState(each) for each in items
        ]
        names = [each for each in items if isinstance(each, str)]
        reason = self.reason if node.is_kconf and version >= 4 else None
        return DeleteTopicsRequest(states, names, self._timeout_ms, reason)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[TopicName]) -> CallResult:
        body = self.body(version, frame, start)
        requested = set(items)
        outcomes: dict[TopicName, ApiError | None] = {}
        for each in body.responses:
            topic_id = UUID(bytes=each.topic_id)
            key = topic_id if topic_id in requested else each.name
            outcomes[key] = api_error(each.error_code, each.error_message) if each.error_code else None
        return CallResult(outcomes, body.throttle_time_ms)


class CreatePartitions(PerItemCall[str, None]):
    """`counts` has the new total number of partitions per topic."""

    name = "CreatePartitions"
    route = CONTROLLER

    def __init__(
        self,
        counts: Mapping[str, int],
        *,
        timeout_ms: int,
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        validate_only: bool = False,
        reason: str | None = None,
    ) -> None:
        super().__init__(mapping_of("counts", counts, str))
        for name, count in counts.items():
            item_of(f"counts[{name}]", count, int)
        self.counts, self._assignments, self.reason = counts, assignments or {}, reason
        self._timeout_ms, self.validate_only = timeout_ms, validate_only
        self.repeatable = validate_only

    def write(self, node: NodeVersions, version: int, items: Sequence[str]) -> object:
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
        reason = self.reason if node.is_kconf and version >= 2 else None
        return CreatePartitionsRequest(topics, self._timeout_ms, self.validate_only, reason)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[str]) -> CallResult:
        body = self.body(version, frame, start)
        outcomes = {
            each.name: api_error(each.error_code, each.error_message) if each.error_code else None
            for each in body.results
        }
        return CallResult(outcomes, body.throttle_time_ms)


class ListTopics(ClusterCall[dict[str, TopicListing]]):
    name = "Metadata"

    def __init__(self, *, internal: bool = False) -> None:
        super().__init__()
        self._internal = internal

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.metadata import MetadataRequest

        return MetadataRequest(None if version else [], allow_auto_topic_creation=False)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, None)})
        found = {
            each.name: TopicListing(
                each.name, UUID(bytes=each.topic_id), each.is_internal, len(each.partitions), _replication(each)
            )
            for each in body.topics
            if each.name is not None and (self._internal or not each.is_internal)
        }
        return CallResult({None: {name: found[name] for name in sorted(found)}}, body.throttle_time_ms)


def _replication(topic: Any) -> int:
    return len(topic.partitions[0].replica_nodes) if topic.partitions else 0


class DescribeTopics(PerItemCall[TopicName, TopicDescription]):
    name = "Metadata"

    def __init__(self, topics: Iterable[TopicName], *, authorized_operations: bool = False) -> None:
        super().__init__(dict.fromkeys(items_of("topics", topics, str, UUID)))
        self._operations = authorized_operations
        if any(isinstance(each, UUID) for each in self.items):
            self.min_version = 12
            self.hint = "topics can be described by ID since Kafka 3.1"

    def group(self, item: TopicName) -> bool:
        return isinstance(item, UUID)  # brokers ignore names in a request with ids

    def write(self, node: NodeVersions, version: int, items: Sequence[TopicName]) -> object:
        from kconf.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

        topics = [
            MetadataRequestTopic(each.bytes, None) if isinstance(each, UUID) else MetadataRequestTopic(name=each)
            for each in items
        ]
        return MetadataRequest(topics, False, include_topic_authorized_operations=self._operations)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[TopicName]) -> CallResult:
        body = self.body(version, frame, start)
        requested = set(items)
        outcomes: dict[TopicName, TopicDescription | ApiError] = {}
        for each in body.topics:
            topic_id = UUID(bytes=each.topic_id)
            key = topic_id if topic_id in requested else each.name
            outcomes[key] = _described(each, topic_id)
        return CallResult(outcomes, body.throttle_time_ms)


def _described(topic: Any, topic_id: UUID) -> TopicDescription | ApiError:
    if topic.error_code and topic.error_code != ErrorCode.LEADER_NOT_AVAILABLE:
        return api_error(topic.error_code, None)
    partitions = tuple(
        PartitionDescription(
            each.partition_index,
            each.leader_id if each.leader_id >= 0 else None,
            tuple(each.replica_nodes),
            tuple(each.isr_nodes),
            tuple(each.offline_replicas),
        )
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    )
    operations = operations_of(topic.topic_authorized_operations)
    return TopicDescription(topic.name, topic_id, topic.is_internal, partitions, operations)
