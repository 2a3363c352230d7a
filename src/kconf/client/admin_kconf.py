"""The methods of the AdminClient for kconf servers: the journal, and requests that Kafka never shipped.
Other brokers answer them with UnsupportedVersion.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from kconf.client.base import BaseAdminClient
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from kconf.client.calls.base import Call
    from kconf.client.calls.changes import ChangePage, DescribedAt
    from kconf.client.follow import Follow
    from kconf.client.kraft.checkpoint import Checkpoint
    from kconf.client.watch import Watch
    from kconf.model.entity import ConfigEntity, EntityAlteration
    from kconf.model.journal import AuditEntry
    from kconf.model.quota import QuotaComponent, QuotaEntity
    from kconf.model.resource import Resource, ResourceType
    from kconf.model.results import Results

T = TypeVar("T")


class KconfMethods(BaseAdminClient):
    """What only kconf servers have."""

    @abstractmethod
    async def _send(self, call: Call[Any, Any, T], timeout: float | None = None) -> T:
        """Make a call."""

    @abstractmethod
    async def close(self) -> None:
        """Close all connections."""

    # The journal

    async def list_changes(
        self,
        after: int = 0,
        *,
        wait: float = 0.0,
        about: Iterable[Resource | ResourceType] = (),
        limit: int = 1000,
        timeout: float | None = None,
    ) -> ChangePage:
        """Revisions after this one, up to `limit` changes, of all or of some resources or types.

        If there is none yet, the server waits up to `wait` seconds for one. Raises JournalTrimmed.
        """
        from kconf.client.calls.changes import ListChanges

        wait = self._settings.timeouts.long_poll(wait, timeout)
        return await self._send(ListChanges(after, wait, about, limit), timeout)

    def watch_changes(self, after: int | None = None, *, about: Iterable[Resource | ResourceType] = ()) -> Watch:
        """Every revision after this one, or from now on, as it is committed; uses a connection of its own."""
        from kconf.client.calls.changes import FeedPosition
        from kconf.client.watch import Watch

        client = self._from_settings(self._settings)
        return Watch(FeedPosition(after, about, self._settings), client._send, client.close)

    def follow(self, after: int | Checkpoint | None = None, *, cluster: str | None = None) -> Follow:
        """Every change after this offset of the metadata log, or from now on, by whatever tool it was made.

        For a client of controllers (`bootstrap_controllers`). It takes the right CLUSTER_ACTION on the cluster, which
        is as strong as a super user's: use a credential of its own. Raises JournalTrimmed if the log does not reach
        back to an offset; from a `Checkpoint` it continues with the difference.
        """
        from kconf.client.follow import Follow

        if not self._settings.bootstrap.controllers:
            raise ConfigurationError("only controllers serve the metadata log; pass bootstrap_controllers")
        return Follow(self._settings, after, cluster)

    async def describe_configs_at(
        self,
        resources: Iterable[Resource],
        *,
        revision: int | None = None,
        time: datetime | int | None = None,
        timeout: float | None = None,
    ) -> DescribedAt:
        """The overrides of resources at a revision, or at a time (a datetime, or milliseconds)."""
        from kconf.client.calls.changes import DescribeConfigsAt

        return await self._send(DescribeConfigsAt(resources, revision, time), timeout)

    async def list_attempts(
        self, after: int = 0, *, limit: int = 1000, timeout: float | None = None
    ) -> list[AuditEntry]:
        """Audit entries of refused and validate-only requests, with a greater number than this."""
        from kconf.client.calls.changes import ListAttempts

        return await self._send(ListAttempts(after, limit), timeout)

    # Requests of KIP-21 and KIP-248 that Kafka never shipped

    async def alter_entity_configs(
        self, alterations: Mapping[ConfigEntity, EntityAlteration], *, timeout: float | None = None
    ) -> Results[ConfigEntity, None]:
        """KIP-21: add and delete configs of topics and clients. An unknown key to delete is an error too."""
        from kconf.client.calls.entities import AlterEntityConfigs

        return await self._send(AlterEntityConfigs(alterations), timeout)

    async def describe_entity_configs(
        self, entities: Iterable[ConfigEntity], *, timeout: float | None = None
    ) -> Results[ConfigEntity, dict[str, str]]:
        """KIP-21: what is set at topics and clients themselves."""
        from kconf.client.calls.entities import DescribeEntityConfigs

        return await self._send(DescribeEntityConfigs(entities), timeout)

    async def list_config_entities(
        self, wanted: Iterable[QuotaComponent], *, timeout: float | None = None
    ) -> list[QuotaEntity]:
        """KIP-248: the users, the client ids, or the client ids of users that have quotas."""
        from kconf.client.calls.entities import ListConfigEntities

        return await self._send(ListConfigEntities(wanted), timeout)
