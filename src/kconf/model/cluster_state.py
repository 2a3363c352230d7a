"""A cluster's configuration as someone read it, all at once or in part: what is exported, compared and snapshotted.

Unlike a Snapshot it has no revision of its own to stand on: it is what many answers said between `started` and `taken`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from kconf.errors import ApiError
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
    """What the cluster refused or does not have: `quotas`, `topic:orders`, …"""

    what: str
    failure: ApiError


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What was read. `revision` is the oldest that a kconf server answered from, None elsewhere."""

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
        """In short: an event loop prints what its tasks return, and ten thousand topics take their time."""
        return f"Reading({self.cluster!r}, topics={len(self.topics)}, missing={[each.what for each in self.missing]})"
