"""A whole cluster read through one AdminClient: all at once, and each part only as far as the cluster allows.

What a cluster refuses or does not have is noted in the reading's `missing`; the rest is there all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Final, TypeVar

from kconf.errors import Failure, KafkaError, UnsupportedVersion
from kconf.model.reading import Missing, Reading, TopicShape
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.client.aio import AdminClient
    from kconf.model.acl import AclBinding
    from kconf.model.entry import View
    from kconf.model.quota import QuotaEntity
    from kconf.model.scram import CredentialInfo

T = TypeVar("T")

PARTS: Final = ("topics", "brokers", "groups", "client-metrics", "quotas", "users", "acls")


async def read_cluster(
    admin: AdminClient,
    parts: Iterable[str] = PARTS,
    *,
    topics: Callable[[str], bool] | None = None,
    keys: Mapping[Resource, Sequence[str]] | None = None,
    synonyms: bool = False,
) -> Reading:
    """What a cluster has. `topics` says of which topics the configs are wanted, `keys` which ones of a resource."""
    reader = _Reader(admin, topics, keys or {}, synonyms)
    started = _now()
    cluster = await admin.describe_cluster()
    wanted = dict.fromkeys(parts)
    await asyncio.gather(*(getattr(reader, f"_{part.replace('-', '_')}")(sorted(cluster.nodes)) for part in wanted))
    return Reading(
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


class _Reader:
    def __init__(
        self,
        admin: AdminClient,
        topics: Callable[[str], bool] | None,
        keys: Mapping[Resource, Sequence[str]],
        synonyms: bool,
    ) -> None:
        self._admin, self._is_wanted, self._keys, self._synonyms = admin, topics, keys, synonyms
        self.topics: dict[str, TopicShape] = {}
        self.configs: dict[Resource, View] = {}
        self.quotas: Mapping[QuotaEntity, Mapping[str, float]] = {}
        self.users: dict[str, Sequence[CredentialInfo]] = {}
        self.acls: Sequence[AclBinding] = ()
        self.missing: list[Missing] = []
        self.revisions: list[int] = []

    async def _topics(self, _: Sequence[int]) -> None:
        listed = await self._tried("topics", self._admin.list_topics(internal=True))
        if listed is None:
            return
        self.topics = {
            name: TopicShape(each.topic_id, each.partitions, each.replication, each.internal)
            for name, each in listed.items()
        }
        wanted = self._is_wanted
        await self._described([Resource.topic(name) for name in listed if wanted is None or wanted(name)])

    async def _brokers(self, nodes: Sequence[int]) -> None:
        await self._described([Resource.brokers(), *map(Resource.broker, nodes)])

    async def _groups(self, _: Sequence[int]) -> None:
        await self._listed("groups", ResourceType.GROUP)

    async def _client_metrics(self, _: Sequence[int]) -> None:
        await self._listed("client-metrics", ResourceType.CLIENT_METRICS)

    async def _quotas(self, _: Sequence[int]) -> None:
        found = await self._tried("quotas", self._admin.describe_client_quotas())
        self.quotas = found or {}

    async def _users(self, _: Sequence[int]) -> None:
        found = await self._tried("users", self._admin.describe_user_scram_credentials())
        if found is not None:
            self.users = {user: found[user] for user in found if user not in found.failures}
            self._note({f"user:{user}": failure for user, failure in found.failures.items()})

    async def _acls(self, _: Sequence[int]) -> None:
        self.acls = await self._tried("acls", self._admin.describe_acls()) or ()

    async def _listed(self, what: str, kind: ResourceType) -> None:
        found = await self._tried(what, self._admin.list_config_resources([kind]))
        if found:
            await self._described(found)

    async def _described(self, resources: Sequence[Resource]) -> None:
        if not resources:
            return
        what = f"the configs of {resources[0].type.word}s"
        keys = {each: self._keys[each] for each in resources if each in self._keys} if self._keys else None
        call = self._admin.describe_configs(resources, keys=keys, synonyms=self._synonyms)
        described = await self._tried(what, call)
        if described is None:
            return
        failures = described.failures
        self.configs.update({each: described[each] for each in resources if each not in failures})
        self._note({str(each): failure for each, failure in failures.items()})
        if described.revision is not None:
            self.revisions.append(described.revision)

    async def _tried(self, what: str, call: Awaitable[T]) -> T | None:
        """What a cluster answers, or None where it refuses; a cluster that does not answer at all is an error."""
        try:
            return await call
        except KafkaError as error:
            if not _is_refusal(error):
                raise
            self._note({what: error.failure()})
            return None

    def _note(self, failures: Mapping[str, Failure]) -> None:
        self.missing += [Missing(what, failure) for what, failure in failures.items()]


def _is_refusal(error: KafkaError) -> bool:
    from kconf.errors import AuthenticationFailed, BrokerNotAvailable, ConnectionFailed, RequestTimedOut

    return isinstance(error, UnsupportedVersion) or not isinstance(
        error, ConnectionFailed | RequestTimedOut | AuthenticationFailed | BrokerNotAvailable
    )
