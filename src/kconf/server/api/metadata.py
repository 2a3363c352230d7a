"""Metadata (3): brokers and topics.

Clients get the address to which they are connected, and for other servers of the store the address of the same
listener. If there are real brokers, they are listed instead, all at this server's address, since it answers for them.
The leader of a partition is nominal: its first live replica.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from kconf.engine.policy.hooks import PolicyHooks
from kconf.engine.topics.create import Created, plan_create_topics
from kconf.engine.topics.names import name_problem
from kconf.errors import ApiError, ErrorCode, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.alteration import NewTopic
from kconf.model.plan import Plan
from kconf.model.resource import INTERNAL_TOPICS, Topic
from kconf.protocol.messages.metadata import (
    NO_UUID,
    NOT_REQUESTED,
    MetadataBroker,
    MetadataPartition,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataTopic,
)
from kconf.server.context import ApiRequest, ServerContext
from kconf.service import State
from kconf.util.slices import in_slices

_TOPIC_OPERATIONS = (3, 4, 5, 6, 7, 8, 10, 11)
_CLUSTER_OPERATIONS = (5, 7, 8, 9, 10, 11, 12)
_background: set[asyncio.Task[object]] = set()


def handle(context: ServerContext, request: MetadataRequest, call: ApiRequest) -> MetadataResponse:
    state = context.service.state
    code = _request_error(request, call.version)
    if code:
        wanted = request.topics or ()
        failed = [MetadataTopic(code, each.name or "", each.topic_id) for each in in_slices(wanted)]
        return MetadataResponse(topics=failed, error_code=code)
    return MetadataResponse(
        brokers=[MetadataBroker(*each) for each in nodes(context, call)],
        cluster_id=context.cluster_id,
        controller_id=controller(context),
        topics=_topics(context, state, request, call),
        cluster_authorized_operations=cluster_operations(call)
        if request.include_cluster_authorized_operations
        else NOT_REQUESTED,
    )


def nodes(context: ServerContext, call: ApiRequest) -> list[tuple[int, str, int, str | None]]:
    """Id, host, port and rack of every broker, as advertised to this caller."""
    here = (call.host, call.port)
    members = context.service.store.members
    if members.brokers:
        ports = {number: context.addresses.port(call.listener, number, call.port) for number in members.ids}
        return [(number, call.host, ports[number], members.brokers[number].rack) for number in members.ids]
    others = [
        (each.id, *each.endpoints[call.listener], each.rack)
        for each in members.servers.values()
        if each.id != context.node_id and call.listener in each.endpoints
    ]
    return sorted([(context.node_id, *here, context.rack), *others])


def controller(context: ServerContext) -> int:
    """The controller id in responses: this server, or the first broker that it answers for."""
    return context.broker_id if context.broker_id in context.broker_ids else context.broker_ids[0]


def leadership(replicas: tuple[int, ...], alive: Collection[int]) -> tuple[int, int, Sequence[int], Sequence[int]]:
    """The error code, leader, in-sync replicas and offline replicas of a partition."""
    if all(each in alive for each in replicas):
        return 0, replicas[0], replicas, ()
    online = [each for each in replicas if each in alive]
    offline = [each for each in replicas if each not in alive]
    return (0, online[0], online, offline) if online else (ErrorCode.LEADER_NOT_AVAILABLE, -1, replicas[:1], offline)


def _request_error(request: MetadataRequest, version: int) -> int:
    """The error code of the whole request.

    As in Kafka, an id in a version without ids, or neither name nor id, is an error.
    """
    wanted = request.topics or ()
    with_id = any(each.topic_id != NO_UUID for each in in_slices(wanted))
    nameless = any(each.name is None for each in in_slices(wanted))
    if version in (10, 11) and (with_id or nameless):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.UNKNOWN_SERVER_ERROR if nameless and not with_id else 0


def _topics(
    context: ServerContext, state: State, request: MetadataRequest, call: ApiRequest
) -> Sequence[MetadataTopic]:
    known = state.snapshot.topics
    with_operations = request.include_topic_authorized_operations
    if request.topics is None or (call.version == 0 and not request.topics):
        visible = (name for name in in_slices(known) if call.authorize(Operation.DESCRIBE, AclType.TOPIC, name))
        return [_topic(context, known[name], call, with_operations) for name in visible]
    if any(each.topic_id != NO_UUID for each in in_slices(request.topics)):
        # As in Kafka, if an element has an id, elements with only a name are ignored.
        wanted = in_slices(request.topics)
        return [_by_id(context, state, each, call, with_operations) for each in wanted if each.topic_id != NO_UUID]
    names = dict.fromkeys(each.name for each in in_slices(request.topics) if each.name is not None)
    return [_by_name(context, state, name, request, call) for name in in_slices(names)]


def _by_id(
    context: ServerContext, state: State, wanted: MetadataRequestTopic, call: ApiRequest, with_operations: bool
) -> MetadataTopic:
    name = state.snapshot.topic_ids.get(UUID(bytes=wanted.topic_id))
    if name is None:
        return MetadataTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, wanted.topic_id)
    if not call.authorize(Operation.DESCRIBE, AclType.TOPIC, name):
        return MetadataTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, wanted.topic_id)
    return _topic(context, state.snapshot.topics[name], call, with_operations)


def _by_name(
    context: ServerContext, state: State, name: str, request: MetadataRequest, call: ApiRequest
) -> MetadataTopic:
    if not call.authorize(Operation.DESCRIBE, AclType.TOPIC, name):
        return MetadataTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
    topic = state.snapshot.topics.get(name)
    with_operations = request.include_topic_authorized_operations
    if topic is not None:
        return _topic(context, topic, call, with_operations)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if name_problem(name) is not None:
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
    elif request.allow_auto_topic_creation and state.resolver.flag("auto.create.topics.enable"):
        if not _may_create(name, call):
            return MetadataTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
        _create_in_background(context, name, call)
    operations = topic_operations(name, call) if with_operations else NOT_REQUESTED
    return MetadataTopic(code, name, is_internal=name in INTERNAL_TOPICS, topic_authorized_operations=operations)


def _may_create(name: str, call: ApiRequest) -> bool:
    return call.authorize(Operation.CREATE, AclType.CLUSTER, CLUSTER_NAME) or call.authorize(
        Operation.CREATE, AclType.TOPIC, name
    )


def _create_in_background(context: ServerContext, name: str, call: ApiRequest) -> None:
    """Auto-create a topic. As in Kafka, this response reports it as unknown, and the next one includes it."""

    def plan(state: State, hooks: PolicyHooks) -> Plan[dict[str, Created | ApiError]]:
        return plan_create_topics(state.snapshot, [NewTopic(name)], context.cluster(state), gate=hooks)

    async def create() -> None:
        try:
            await context.service.submit(plan, call.caller, context.policies)
        except StoreError:
            return  # the next Metadata request tries again

    task: asyncio.Task[object] = asyncio.create_task(create())
    _background.add(task)
    task.add_done_callback(_background.discard)


def _topic(context: ServerContext, topic: Topic, call: ApiRequest, with_operations: bool) -> MetadataTopic:
    alive = context.broker_ids
    partitions = []
    for index, replicas in enumerate(topic.replicas):
        code, leader, in_sync, offline = leadership(replicas, alive)
        partitions.append(MetadataPartition(code, index, leader, 0, replicas, in_sync, offline))
    return MetadataTopic(
        0,
        topic.name,
        topic.id.bytes,
        topic.name in INTERNAL_TOPICS,
        partitions,
        topic_operations(topic.name, call) if with_operations else NOT_REQUESTED,
    )


def topic_operations(name: str, call: ApiRequest) -> int:
    return operations(call, _TOPIC_OPERATIONS, AclType.TOPIC, name)


def cluster_operations(call: ApiRequest) -> int:
    if not call.authorize(Operation.DESCRIBE, AclType.CLUSTER, CLUSTER_NAME):
        return 0
    return operations(call, _CLUSTER_OPERATIONS, AclType.CLUSTER, CLUSTER_NAME)


def operations(call: ApiRequest, among: Iterable[int], kind: AclType, name: str) -> int:
    """The operations that the caller is authorized for, as a bit field."""
    return sum(1 << each for each in among if call.authorize(Operation(each), kind, name))
