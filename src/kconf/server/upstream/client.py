"""Reads from the cluster behind a gateway what the followed state does not contain: leaders, ISR, loggers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.client.admin import AdminClient
from kconf.client.calls.base import CallResult, ClusterCall, NodeVersions
from kconf.client.settings import Address, Bootstrap, ClientSettings
from kconf.model.alteration import AlterConfigOp
from kconf.model.cluster import GroupListing
from kconf.model.membership import ClusterMember
from kconf.model.resource import Resource
from kconf.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicPartition,
    TopicRequest,
)
from kconf.protocol.messages.metadata import MetadataPartition, MetadataRequest, MetadataRequestTopic
from kconf.server.upstream.brokers import BrokerPools
from kconf.util.threads.worker_thread import in_daemon_thread

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.store.upstream.identities import Identities

_TIMEOUT: Final = 10.0  # seconds


class _SendRequest(ClusterCall[Any]):
    """Sends a request unchanged and returns the response."""

    def __init__(self, name: str, request: object) -> None:
        super().__init__()
        self.name = name  # type: ignore[misc]  # it differs from call to call
        self._request = request

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        return self._request

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        return CallResult({None: body}, body.throttle_time_ms)


class UpstreamClient:
    """Used from the event loop."""

    def __init__(self, settings: ClientSettings, brokers: BrokerPools, identities: Identities | None = None) -> None:
        self._settings, self._identities = settings, identities
        self._client = AdminClient._from_settings(settings)
        self.brokers = brokers

    async def close(self) -> None:
        self.brokers.close()
        await self._client.close()

    def for_broker(self, broker: ClusterMember) -> AdminClient:
        """An AdminClient for one broker."""
        assert broker.plaintext is not None
        address = Address(*broker.plaintext)
        return AdminClient._from_settings(self._settings._replace(bootstrap=Bootstrap((address,))))

    async def alter_as(
        self, principal: str, resource: Resource, alterations: Sequence[AlterConfigOp], *, validate_only: bool
    ) -> bool:
        """Alter a resource as a user. Returns False if the gateway does not act as its users. Raises KconfError."""
        identities = self._identities
        if identities is None or not principal:
            return False

        def alter(client: SyncAdminClient) -> None:
            client.incremental_alter_configs(
                {resource: alterations}, validate_only=validate_only, timeout=_TIMEOUT
            ).raise_for_failures()

        await in_daemon_thread(lambda: identities.call(principal, alter))
        return True

    async def groups(self) -> list[GroupListing]:
        """The groups of all brokers. Raises KconfError."""
        return await self._client.list_groups(timeout=_TIMEOUT)

    async def partitions(self, topics: Sequence[str]) -> dict[str, Sequence[MetadataPartition]]:
        """Leaders and replicas of topics, from a broker's Metadata response. Raises KconfError."""
        if not topics:
            return {}
        request = MetadataRequest([MetadataRequestTopic(name=each) for each in topics], False)
        body = await self._client._send(_SendRequest("Metadata", request), _TIMEOUT)
        return {each.name: each.partitions for each in body.topics if not each.error_code}

    async def described_partitions(
        self, topics: Sequence[str], cursor: Cursor | None, limit: int
    ) -> dict[tuple[str, int], TopicPartition]:
        """One page of partitions with their eligible leader replicas, by topic and partition. Raises KconfError."""
        if not topics:
            return {}
        request = DescribeTopicPartitionsRequest([TopicRequest(each) for each in topics], limit, cursor)
        body = await self._client._send(_SendRequest("DescribeTopicPartitions", request), _TIMEOUT)
        return {
            (topic.name, each.partition_index): each
            for topic in body.topics
            if not topic.error_code
            for each in topic.partitions
        }
