"""OffsetFetch (9) and OffsetDelete (47): no group has committed an offset."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kconf.errors import ErrorCode
from kconf.model.acl import AclType, Operation
from kconf.protocol.messages.metadata import NO_UUID
from kconf.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kconf.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

BATCHED = 8  # from this version: a list of groups
_WITH_ERROR = 2  # from this version: an error code per group


def handle_fetch(context: ServerContext, request: OffsetFetchRequest, call: ApiRequest) -> OffsetFetchResponse:
    if call.version >= BATCHED:
        return OffsetFetchResponse(groups=[_group(context, each, call) for each in in_slices(request.groups)])
    if not call.authorize(Operation.DESCRIBE, AclType.GROUP, request.group_id):
        return refused_group(request, call.version)
    topics = [
        topic_response(each.name, each.partition_indexes, _topic_error(each.name, call))
        for each in in_slices(request.topics or ())
    ]
    return OffsetFetchResponse(topics=topics)


def refused_group(request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    if version >= _WITH_ERROR:
        return OffsetFetchResponse(error_code=code)
    topics = [topic_response(each.name, each.partition_indexes, code) for each in in_slices(request.topics or ())]
    return OffsetFetchResponse(topics=topics)


def topic_response(name: str, indexes: Sequence[int], code: int) -> OffsetFetchResponseTopic:
    partitions = [OffsetFetchResponsePartition(each, -1, error_code=code) for each in in_slices(indexes)]
    return OffsetFetchResponseTopic(name, partitions)


def _topic_error(name: str, call: ApiRequest) -> int:
    allowed = call.authorize(Operation.DESCRIBE, AclType.TOPIC, name)
    return ErrorCode.NONE if allowed else ErrorCode.TOPIC_AUTHORIZATION_FAILED


def _group(context: ServerContext, group: OffsetFetchRequestGroup, call: ApiRequest) -> OffsetFetchResponseGroup:
    if not call.authorize(Operation.DESCRIBE, AclType.GROUP, group.group_id):
        return OffsetFetchResponseGroup(group.group_id, (), ErrorCode.GROUP_AUTHORIZATION_FAILED)
    topics = [_topic_of_group(context, each, call) for each in in_slices(group.topics or ())]
    return OffsetFetchResponseGroup(group.group_id, topics, 0)


def _topic_of_group(
    context: ServerContext, topic: OffsetFetchRequestTopics, call: ApiRequest
) -> OffsetFetchResponseTopics:
    name: str | None = topic.name
    if topic.topic_id != NO_UUID:
        name = context.service.state.snapshot.topic_ids.get(UUID(bytes=topic.topic_id))
    code = ErrorCode.UNKNOWN_TOPIC_ID if name is None else _topic_error(name, call)
    partitions = [OffsetFetchResponsePartitions(each, -1, -1, "", code) for each in in_slices(topic.partition_indexes)]
    return OffsetFetchResponseTopics(topic.name, topic.topic_id, partitions)


def handle_delete(_context: ServerContext, request: OffsetDeleteRequest, call: ApiRequest) -> OffsetDeleteResponse:
    if not call.authorize(Operation.DELETE, AclType.GROUP, request.group_id):
        return OffsetDeleteResponse(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return OffsetDeleteResponse(ErrorCode.GROUP_ID_NOT_FOUND if request.group_id else ErrorCode.INVALID_GROUP_ID)
