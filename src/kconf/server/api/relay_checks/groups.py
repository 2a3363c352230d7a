"""Authorizes and forwards DescribeGroups (15), ListGroups (16), DeleteGroups (42) and ConsumerGroupDescribe (69)."""

from __future__ import annotations

from kconf.errors import ErrorCode, KconfError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.cluster import GroupListing
from kconf.protocol.messages import consumer_group_describe as consumer_groups
from kconf.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from kconf.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from kconf.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from kconf.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kconf.protocol.messages.metadata import NOT_REQUESTED
from kconf.server.api.data_plane.groups import OPERATIONS
from kconf.server.api.metadata import operations
from kconf.server.api.relay_checks.checked import require_current_acls, split
from kconf.server.api.upstream_requests import ask, node_of, upstream_of
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

_HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


async def handle_list(context: ServerContext, request: ListGroupsRequest, call: ApiRequest) -> ListGroupsResponse:
    """The groups of one broker, or of all brokers if the client addresses none."""
    node = node_of(context, call.connection)
    if node is None:
        require_current_acls(context, call)
        response = await _of_all_brokers(context, request, call)
    else:
        response = await ask(context, call, node, request)
        response.throttle_time_ms = 0
    if not call.authorize(Operation.DESCRIBE, AclType.CLUSTER, CLUSTER_NAME):
        response.groups = [each for each in in_slices(response.groups) if _may(call, Operation.DESCRIBE, each.group_id)]
    return response


async def _of_all_brokers(context: ServerContext, request: ListGroupsRequest, call: ApiRequest) -> ListGroupsResponse:
    """List groups with the gateway's own account."""
    try:
        found = await upstream_of(context).groups(call.origin)
    except KconfError:
        return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return ListGroupsResponse(groups=[_listed(each) for each in in_slices(found) if _is_requested(request, each)])


def _is_requested(request: ListGroupsRequest, group: GroupListing) -> bool:
    states, types = ({each.lower() for each in names} for names in (request.states_filter, request.types_filter))
    return (not states or group.state.lower() in states) and (not types or group.type.lower() in types)


def _listed(group: GroupListing) -> ListedGroup:
    return ListedGroup(group.name, group.protocol, group.state, group.type)


def _may(call: ApiRequest, operation: Operation, group: str) -> bool:
    return call.authorize(operation, AclType.GROUP, group)


async def handle_describe(
    context: ServerContext, request: DescribeGroupsRequest, call: ApiRequest, node: int
) -> DescribeGroupsResponse:
    allowed, others = split(request.groups, lambda each: _may(call, Operation.DESCRIBE, each))
    denied = [DescribedGroup(ErrorCode.GROUP_AUTHORIZATION_FAILED, None, each) for each in in_slices(others)]
    found: list[DescribedGroup] = []
    if allowed or not denied:
        wanted = DescribeGroupsRequest(allowed, request.include_authorized_operations)
        found = list((await ask(context, call, node, wanted)).groups)
    for each in in_slices(found):
        if each.authorized_operations != NOT_REQUESTED:
            each.authorized_operations = operations(call, OPERATIONS, AclType.GROUP, each.group_id)
    return DescribeGroupsResponse(groups=[*denied, *found])


async def handle_delete(
    context: ServerContext, request: DeleteGroupsRequest, call: ApiRequest, node: int
) -> DeleteGroupsResponse:
    names = list(dict.fromkeys(in_slices(request.groups_names)))
    allowed, others = split(names, lambda each: _may(call, Operation.DELETE, each))
    denied = [DeletableGroupResult(each, ErrorCode.GROUP_AUTHORIZATION_FAILED) for each in in_slices(others)]
    found: list[DeletableGroupResult] = []
    if allowed or not denied:
        found = list((await ask(context, call, node, DeleteGroupsRequest(allowed))).results)
    return DeleteGroupsResponse(results=[*found, *denied])


async def handle_consumer_groups(
    context: ServerContext, request: ConsumerGroupDescribeRequest, call: ApiRequest, node: int
) -> ConsumerGroupDescribeResponse:
    allowed, others = split(request.group_ids, lambda each: _may(call, Operation.DESCRIBE, each))
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    denied = [consumer_groups.DescribedGroup(code, None, each) for each in in_slices(others)]
    found: list[consumer_groups.DescribedGroup] = []
    if allowed or not denied:
        wanted = ConsumerGroupDescribeRequest(allowed, request.include_authorized_operations)
        found = list((await ask(context, call, node, wanted)).groups)
    return ConsumerGroupDescribeResponse(groups=[*denied, *(_visible(call, each) for each in in_slices(found))])


def _visible(call: ApiRequest, group: consumer_groups.DescribedGroup) -> consumer_groups.DescribedGroup:
    """Hide a group with a topic that the caller may not describe, as in Kafka."""
    topics = {
        topic.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        if assignment is not None
        for topic in assignment.topic_partitions
    }
    if not all(call.authorize(Operation.DESCRIBE, AclType.TOPIC, each) for each in topics):
        return consumer_groups.DescribedGroup(ErrorCode.TOPIC_AUTHORIZATION_FAILED, _HIDDEN_TOPICS, group.group_id)
    if group.authorized_operations != NOT_REQUESTED:
        group.authorized_operations = operations(call, OPERATIONS, AclType.GROUP, group.group_id)
    return group
