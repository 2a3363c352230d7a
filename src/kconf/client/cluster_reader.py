"""Reads the state of a cluster with an AdminClient, all parts concurrently.

Parts that the cluster refuses or does not support are listed in `ClusterState.missing`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Final, TypeVar

from kconf.errors import (
    ApiError,
    AuthenticationFailed,
    BrokerNotAvailable,
    ConnectionFailed,
    KafkaError,
    NotAuthorized,
    RequestTimedOut,
)
from kconf.model.acl import Operation
from kconf.model.cluster_state import ClusterState, MissingPart, TopicShape
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.model.acl import AclBinding
    from kconf.model.entry import View
    from kconf.model.quota import QuotaEntity
    from kconf.model.scram import CredentialInfo

T = TypeVar("T")

PARTS: Final = {
    "topics": ResourceType.TOPIC,
    "brokers": ResourceType.BROKER,
    "groups": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
    "quotas": ResourceType.QUOTA,
    "users": ResourceType.SCRAM,
    "acls": ResourceType.ACL,
}
"""The parts that can be read, by the names used in `missing`."""


async def read_cluster(
    admin: AdminClient,
    parts: Iterable[str] = PARTS,
    *,
    wanted: Callable[[Resource], bool] | None = None,
    named: Iterable[Resource] = (),
    keys: Mapping[Resource, Sequence[str]] | None = None,
    synonyms: bool = False,
) -> ClusterState:
    """Read the state of a cluster.

    `wanted` selects the listed resources whose configs are read. `named` resources are read even if they are not listed
    (never topics). `keys` limits the keys of a resource.
    """
    reader = _ClusterReader(admin, wanted, list(named), keys or {}, synonyms)
    started = _now()
    cluster = await admin.describe_cluster(authorized_operations=True)
    reader.operations = cluster.authorized_operations
    readers = reader.parts(sorted(cluster.nodes))
    await asyncio.gather(*(readers[part]() for part in dict.fromkeys(parts)))
    return ClusterState(
        cluster.cluster_id or "",
        started,
        _now(),
        reader.topics,
        reader.configs,
        reader.quotas,
        reader.users,
        reader.acls,
        tuple(sorted(reader.missing)),
        min(reader.revisions, default=None),
    )


def _now() -> int:
    return int(time() * 1000)


class _ClusterReader:
    def __init__(
        self,
        admin: AdminClient,
        wanted: Callable[[Resource], bool] | None,
        named: Sequence[Resource],
        keys: Mapping[Resource, Sequence[str]],
        synonyms: bool,
    ) -> None:
        self._admin, self._wanted, self._named, self._keys, self._synonyms = admin, wanted, named, keys, synonyms
        self.topics: dict[str, TopicShape] = {}
        self.configs: dict[Resource, View] = {}
        self.quotas: Mapping[QuotaEntity, Mapping[str, float]] = {}
        self.users: dict[str, Sequence[CredentialInfo]] = {}
        self.acls: Sequence[AclBinding] = ()
        self.missing: list[MissingPart] = []
        self.revisions: list[int] = []
        self.operations: frozenset[Operation] | None = None

    def parts(self, nodes: Sequence[int]) -> dict[str, Callable[[], Awaitable[None]]]:
        brokers = [Resource.brokers(), *map(Resource.broker, nodes)]
        return {
            "topics": self._read_topics,
            "brokers": lambda: self._read_configs("brokers", brokers),
            "groups": lambda: self._read_listed("groups"),
            "client-metrics": lambda: self._read_listed("client-metrics"),
            "quotas": self._read_quotas,
            "users": self._read_users,
            "acls": self._read_acls,
        }

    async def _read_topics(self) -> None:
        listed = await self._try("topics", self._admin.list_topics(internal=True))
        if listed is None:
            return
        self.topics = {
            name: TopicShape(each.topic_id, each.partitions, each.replication, each.internal)
            for name, each in listed.items()
        }
        await self._read_configs("topics", [Resource.topic(name) for name in listed])

    async def _read_quotas(self) -> None:
        self.quotas = await self._try("quotas", self._admin.describe_client_quotas()) or self.quotas

    async def _read_users(self) -> None:
        if self.operations is not None and Operation.DESCRIBE not in self.operations:
            # Kafka 4.3.1 does not respond to an unauthorized request for all users.
            self._note({"users": NotAuthorized().failure()})
            return
        found = await self._try("users", self._admin.describe_user_scram_credentials())
        if found is not None:
            self.users = {user: found[user] for user in found if user not in found.failures}
            self._note({f"user:{user}": failure for user, failure in found.failures.items()})

    async def _read_acls(self) -> None:
        self.acls = await self._try("acls", self._admin.describe_acls()) or ()

    async def _read_listed(self, part: str) -> None:
        found = await self._try(part, self._admin.list_config_resources([PARTS[part]]))
        await self._read_configs(part, found or ())

    async def _read_configs(self, part: str, listed: Sequence[Resource]) -> None:
        chosen = [each for each in listed if self._wanted is None or self._wanted(each)]
        resources = list(dict.fromkeys([*chosen, *(each for each in self._named if each.type is PARTS[part])]))
        if not resources:
            return
        keys = {each: self._keys[each] for each in resources if each in self._keys} if self._keys else None
        call = self._admin.describe_configs(resources, keys=keys, synonyms=self._synonyms)
        described = await self._try(part, call)
        if described is None:
            return
        failures = described.failures
        self.configs.update({each: described[each] for each in resources if each not in failures})
        self._note({str(each): failure for each, failure in failures.items()})
        if described.revision is not None:
            self.revisions.append(described.revision)

    async def _try(self, what: str, call: Awaitable[T]) -> T | None:
        """The result, or None if the cluster refuses the request. Raises an error if it does not respond."""
        try:
            return await call
        except KafkaError as error:
            if isinstance(error, _UNREACHABLE):
                raise
            self._note({what: error.failure()})
            return None

    def _note(self, failures: Mapping[str, ApiError]) -> None:
        self.missing += [MissingPart(what, failure) for what, failure in failures.items()]


_UNREACHABLE: Final = (ConnectionFailed, RequestTimedOut, AuthenticationFailed, BrokerNotAvailable)
