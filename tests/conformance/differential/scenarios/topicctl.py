"""The requests of `topicctl apply`: read, create, alter, reassign with throttles, add partitions, elect leaders.

topicctl uses kafka-go (go/main.go): replicas are assigned explicitly, configs are altered one by one, and deletions
have an empty value.
"""

from __future__ import annotations

from collections.abc import Iterator

from kconf.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kconf.protocol.messages.api_versions import ApiVersionsRequest
from kconf.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kconf.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kconf.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kconf.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import BROKER, DELETE, SET, TOPIC, Draw, topic

_RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


def apply(draw: Draw) -> Iterator[Ask]:
    name = draw.name()
    yield draw.ask("ApiVersions", ApiVersionsRequest("kafka-go", "0.4"))
    yield draw.describe((BROKER, "1"), version=1)
    yield from _read(draw, name)
    yield draw.create(topic(name, -1, -1, configs=[("retention.ms", "1000")], assignment=[(0, [1]), (1, [1])]))
    yield from _read(draw, name)
    yield draw.incremental((TOPIC, name, [(SET, "cleanup.policy", "delete"), (DELETE, "retention.ms", "")]))
    yield _moving(draw, name)
    yield draw.incremental((BROKER, "1", [(SET, each, "120000000") for each in _RATES]))
    yield draw.incremental((TOPIC, name, [(SET, each, "0:1,1:1") for each in _REPLICAS]))
    moves = [ReassignablePartition(each, [1]) for each in (0, 1)]
    wanted = AlterPartitionReassignmentsRequest(5_000, topics=[ReassignableTopic(name, moves)])
    yield draw.ask("AlterPartitionReassignments", wanted)
    yield _moving(draw, name)
    yield draw.incremental((BROKER, "1", [(DELETE, each, "") for each in _RATES]))
    yield draw.incremental((TOPIC, name, [(DELETE, each, "") for each in _REPLICAS]))
    more = [CreatePartitionsTopic(name, 3, [CreatePartitionsAssignment([1])])]
    yield draw.ask("CreatePartitions", CreatePartitionsRequest(more, 5_000))
    yield draw.ask("ElectLeaders", ElectLeadersRequest(0, [TopicPartitions(name, [0, 1, 2])], 5_000))
    yield from _read(draw, name)
    yield draw.delete(name)


def _read(draw: Draw, name: str) -> Iterator[Ask]:
    wanted = [MetadataRequestTopic(name=name)]
    yield draw.ask("Metadata", MetadataRequest(wanted, allow_auto_topic_creation=False), 6)
    yield draw.describe((TOPIC, name), version=1)


def _moving(draw: Draw, name: str) -> Ask:
    wanted = [ListPartitionReassignmentsTopics(name, [0, 1])]
    return draw.ask("ListPartitionReassignments", ListPartitionReassignmentsRequest(5_000, wanted))
