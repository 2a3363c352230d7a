"""Authorizes and forwards OffsetFetch (9) and OffsetDelete (47)."""

from __future__ import annotations

from uuid import UUID

from kconf.errors import ErrorCode
from kconf.model.acl import AclType, Operation
from kconf.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kconf.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kconf.server.api.data_plane.group_offsets import BATCHED, refused_group, topic_response
from kconf.server.api.relay_checks.checked import split
from kconf.server.api.upstream_requests import ask
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_WITH_IDS = 10  # from this version: topic ids instead of names


async def handle_fetch(
    context: ServerContext, request: OffsetFetchRequest, call: ApiRequest, node: int
) -> OffsetFetchResponse:
    if call.version >= BATCHED:
        return await _fetch_batch(context, request, call, node)
    if not call.authorize(Operation.DESCRIBE, AclType.GROUP, request.group_id):
        return refused_group(request, call.version)
    if request.topics is None:
        response: OffsetFetchResponse = await ask(context, call, node, request)
        response.topics = [each for each in in_slices(response.topics) if _may_describe(call, each.name)]
        return response
    allowed, others = split(request.topics, lambda each: _may_describe(call, each.name))
    denied = [topic_response(each.name, each.partition_indexes, _DENIED) for each in in_slices(others)]
    wanted = OffsetFetchRequest(group_id=request.group_id, topics=allowed, require_stable=request.require_stable)
    response = await ask(context, call, node, wanted)
    if not response.error_code:
        response.topics = [*response.topics, *denied]
    return response


def _may_describe(call: ApiRequest, topic: str | None) -> bool:
    return topic is not None and call.authorize(Operation.DESCRIBE, AclType.TOPIC, topic)


async def _fetch_batch(
    context: ServerContext, request: OffsetFetchRequest, call: ApiRequest, node: int
) -> OffsetFetchResponse:
    allowed: list[OffsetFetchRequestGroup] = []
    hidden: dict[str, list[OffsetFetchResponseTopics]] = {}
    refusals: dict[str, OffsetFetchResponseGroup] = {}
    for group in in_slices(request.groups):
        if not call.authorize(Operation.DESCRIBE, AclType.GROUP, group.group_id):
            code = ErrorCode.GROUP_AUTHORIZATION_FAILED
            refusals[group.group_id] = OffsetFetchResponseGroup(group.group_id, (), code)
        else:
            topics, hidden[group.group_id] = _split(context, group, call)
            allowed.append(OffsetFetchRequestGroup(group.group_id, group.member_id, group.member_epoch, topics))
    found: dict[str, OffsetFetchResponseGroup] = {}
    if allowed or not refusals:
        wanted = OffsetFetchRequest(groups=allowed, require_stable=request.require_stable)
        found = {each.group_id: each for each in (await ask(context, call, node, wanted)).groups}
    for each in in_slices(found.values()):
        if not each.error_code:
            visible = [one for one in in_slices(each.topics) if one.partitions and _is_visible(context, one, call)]
            each.topics = [*visible, *hidden.get(each.group_id, ())]
    names = dict.fromkeys(each.group_id for each in in_slices(request.groups))
    both = {**found, **refusals}
    return OffsetFetchResponse(groups=[both[name] for name in in_slices(names) if name in both])


def _split(
    context: ServerContext, group: OffsetFetchRequestGroup, call: ApiRequest
) -> tuple[list[OffsetFetchRequestTopics] | None, list[OffsetFetchResponseTopics]]:
    """The topics to request, and the error responses for those that the caller may not describe."""
    if group.topics is None:
        return None, []
    asked, hidden = [], []
    for topic in in_slices(group.topics):
        name = _name(context, topic, call)
        if _may_describe(call, name):
            asked.append(topic)
        else:
            code = _DENIED if name is not None else ErrorCode.UNKNOWN_TOPIC_ID
            partitions = [
                OffsetFetchResponsePartitions(each, -1, -1, "", code) for each in in_slices(topic.partition_indexes)
            ]
            hidden.append(OffsetFetchResponseTopics(topic.name, topic.topic_id, partitions))
    return asked, hidden


def _is_visible(context: ServerContext, topic: OffsetFetchResponseTopics, call: ApiRequest) -> bool:
    """Whether the caller may describe a topic in the response, also if it requested all topics."""
    return _may_describe(call, _name(context, topic, call))


def _name(
    context: ServerContext, topic: OffsetFetchRequestTopics | OffsetFetchResponseTopics, call: ApiRequest
) -> str | None:
    """The name of a topic, or None if its id is unknown, so that nobody is authorized for it."""
    if call.version < _WITH_IDS:
        return topic.name
    return context.service.state.snapshot.topic_ids.get(UUID(bytes=topic.topic_id))


async def handle_delete(
    context: ServerContext, request: OffsetDeleteRequest, call: ApiRequest, node: int
) -> OffsetDeleteResponse:
    if not call.authorize(Operation.DELETE, AclType.GROUP, request.group_id):
        return OffsetDeleteResponse(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    allowed, others = split(request.topics, lambda each: call.authorize(Operation.READ, AclType.TOPIC, each.name))
    denied = [
        OffsetDeleteResponseTopic(
            topic.name, [OffsetDeleteResponsePartition(each.partition_index, _DENIED) for each in topic.partitions]
        )
        for topic in in_slices(others)
    ]
    if denied and not allowed:
        return OffsetDeleteResponse(0, topics=denied)
    response: OffsetDeleteResponse = await ask(context, call, node, OffsetDeleteRequest(request.group_id, allowed))
    response.throttle_time_ms = 0
    if not response.error_code:
        response.topics = [*response.topics, *denied]
    return response
