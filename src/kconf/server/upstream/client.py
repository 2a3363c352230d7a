"""Reads from the cluster behind a gateway what the followed state does not contain: leaders, ISR, loggers.

The requests use the gateway's connections to the brokers, and share them fairly with those that are passed on.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kconf.client.calls.base import Call, CallResult, ClusterCall, NodeVersions
from kconf.client.calls.cluster import ListGroups
from kconf.client.calls.configs import DescribeConfigs, IncrementalAlterConfigs
from kconf.client.settings import ClientSettings
from kconf.client.transport.versions import choose_version
from kconf.errors import ApiError, ErrorCode, RemoteProtocolError, UpstreamUnavailable
from kconf.model.alteration import AlterConfigOp
from kconf.model.cluster import GroupListing
from kconf.model.entry import View
from kconf.model.resource import Resource
from kconf.protocol.codec.varint import Malformed, skip_tags
from kconf.protocol.headers import LENGTH, request, response_has_tags
from kconf.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicPartition,
    TopicRequest,
)
from kconf.protocol.messages.metadata import MetadataPartition, MetadataRequest, MetadataRequestTopic
from kconf.server.connection_context import Origin
from kconf.server.upstream.brokers import BrokerPools
from kconf.server.upstream.pool import GATEWAY, RawRequest
from kconf.util.threads.worker_thread import in_daemon_thread

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.store.upstream.identities import Identities

T = TypeVar("T")

_TIMEOUT: Final = 10.0  # seconds
_OF_ANY: Final = 5.0  # seconds for a response that another broker can also give
_MISSING: Final = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker's response has no result for this item")


_ITSELF: Final = Origin(GATEWAY)


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
    """Used from the event loop. All methods raise KconfError: UpstreamUnavailable if a broker does not respond."""

    def __init__(self, settings: ClientSettings, brokers: BrokerPools, identities: Identities | None = None) -> None:
        self._settings, self._identities = settings, identities
        self.brokers = brokers
        self._preferred: int | None = None  # the broker that answered the last request to any of them

    def close(self) -> None:
        self.brokers.close()

    async def describe_configs(self, node: int, resource: Resource, *, timeout: float, synonyms: bool = False) -> View:
        """The configs or loggers of a broker. Clients share the response, so it is the gateway's own request."""
        call = DescribeConfigs([resource], synonyms=synonyms)
        return call.finish(await self._send(call, node, call.items, _ITSELF, timeout))[resource]

    async def alter_loggers(
        self, node: int, principal: str, alterations: Sequence[AlterConfigOp], origin: Origin, *, validate_only: bool
    ) -> None:
        """Alter the loggers of a broker, as a user if the gateway acts as its users."""
        resource = Resource.logger(node)
        identities, wanted = self._identities, {resource: alterations}
        if identities is None or not principal:
            call = IncrementalAlterConfigs(wanted, validate_only=validate_only)
            call.finish(await self._send(call, node, call.items, origin, _TIMEOUT))[resource]  # raises its error
            return

        def alter(client: SyncAdminClient) -> None:
            client.incremental_alter_configs(wanted, validate_only=validate_only, timeout=_TIMEOUT)[resource]

        await in_daemon_thread(lambda: identities.call(principal, alter))

    async def groups(self, origin: Origin) -> list[GroupListing]:
        """The groups of all brokers."""
        call = ListGroups()
        nodes = self.brokers.nodes
        if not nodes:
            raise _no_brokers()
        client = Origin(origin.client)  # `on_wait` is for one request at a time
        tasks = [asyncio.create_task(self._send(call, node, [node], client, _TIMEOUT)) for node in nodes]
        try:
            found = await asyncio.gather(*tasks)
        finally:
            for each in tasks:
                each.cancel()
        return call.finish({node: each[node] for node, each in zip(nodes, found, strict=True)})

    async def partitions(self, topics: Sequence[str], origin: Origin) -> dict[str, Sequence[MetadataPartition]]:
        """Leaders and replicas of topics, from a broker's Metadata response."""
        if not topics:
            return {}
        request = MetadataRequest([MetadataRequestTopic(name=each) for each in topics], False)
        body = await self._ask_any(_SendRequest("Metadata", request), origin)
        return {each.name: each.partitions for each in body.topics if not each.error_code}

    async def described_partitions(
        self, topics: Sequence[str], cursor: Cursor | None, limit: int, origin: Origin
    ) -> Mapping[tuple[str, int], TopicPartition]:
        """One page of partitions with their eligible leader replicas, by topic and partition."""
        if not topics:
            return {}
        request = DescribeTopicPartitionsRequest([TopicRequest(each) for each in topics], limit, cursor)
        body = await self._ask_any(_SendRequest("DescribeTopicPartitions", request), origin)
        return {
            (topic.name, each.partition_index): each
            for topic in body.topics
            if not topic.error_code
            for each in topic.partitions
        }

    async def _ask_any(self, call: _SendRequest, origin: Origin) -> Any:
        """Ask one broker, or another if it does not respond."""
        failure = _no_brokers()
        for node in sorted(self.brokers.nodes, key=lambda each: each != self._preferred):
            try:
                found = call.finish(await self._send(call, node, call.items, origin, _OF_ANY))
            except UpstreamUnavailable as error:
                failure = error
            else:
                self._preferred = node
                return found
        raise failure

    async def _send(
        self, call: Call[Any, Any, Any], node: int, items: Sequence[Any], origin: Origin, timeout: float
    ) -> dict[Any, Any]:
        """Send a call to a broker with the gateway's own principal. Returns the outcome of each item."""
        versions = self.brokers.versions(node)
        if versions is None:
            raise UpstreamUnavailable(f"broker {node} has not responded yet")
        broker = NodeVersions(f"broker {node}", versions)
        chosen, version = choose_version(broker, call)
        message = chosen.write(broker, version, items)
        frame = request(chosen.api, version, 0, self._settings.client_id, message)[LENGTH.size :]
        results: list[CallResult] = []

        def read(response: bytes) -> int:
            results.append(chosen.read(version, response, _body_of(chosen, version, response), items))
            return results[0].throttle_ms

        await self.brokers.own_pool(node).send(RawRequest(origin.client, frame, origin.on_wait, read, timeout))
        return {item: results[0].outcomes.get(item, _MISSING) for item in items}


def _body_of(call: Call[Any, Any, Any], version: int, response: bytes) -> int:
    """The start of the body of a response without length prefix."""
    if not response_has_tags(call.api, version):
        return LENGTH.size
    try:
        return skip_tags(response, LENGTH.size)
    except (struct.error, IndexError, Malformed):
        raise RemoteProtocolError(f"the header of a {call.name} response is truncated") from None


def _no_brokers() -> UpstreamUnavailable:
    return UpstreamUnavailable("the cluster has no brokers at the moment")
