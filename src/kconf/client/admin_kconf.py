"""Methods of the AdminClient for kconf servers: the journal, and requests that Kafka never shipped.

With other brokers they raise UnsupportedVersion.
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
    """Methods that only kconf servers support."""

    @abstractmethod
    async def _send(self, call: Call[Any, Any, T], timeout: float | None = None) -> T:
        """Execute a call."""

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
        """Revisions after `after`, with up to `limit` changes, of all or some resources or types.

        If there are none yet, the server waits up to `wait` seconds for one. Raises JournalTrimmed.
        """
        from kconf.client.calls.changes import ListChanges

        wait = self._settings.timeouts.long_poll(wait, timeout)
        return await self._send(ListChanges(after, wait, about, limit), timeout)

    def watch_changes(self, after: int | None = None, *, about: Iterable[Resource | ResourceType] = ()) -> Watch:
        """Every revision after `after`, or from now on, as it is committed. Uses its own connection."""
        from kconf.client.calls.changes import FeedPosition
        from kconf.client.watch import Watch

        client = self._from_settings(self._settings)
        return Watch(FeedPosition(after, about, self._settings), client._send, client.close)

    def follow(self, after: int | Checkpoint | None = None, *, cluster: str | None = None) -> Follow:
        """Every change after an offset of the metadata log, or from now on, whichever tool made it.

        Requires `bootstrap_controllers` and CLUSTER_ACTION on the cluster, which is as powerful as a super user: use a
        separate credential. Raises JournalTrimmed if the log no longer contains an offset. From a `Checkpoint`, it
        continues with the difference instead.
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
        """The overrides of resources at a revision or at a time (a datetime, or milliseconds)."""
        from kconf.client.calls.changes import DescribeConfigsAt

        return await self._send(DescribeConfigsAt(resources, revision, time), timeout)

    async def list_attempts(
        self, after: int = 0, *, limit: int = 1000, timeout: float | None = None
    ) -> list[AuditEntry]:
        """Audit entries of refused and validate-only requests, with numbers greater than `after`."""
        from kconf.client.calls.changes import ListAttempts

        return await self._send(ListAttempts(after, limit), timeout)

    # Requests of KIP-21 and KIP-248 that Kafka never shipped

    async def alter_entity_configs(
        self, alterations: Mapping[ConfigEntity, EntityAlteration], *, timeout: float | None = None
    ) -> Results[ConfigEntity, None]:
        """Add and delete configs of topics and clients (KIP-21). Deleting an unknown key is an error."""
        from kconf.client.calls.entities import AlterEntityConfigs

        return await self._send(AlterEntityConfigs(alterations), timeout)

    async def describe_entity_configs(
        self, entities: Iterable[ConfigEntity], *, timeout: float | None = None
    ) -> Results[ConfigEntity, dict[str, str]]:
        """The configs that are set on topics and clients themselves (KIP-21)."""
        from kconf.client.calls.entities import DescribeEntityConfigs

        return await self._send(DescribeEntityConfigs(entities), timeout)

    async def list_config_entities(
        self, wanted: Iterable[QuotaComponent], *, timeout: float | None = None
    ) -> list[QuotaEntity]:
        """The users, client ids, or client ids of users that have quotas (KIP-248)."""
        from kconf.client.calls.entities import ListConfigEntities

        return await self._send(ListConfigEntities(wanted), timeout)
