"""Authorizes ListOffsets (2) and DescribeProducers (61) and forwards them to the partition leaders."""

from __future__ import annotations

from kconf.engine.topics.names import name_problem
from kconf.errors import ErrorCode, TopicNotAuthorized
from kconf.model.acl import AclType, Operation
from kconf.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicRequest,
    TopicResponse,
)
from kconf.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kconf.server.api.relay_checks.checked import split
from kconf.server.api.upstream_requests import ask
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


async def handle_list_offsets(
    context: ServerContext, request: ListOffsetsRequest, call: ApiRequest, node: int
) -> ListOffsetsResponse:
    allowed, others = split(request.topics, lambda each: call.authorize(Operation.DESCRIBE, AclType.TOPIC, each.name))
    denied = [
        ListOffsetsTopicResponse(
            topic.name,
            [ListOffsetsPartitionResponse(each.partition_index, _DENIED) for each in in_slices(topic.partitions)],
        )
        for topic in in_slices(others)
    ]
    if denied and not allowed:
        return ListOffsetsResponse(topics=denied)
    wanted = ListOffsetsRequest(request.replica_id, request.isolation_level, allowed, request.timeout_ms)
    response: ListOffsetsResponse = await ask(context, call, node, wanted)
    response.topics = [*response.topics, *denied]
    return response


async def handle_describe_producers(
    context: ServerContext, request: DescribeProducersRequest, call: ApiRequest, node: int
) -> DescribeProducersResponse:
    denied = [_is_denied(each, call) for each in in_slices(request.topics)]
    allowed = [each for each, no in zip(request.topics, denied, strict=True) if not no]
    found = iter(())
    if allowed or not request.topics:
        found = iter((await ask(context, call, node, DescribeProducersRequest(allowed))).topics)
    return DescribeProducersResponse(
        topics=[_refusal(each) if no else next(found) for each, no in zip(request.topics, denied, strict=True)]
    )


def _is_denied(topic: TopicRequest, call: ApiRequest) -> bool:
    """Whether authorization fails. Invalid names are left to the broker: as in Kafka, they are refused first."""
    return name_problem(topic.name) is None and not call.authorize(Operation.READ, AclType.TOPIC, topic.name)


def _refusal(topic: TopicRequest) -> TopicResponse:
    return TopicResponse(
        topic.name,
        [PartitionResponse(each, _DENIED, TopicNotAuthorized.stock) for each in in_slices(topic.partition_indexes)],
    )
