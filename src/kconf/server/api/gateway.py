"""Handlers of a gateway that differ from those of a server with its own state: leaders are read from the brokers.

Everything else in these responses comes from the followed state, so that a client sees what it has created. A partition
that the brokers do not know yet has no leader. While no broker responds, no partition has a leader. If the brokers
respond otherwise, but not to this question, the leaders are unknown: topics get REQUEST_TIMED_OUT.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from logging import getLogger
from typing import Any, Final, TypeVar

from kconf.errors import ErrorCode, KconfError
from kconf.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kconf.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicPartition,
)
from kconf.protocol.messages.metadata import MetadataPartition, MetadataRequest, MetadataResponse
from kconf.server.api import api_versions, describe_topic_partitions, metadata, relay, relay_checks
from kconf.server.api.upstream_requests import upstream_of
from kconf.server.context import ApiRequest, ServerContext
from kconf.server.upstream.client import UpstreamClient
from kconf.util.rate_limited_log import RateLimitedLogger
from kconf.util.slices import in_slices

T = TypeVar("T")
_unanswered: Final = RateLimitedLogger(getLogger(__name__))
_TIMEOUT: Final = 10.0  # seconds; enough for two brokers (upstream/client.py)


class _LeadersUnknown(Exception):
    """The brokers respond, but not to this request."""


async def _ask_brokers(context: ServerContext, ask: Callable[[UpstreamClient], Awaitable[T]]) -> T | None:
    """The response of the brokers, or None if it is known that none responds. They may, although the state is stale.

    Raises _LeadersUnknown.
    """
    store = context.service.store
    if store.brokers_problem is not None:
        return None
    try:
        async with asyncio.timeout(_TIMEOUT):
            return await ask(upstream_of(context))
    except (KconfError, TimeoutError) as error:
        _unanswered.log("cannot read the leaders of topics from the brokers: %s", str(error) or "no response in time")
        if store.brokers_problem is not None:
            return None
        raise _LeadersUnknown from None


async def handle_metadata(context: ServerContext, request: MetadataRequest, call: ApiRequest) -> MetadataResponse:
    response = metadata.handle(context, request, call)
    known = [each for each in in_slices(response.topics) if not each.error_code and each.name is not None]
    names = [each.name for each in known if each.name is not None]
    try:
        found = await _ask_brokers(context, lambda upstream: upstream.partitions(names, call.origin)) or {}
    except _LeadersUnknown:
        for topic in in_slices(known):
            topic.error_code, topic.partitions = ErrorCode.REQUEST_TIMED_OUT, ()
        return response
    for topic in in_slices(known):
        of_topic = {each.partition_index: each for each in found.get(topic.name or "", ())}
        topic.partitions = [
            of_topic.get(each.partition_index) or _leaderless(each) for each in in_slices(topic.partitions)
        ]
    return response


def _leaderless(each: MetadataPartition) -> MetadataPartition:
    return MetadataPartition(ErrorCode.LEADER_NOT_AVAILABLE, each.partition_index, -1, -1, each.replica_nodes, (), ())


async def handle_describe_topic_partitions(
    context: ServerContext, request: DescribeTopicPartitionsRequest, call: ApiRequest
) -> DescribeTopicPartitionsResponse:
    response = describe_topic_partitions.handle(context, request, call)
    known = [each for each in in_slices(response.topics) if each.partitions and each.name is not None]
    names = [each.name for each in known if each.name is not None]
    limit = sum(len(each.partitions) for each in known)
    cursor = request.cursor if request.cursor is not None and request.cursor.topic_name in names else None
    try:
        found = (
            await _ask_brokers(
                context, lambda upstream: upstream.described_partitions(names, cursor, limit, call.origin)
            )
            or {}
        )
    except _LeadersUnknown:
        for topic in in_slices(known):
            topic.error_code, topic.partitions = ErrorCode.REQUEST_TIMED_OUT, ()
        return response
    for topic in in_slices(known):
        topic.partitions = [
            found.get((topic.name or "", each.partition_index))
            or TopicPartition(ErrorCode.LEADER_NOT_AVAILABLE, each.partition_index, -1, -1, each.replica_nodes)
            for each in in_slices(topic.partitions)
        ]
    return response


def handle_api_versions(context: ServerContext, request: ApiVersionsRequest, call: ApiRequest) -> ApiVersionsResponse:
    """The APIs that the gateway governs or forwards, in versions that the brokers support, and the cluster's features.

    If a client sends the id of a broker, all requests of the connection are for that broker (KIP-1242).
    """
    failure = api_versions.refusal(context, request, call)
    if failure is not None:
        return failure
    if request.cluster_id is not None and call.connection is not None:
        call.connection.node = request.node_id
    served = relay.served(context, call.connection)
    found = upstream_of(context).brokers.described()
    if found is None:
        return ApiVersionsResponse(0, served)
    # As in Kafka, features whose lowest level is 0 are left out before version 4.
    supported = [each for each in found.supported_features if each.min_version or call.version >= 4]
    return ApiVersionsResponse(
        0, served, 0, supported, found.finalized_features_epoch, found.finalized_features, found.zk_migration_ready
    )


HANDLERS: Final[dict[int, Callable[[ServerContext, Any, ApiRequest], Any]]] = {
    3: handle_metadata,
    18: handle_api_versions,
    75: handle_describe_topic_partitions,
    **relay_checks.HANDLERS,
}
"""Replace the handlers of a server with its own state."""
