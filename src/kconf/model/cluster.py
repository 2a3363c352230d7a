"""Descriptions of a cluster: its nodes, topics and groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from kconf.errors import ApiError
from kconf.model.acl import Operation
from kconf.model.entry import View
from kconf.model.resource import Resource, ResourceType

NO_ID = UUID(int=0)


class Node(NamedTuple):
    """A broker or controller and its address."""

    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False

    def __str__(self) -> str:
        return f"{self.id} at {self.host}:{self.port}"


class ClusterDescription(NamedTuple):
    """`controller` is None if it is unknown. `authorized_operations` is None if they were not requested."""

    cluster_id: str | None
    controller: Node | None
    nodes: Mapping[int, Node]
    authorized_operations: frozenset[Operation] | None = None


class FeatureDescription(NamedTuple):
    """The ApiVersions response of a node: features with their version ranges, finalized levels, and APIs.

    `epoch` is None if the finalized levels are unknown. Brokers before Kafka 2.7 have no features.
    """

    supported: Mapping[str, tuple[int, int]]
    finalized: Mapping[str, int]
    epoch: int | None
    apis: Mapping[int, tuple[int, int]]


class TopicListing(NamedTuple):
    """A topic in a list. Brokers before Kafka 2.8 have no topic ids: NO_ID."""

    name: str
    topic_id: UUID
    internal: bool
    partitions: int
    replication: int = 0  # replicas of its first partition

    @property
    def resource(self) -> Resource:
        return Resource(ResourceType.TOPIC, self.name)


class PartitionDescription(NamedTuple):
    """A partition. `leader` is None if it has none."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()


class TopicDescription(NamedTuple):
    name: str
    topic_id: UUID
    internal: bool
    partitions: tuple[PartitionDescription, ...]
    authorized_operations: frozenset[Operation] | None = None


class TopicDetails(NamedTuple):
    """A broker's description of a topic that it created."""

    num_partitions: int
    replication_factor: int
    config: View


class CreatedTopic(NamedTuple):
    """A created topic (KIP-525).

    A broker returns an error instead of the details if the principal may not describe the topic's configs (29), and no
    details before Kafka 2.4 (35). `num_partitions`, `replication_factor` and `config` then raise the error.
    """

    name: str
    topic_id: UUID
    details: TopicDetails | ApiError

    @property
    def num_partitions(self) -> int:
        return self._described().num_partitions

    @property
    def replication_factor(self) -> int:
        return self._described().replication_factor

    @property
    def config(self) -> View:
        return self._described().config

    def _described(self) -> TopicDetails:
        if isinstance(self.details, ApiError):
            raise self.details.error(self.name)
        return self.details


class GroupListing(NamedTuple):
    """A group in a list. State and type are empty if the broker does not return them."""

    name: str
    protocol: str
    state: str = ""
    type: str = ""
