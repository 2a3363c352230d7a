"""Resources that have configs, and topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from uuid import UUID


class ResourceType(IntEnum):
    """The type of a resource. Up to 127: the protocol's numbers of config resources (ACL resources have others).

    Above 127: types that are stored and journaled in the same way but are not config resources in the protocol.
    """

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32
    QUOTA = 1000  # a QuotaEntity; its keys are quotas
    SCRAM = 1001  # a user; its keys are SCRAM mechanisms, its values credentials
    ACL = 1002  # a resource pattern; its keys are ACL entries

    __hash__ = int.__hash__  # faster than Enum's own hash, since resources are hashed several times per request

    @property
    def word(self) -> str:
        return _WORDS[self]


_WORDS: Final = {each: each.name.lower().replace("_", "-") for each in ResourceType}


class Resource(NamedTuple):
    """A resource that has configs: a topic, a broker, all brokers. Printed as `topic:orders`, `brokers`.

    A named tuple for fast hashing. `type` is a plain number if a request has an unknown type.
    """

    type: ResourceType
    name: str

    @classmethod
    def topic(cls, name: str) -> Resource:
        return cls(ResourceType.TOPIC, name)

    @classmethod
    def broker(cls, node_id: int) -> Resource:
        return cls(ResourceType.BROKER, str(node_id))

    @classmethod
    def brokers(cls) -> Resource:
        """The cluster-wide default of all brokers."""
        return cls(ResourceType.BROKER, "")

    @classmethod
    def logger(cls, node_id: int) -> Resource:
        return cls(ResourceType.BROKER_LOGGER, str(node_id))

    @classmethod
    def client_metrics(cls, name: str) -> Resource:
        return cls(ResourceType.CLIENT_METRICS, name)

    @classmethod
    def group(cls, name: str) -> Resource:
        return cls(ResourceType.GROUP, name)

    def __str__(self) -> str:
        if self.type == ResourceType.BROKER and not self.name:
            return "brokers"
        return f"{ResourceType(self.type).word}:{self.name}"


class Topic(NamedTuple):
    """A topic: its id, and the replicas of each partition (replicas[p] lists broker ids)."""

    name: str
    id: UUID
    replicas: tuple[tuple[int, ...], ...]

    @property
    def partitions(self) -> int:
        return len(self.replicas)

    @property
    def replication_factor(self) -> int:
        return len(self.replicas[0]) if self.replicas else 0

    @property
    def resource(self) -> Resource:
        return Resource(ResourceType.TOPIC, self.name)


INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

Overrides = Mapping[str, str]
"""The raw values that are set on one resource. Never modified: a change creates a new mapping."""

NO_OVERRIDES: Overrides = {}

Assignment = Sequence[Sequence[int]]
