"""Malformed frames: extra bytes after the body, truncated bodies, unsupported versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kconf.protocol.messages.api_versions import ApiVersionsRequest
from kconf.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kconf.protocol.messages.describe_acls import DescribeAclsRequest
from kconf.protocol.messages.describe_cluster import DescribeClusterRequest
from kconf.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kconf.protocol.messages.find_coordinator import FindCoordinatorRequest
from kconf.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kconf.protocol.messages.list_groups import ListGroupsRequest
from kconf.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kconf.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kconf.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kconf.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import SET, TOPIC, Draw, topic


def surplus(draw: Draw) -> Iterator[Ask]:
    """Extra bytes after a body, and client IDs that are null or unusual."""
    name = draw.name()
    more: dict[str, Any] = {
        "surplus": draw.random.randbytes(draw.random.randint(1, 40)),
        "client_id": draw.one((None, "", "ä ", "x" * 1000)),
    }
    yield draw.create(topic(name, 1, 1), **more)
    yield draw.describe((TOPIC, name), **more)
    yield draw.incremental((TOPIC, name, [(SET, "retention.ms", "1")]), **more)
    yield draw.ask("ListConfigResources", ListConfigResourcesRequest([]), **more)
    yield draw.ask("ListGroups", ListGroupsRequest(), **more)
    yield draw.ask("ApiVersions", ApiVersionsRequest("lab", "1"), **more)
    yield draw.delete(name)


def cut(draw: Draw) -> Iterator[Ask]:
    """A truncated body cannot be parsed: the connection is closed, and nothing is changed."""
    name = draw.name()
    yield draw.create(topic(name, 2, 1))
    for ask in draw.some(_requests(draw, name), 4):
        yield ask.without(draw.random.randint(1, 6))
    yield draw.describe((TOPIC, name))
    yield draw.delete(name)


def beyond(draw: Draw) -> Iterator[Ask]:
    """A version above the supported ones: the connection is closed, except for ApiVersions, which is answered."""
    for ask in draw.some(_requests(draw, draw.name()), 3):
        newest = max(draw.versions[ask.name])
        yield ask.at(newest + draw.one((1, 2, 100)))
    yield draw.ask("ApiVersions", ApiVersionsRequest("lab", "1"), draw.one((6, 7, 99, 32767)))


def _requests(draw: Draw, name: str) -> tuple[Ask, ...]:
    return (
        draw.create(topic(draw.name(), 1, 1, configs=[("retention.ms", "1")])),
        draw.delete(name),
        draw.describe((TOPIC, name), names=["retention.ms"]),
        draw.incremental((TOPIC, name, [(SET, "retention.ms", "1")])),
        draw.replace((TOPIC, name, [("retention.ms", "1")])),
        draw.ask("CreatePartitions", CreatePartitionsRequest([CreatePartitionsTopic(name, 4)])),
        draw.ask("DescribeCluster", DescribeClusterRequest(False)),
        draw.ask("DescribeAcls", DescribeAclsRequest(2, "x")),
        draw.ask("Metadata", MetadataRequest([MetadataRequestTopic(name=name)], False)),
        draw.ask("ListOffsets", ListOffsetsRequest(-1, 0, [ListOffsetsTopic(name, [ListOffsetsPartition(0)])])),
        draw.ask("FindCoordinator", FindCoordinatorRequest("g", 0, ["g"])),
        draw.ask("ElectLeaders", ElectLeadersRequest(0, [TopicPartitions(name, [0])])),
        draw.ask("ListPartitionReassignments", ListPartitionReassignmentsRequest()),
        *(_updates(draw) if "UpdateFeatures" in draw.versions else ()),
    )


def _updates(draw: Draw) -> tuple[Ask, ...]:
    """A gateway does not serve UpdateFeatures."""
    updates = [FeatureUpdateKey("no.such.feature", 1)]
    return (draw.ask("UpdateFeatures", UpdateFeaturesRequest(feature_updates=updates)),)
