"""Metadata (3), DescribeCluster (60) and DescribeTopicPartitions (75): who is there, and which topics.

There is one broker, this one, and it leads everything. Clients are told the address by which they reached us.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from uuid import UUID

from kconf.engine.names import name_problem
from kconf.engine.policy import Gate
from kconf.engine.topics import Created, plan_create_topics
from kconf.errors import ErrorCode, Failure, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.alteration import TopicWish
from kconf.model.plan import Plan
from kconf.model.resource import INTERNAL_TOPICS, Topic
from kconf.server.context import Call, Context
from kconf.service import State
from kconf.wire.describe_cluster import DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse
from kconf.wire.metadata import (
    NO_UUID,
    NOT_ASKED,
    MetadataBroker,
    MetadataPartition,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataTopic,
)

_TOPIC_OPERATIONS = (3, 4, 5, 6, 7, 8, 10, 11)
_CLUSTER_OPERATIONS = (5, 7, 8, 9, 10, 11, 12)
_BROKERS, _CONTROLLERS = 1, 2
_background: set[asyncio.Task[object]] = set()


def handle(context: Context, request: MetadataRequest, call: Call) -> MetadataResponse:
    state = context.service.state
    code = _whole_failure(request, call.version)
    if code:
        wanted = request.topics or ()
        failed = [MetadataTopic(code, each.name or "", each.topic_id) for each in wanted]
        return MetadataResponse(topics=failed, error_code=code)
    return MetadataResponse(
        brokers=[MetadataBroker(context.node_id, call.host, call.port, context.rack)],
        cluster_id=context.cluster_id,
        controller_id=context.node_id,
        topics=_topics(context, state, request, call),
        cluster_authorized_operations=cluster_operations(call)
        if request.include_cluster_authorized_operations
        else NOT_ASKED,
    )


def _whole_failure(request: MetadataRequest, version: int) -> int:
    """As in Kafka: an id before ids were served, or neither name nor id, fails it all, and the answer names nobody."""
    wanted = request.topics or ()
    with_id = any(each.topic_id != NO_UUID for each in wanted)
    nameless = any(each.name is None for each in wanted)
    if version in (10, 11) and (with_id or nameless):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.UNKNOWN_SERVER_ERROR if nameless and not with_id else 0


def _topics(context: Context, state: State, request: MetadataRequest, call: Call) -> Sequence[MetadataTopic]:
    known = state.snapshot.topics
    asked = request.include_topic_authorized_operations
    if request.topics is None or (call.version == 0 and not request.topics):
        visible = (name for name in known if call.authorise(Operation.DESCRIBE, AclType.TOPIC, name))
        return [_topic(known[name], call, asked) for name in visible]
    if any(each.topic_id != NO_UUID for each in request.topics):
        # As in Kafka: beside an id, elements with a name alone are left out.
        return [_by_id(state, each, call, asked) for each in request.topics if each.topic_id != NO_UUID]
    names = dict.fromkeys(each.name for each in request.topics if each.name is not None)
    return [_by_name(context, state, name, request, call) for name in names]


def _by_id(state: State, wanted: MetadataRequestTopic, call: Call, asked: bool) -> MetadataTopic:
    name = state.snapshot.topic_ids.get(UUID(bytes=wanted.topic_id))
    if name is None:
        return MetadataTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, wanted.topic_id)
    if not call.authorise(Operation.DESCRIBE, AclType.TOPIC, name):
        return MetadataTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, wanted.topic_id)
    return _topic(state.snapshot.topics[name], call, asked)


def _by_name(context: Context, state: State, name: str, request: MetadataRequest, call: Call) -> MetadataTopic:
    if not call.authorise(Operation.DESCRIBE, AclType.TOPIC, name):
        return MetadataTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
    topic = state.snapshot.topics.get(name)
    asked = request.include_topic_authorized_operations
    if topic is not None:
        return _topic(topic, call, asked)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if name_problem(name) is not None:
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
    elif request.allow_auto_topic_creation and state.ladder.flag("auto.create.topics.enable"):
        if not _may_create(name, call):
            return MetadataTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
        _create_in_background(context, name, call)
    operations = topic_operations(name, call) if asked else NOT_ASKED
    return MetadataTopic(code, name, is_internal=name in INTERNAL_TOPICS, topic_authorized_operations=operations)


def _may_create(name: str, call: Call) -> bool:
    return call.authorise(Operation.CREATE, AclType.CLUSTER, CLUSTER_NAME) or call.authorise(
        Operation.CREATE, AclType.TOPIC, name
    )


def _create_in_background(context: Context, name: str, call: Call) -> None:
    """As in Kafka: this answer says that the topic is unknown, the next one knows it."""

    def plan(state: State, gate: Gate) -> Plan[dict[str, Created | Failure]]:
        return plan_create_topics(state.snapshot, [TopicWish(name)], context.cluster(state), gate=gate)

    async def create() -> None:
        try:
            await context.policies.decide(context.service, plan, call.caller)
        except StoreError:
            return  # the next request tries again

    task: asyncio.Task[object] = asyncio.create_task(create())
    _background.add(task)
    task.add_done_callback(_background.discard)


def _topic(topic: Topic, call: Call, asked: bool) -> MetadataTopic:
    return MetadataTopic(
        0,
        topic.name,
        topic.id.bytes,
        topic.name in INTERNAL_TOPICS,
        [
            MetadataPartition(0, index, replicas[0], 0, replicas, replicas)
            for index, replicas in enumerate(topic.replicas)
        ],
        topic_operations(topic.name, call) if asked else NOT_ASKED,
    )


def topic_operations(name: str, call: Call) -> int:
    return _bits(op for op in _TOPIC_OPERATIONS if call.authorise(Operation(op), AclType.TOPIC, name))


def cluster_operations(call: Call) -> int:
    if not call.authorise(Operation.DESCRIBE, AclType.CLUSTER, CLUSTER_NAME):
        return 0
    return _bits(op for op in _CLUSTER_OPERATIONS if call.authorise(Operation(op), AclType.CLUSTER, CLUSTER_NAME))


def _bits(operations: Iterable[int]) -> int:
    return sum(1 << operation for operation in operations)


def handle_cluster(context: Context, request: DescribeClusterRequest, call: Call) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        known = request.endpoint_type == _CONTROLLERS
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message="this is an endpoint of brokers"
            if known
            else f"there is no endpoint type {request.endpoint_type}",
        )  # the endpoint type stays 1, as in Kafka
    return DescribeClusterResponse(
        endpoint_type=_BROKERS,
        cluster_id=context.cluster_id,
        controller_id=context.node_id,
        brokers=[DescribeClusterBroker(context.node_id, call.host, call.port, context.rack)],
        cluster_authorized_operations=cluster_operations(call)
        if request.include_cluster_authorized_operations
        else NOT_ASKED,
    )
