"""ListOffsets (2) and DeleteRecords (21): partitions are empty, so they start and end at offset 0."""

from __future__ import annotations

from collections import Counter
from typing import Final

from kconf.errors import ErrorCode
from kconf.model.acl import AclType, Operation
from kconf.model.resource import INTERNAL_TOPICS
from kconf.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kconf.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kconf.server.context import ApiRequest, ServerContext
from kconf.service import State
from kconf.util.slices import in_slices

_LATEST, _EARLIEST, _MAX_TIMESTAMP, _EARLIEST_LOCAL, _LATEST_TIERED, _EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
_SINCE: Final = {_MAX_TIMESTAMP: 7, _EARLIEST_LOCAL: 8, _LATEST_TIERED: 9, _EARLIEST_PENDING: 11}
_AT_ZERO: Final = frozenset([_LATEST, _EARLIEST, _EARLIEST_LOCAL])
_LEADER_EPOCH: Final = 0  # as in Metadata responses
_HIGH_WATERMARK: Final = -1


def handle_list(context: ServerContext, request: ListOffsetsRequest, call: ApiRequest) -> ListOffsetsResponse:
    state = context.service.state
    found: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    counts: Counter[tuple[str, int]] = Counter()
    for topic in in_slices(request.topics):
        allowed = call.authorize(Operation.DESCRIBE, AclType.TOPIC, topic.name)
        partitions = found.setdefault(topic.name, {})
        for each in in_slices(topic.partitions):
            counts[topic.name, each.partition_index] += 1
            if not allowed:
                failed = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif counts[topic.name, each.partition_index] > 1:
                failed = ErrorCode.INVALID_REQUEST
            else:
                failed = _list_error(state, topic.name, each, call.version)
            partitions[each.partition_index] = _listed(each, failed)
    return ListOffsetsResponse(
        topics=[ListOffsetsTopicResponse(name, list(each.values())) for name, each in in_slices(found.items()) if each]
    )


def _list_error(state: State, name: str, wanted: ListOffsetsPartition, version: int) -> ErrorCode:
    if wanted.timestamp < _LATEST and wanted.timestamp != _EARLIEST and version < _SINCE.get(wanted.timestamp, 1 << 15):
        return ErrorCode.UNSUPPORTED_VERSION
    if not has_partition(state, name, wanted.partition_index):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if wanted.current_leader_epoch > _LEADER_EPOCH:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE


def _listed(wanted: ListOffsetsPartition, code: ErrorCode) -> ListOffsetsPartitionResponse:
    if code or wanted.timestamp not in _AT_ZERO:
        return ListOffsetsPartitionResponse(wanted.partition_index, code)
    old_style = (0,) if wanted.max_num_offsets > 0 else ()  # version 0 returns a list of offsets
    return ListOffsetsPartitionResponse(wanted.partition_index, 0, old_style, offset=0, leader_epoch=_LEADER_EPOCH)


def handle_delete(context: ServerContext, request: DeleteRecordsRequest, call: ApiRequest) -> DeleteRecordsResponse:
    state = context.service.state
    found: dict[str, dict[int, DeleteRecordsPartitionResult]] = {}
    for topic in in_slices(request.topics):
        allowed = call.authorize(Operation.DELETE, AclType.TOPIC, topic.name)
        partitions = found.setdefault(topic.name, {})
        for each in in_slices(topic.partitions):
            if not allowed:
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            else:
                code = _delete_error(state, topic.name, each.partition_index, each.offset)
            index = each.partition_index
            partitions[index] = DeleteRecordsPartitionResult(index, -1 if code else 0, code)
    return DeleteRecordsResponse(
        topics=[DeleteRecordsTopicResult(name, list(each.values())) for name, each in in_slices(found.items()) if each]
    )


def _delete_error(state: State, name: str, partition: int, offset: int) -> ErrorCode:
    if not has_partition(state, name, partition):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if name in INTERNAL_TOPICS:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.NONE if offset in (0, _HIGH_WATERMARK) else ErrorCode.OFFSET_OUT_OF_RANGE


def has_partition(state: State, name: str, partition: int) -> bool:
    topic = state.snapshot.topics.get(name)
    return topic is not None and 0 <= partition < topic.partitions
