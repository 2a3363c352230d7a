"""DescribeTopicPartitions (75): topics by name, in pages."""

from __future__ import annotations

from collections.abc import Collection

from kconf.engine.topics.names import name_problem
from kconf.errors import ErrorCode, InvalidRequest
from kconf.model.acl import AclType, Operation
from kconf.model.resource import INTERNAL_TOPICS, Topic
from kconf.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribedTopic,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicPartition,
)
from kconf.server.api.metadata import leadership, topic_operations
from kconf.server.context import ApiRequest, ServerContext
from kconf.service import State
from kconf.util.slices import in_slices

_MAX_PARTITIONS = "max.request.partition.size.limit"


def handle(
    context: ServerContext, request: DescribeTopicPartitionsRequest, call: ApiRequest
) -> DescribeTopicPartitionsResponse:
    state = context.service.state
    try:
        names, first = _wanted(state, request, call)
    except InvalidRequest:
        failed = [DescribedTopic(ErrorCode.INVALID_REQUEST, each.name) for each in in_slices(request.topics)]
        return DescribeTopicPartitionsResponse(0, failed)
    left = max(min(state.resolver.number(_MAX_PARTITIONS), request.response_partition_limit), 1)
    topics: list[DescribedTopic] = []
    for name in in_slices(names):
        if left <= 0:
            return DescribeTopicPartitionsResponse(0, topics, Cursor(name, first))
        topic = state.snapshot.topics.get(name)
        if topic is None or not call.authorize(Operation.DESCRIBE, AclType.TOPIC, name):
            topics.append(_missing(name, call))
        else:
            page = topic.replicas[first : first + left]
            topics.append(_described(topic, first, page, call, context.broker_ids))
            left -= len(page)
            if first + len(page) < topic.partitions:
                return DescribeTopicPartitionsResponse(0, topics, Cursor(name, first + len(page)))
        first = 0
    return DescribeTopicPartitionsResponse(0, topics)


def _wanted(state: State, request: DescribeTopicPartitionsRequest, call: ApiRequest) -> tuple[list[str], int]:
    """The sorted topic names from the cursor on, and the first partition."""
    if request.topics:
        names = sorted({each.name for each in in_slices(request.topics)})
    else:
        known = state.snapshot.topics
        names = sorted(name for name in in_slices(known) if call.authorize(Operation.DESCRIBE, AclType.TOPIC, name))
    cursor = request.cursor
    if cursor is None:
        return names, 0
    if cursor.partition_index < 0 or (request.topics and cursor.topic_name not in names):
        raise InvalidRequest("the cursor does not match the request")
    rest = [name for name in in_slices(names) if name >= cursor.topic_name]
    return rest, cursor.partition_index if rest and rest[0] == cursor.topic_name else 0


def _missing(name: str, call: ApiRequest) -> DescribedTopic:
    if not call.authorize(Operation.DESCRIBE, AclType.TOPIC, name):
        return DescribedTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name, is_internal=name in INTERNAL_TOPICS)
    unknown = name_problem(name) is None
    return DescribedTopic(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if unknown else ErrorCode.INVALID_TOPIC_EXCEPTION,
        name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=topic_operations(name, call),
    )


def _described(
    topic: Topic, first: int, page: tuple[tuple[int, ...], ...], call: ApiRequest, alive: Collection[int]
) -> DescribedTopic:
    partitions = []
    for index, replicas in enumerate(page):
        code, leader, in_sync, offline = leadership(replicas, alive)
        partitions.append(TopicPartition(code, first + index, leader, 0, replicas, in_sync, (), (), offline))
    return DescribedTopic(
        0,
        topic.name,
        topic.id.bytes,
        topic.name in INTERNAL_TOPICS,
        partitions,
        topic_operations(topic.name, call),
    )
