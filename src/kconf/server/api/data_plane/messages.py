"""Produce (0) and Fetch (1): this server stores no messages.

They are advertised because Java clients before 2.4 do not connect to a server without Produce. After authorization,
every partition fails with INVALID_REQUEST (42), and nothing is stored. With acks=0 there is no response, so the
connection is closed, as Kafka does after an error.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from kconf.errors import ErrorCode, RemoteProtocolError
from kconf.model.acl import AclType, Operation
from kconf.protocol.messages.fetch import FetchedPartition, FetchedTopic, FetchRequest, FetchResponse
from kconf.protocol.messages.metadata import NO_UUID
from kconf.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

NO_MESSAGES: Final = "this server stores no messages"


def handle_produce(context: ServerContext, request: ProduceRequest, call: ApiRequest) -> ProduceResponse:
    if request.acks == 0:
        raise RemoteProtocolError(f"Produce with acks=0: {NO_MESSAGES}")
    responses = []
    for topic in in_slices(request.topic_data):
        code = _code(context, call, Operation.WRITE, topic.name, topic.topic_id)
        message = NO_MESSAGES if code == ErrorCode.INVALID_REQUEST else None
        refused = [
            PartitionProduceResponse(each.index, code, -1, error_message=message)
            for each in in_slices(topic.partition_data)
        ]
        responses.append(TopicProduceResponse(topic.name, topic.topic_id, refused))
    return ProduceResponse(responses)


def handle_fetch(context: ServerContext, request: FetchRequest, call: ApiRequest) -> FetchResponse:
    responses = []
    for topic in in_slices(request.topics):
        code = _code(context, call, Operation.READ, topic.topic, topic.topic_id)
        refused = [FetchedPartition(each.partition, code, -1) for each in in_slices(topic.partitions)]
        responses.append(FetchedTopic(topic.topic, topic.topic_id, refused))
    return FetchResponse(responses=responses)


def _code(context: ServerContext, call: ApiRequest, operation: Operation, name: str, topic_id: bytes) -> int:
    """The error code of a topic, given by name or, from version 13, by topic id."""
    if topic_id != NO_UUID or not name:
        found = context.service.state.snapshot.topic_ids.get(UUID(bytes=topic_id))
        if found is None:
            return ErrorCode.UNKNOWN_TOPIC_ID if topic_id != NO_UUID else ErrorCode.INVALID_REQUEST
        name = found
    allowed = call.authorize(operation, AclType.TOPIC, name)
    return ErrorCode.INVALID_REQUEST if allowed else ErrorCode.TOPIC_AUTHORIZATION_FAILED
