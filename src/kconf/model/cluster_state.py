"""A cluster's configuration, or a part of it, as read by a client. Used for exports, comparisons and snapshots.

Unlike a Snapshot, it is not consistent as of one revision: it was read with many requests between `started` and
`taken`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import AclBinding
from kconf.model.entry import View
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource
from kconf.model.scram import CredentialInfo


class TopicShape(NamedTuple):
    """A topic without its configuration. Brokers before Kafka 2.8 have no ids: UUID(int=0)."""

    id: UUID
    partitions: int
    replication: int
    internal: bool = False


class MissingPart(NamedTuple):
    """A part that could not be read: `quotas`, `topic:orders`, …"""

    what: str
    failure: ApiError

    @property
    def is_absent(self) -> bool:
        """Whether the cluster does not have this part at all."""
        return self.failure.code in (ErrorCode.SECURITY_DISABLED, ErrorCode.UNSUPPORTED_VERSION)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What was read. `revision` is the oldest of all responses of a kconf server, or None for other clusters."""

    cluster: str = ""
    started: int = 0
    taken: int = 0
    topics: Mapping[str, TopicShape] = field(default_factory=dict)
    configs: Mapping[Resource, View] = field(default_factory=dict)
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    users: Mapping[str, Sequence[CredentialInfo]] = field(default_factory=dict)
    acls: Sequence[AclBinding] = ()
    missing: Sequence[MissingPart] = ()
    revision: int | None = None

    def __repr__(self) -> str:
        """Short, because an event loop in debug mode formats the results of tasks."""
        return (
            f"ClusterState({self.cluster!r}, topics={len(self.topics)}, missing={[each.what for each in self.missing]})"
        )
