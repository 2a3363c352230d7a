"""DescribeGroups (15), ListGroups (16), DeleteGroups (42) and ConsumerGroupDescribe (69): there are no groups.

Groups that have configs are listed by ListConfigResources.
"""

from __future__ import annotations

from kconf.errors import ErrorCode
from kconf.model.acl import AclType, Operation
from kconf.protocol.messages import consumer_group_describe as consumer_groups
from kconf.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from kconf.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from kconf.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from kconf.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kconf.protocol.messages.metadata import NOT_REQUESTED
from kconf.server.api.data_plane.names import shortened
from kconf.server.api.metadata import operations
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

OPERATIONS = (3, 6, 8, 10, 11)
_DEAD = "Dead"  # the state of a group that does not exist; no error up to version 5


def handle_describe(
    _context: ServerContext, request: DescribeGroupsRequest, call: ApiRequest
) -> DescribeGroupsResponse:
    with_operations = request.include_authorized_operations
    return DescribeGroupsResponse(
        groups=[_described(each, call, with_operations) for each in in_slices(request.groups)]
    )


def _described(group: str, call: ApiRequest, with_operations: bool) -> DescribedGroup:
    if not call.authorize(Operation.DESCRIBE, AclType.GROUP, group):
        return DescribedGroup(ErrorCode.GROUP_AUTHORIZATION_FAILED, None, group)
    if call.version <= 5:
        rights = operations(call, OPERATIONS, AclType.GROUP, group) if with_operations else NOT_REQUESTED
        return DescribedGroup(0, None, group, _DEAD, authorized_operations=rights)
    return DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, _not_found(group), group, _DEAD)


def handle_list(_context: ServerContext, _request: ListGroupsRequest, _call: ApiRequest) -> ListGroupsResponse:
    return ListGroupsResponse()


def handle_delete(_context: ServerContext, request: DeleteGroupsRequest, call: ApiRequest) -> DeleteGroupsResponse:
    names = dict.fromkeys(in_slices(request.groups_names))
    return DeleteGroupsResponse(results=[_deleted(each, call) for each in in_slices(names)])


def _deleted(group: str, call: ApiRequest) -> DeletableGroupResult:
    allowed = call.authorize(Operation.DELETE, AclType.GROUP, group)
    return DeletableGroupResult(
        group, ErrorCode.GROUP_ID_NOT_FOUND if allowed else ErrorCode.GROUP_AUTHORIZATION_FAILED
    )


def handle_consumer_groups(
    _context: ServerContext, request: ConsumerGroupDescribeRequest, call: ApiRequest
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(groups=[_consumer_group(each, call) for each in in_slices(request.group_ids)])


def _consumer_group(group: str, call: ApiRequest) -> consumer_groups.DescribedGroup:
    if not call.authorize(Operation.DESCRIBE, AclType.GROUP, group):
        return consumer_groups.DescribedGroup(ErrorCode.GROUP_AUTHORIZATION_FAILED, None, group)
    if not group:
        return consumer_groups.DescribedGroup(ErrorCode.INVALID_GROUP_ID, None, group)
    return consumer_groups.DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, _not_found(group), group)


def _not_found(group: str) -> str:
    return f"Group {shortened(group)} not found."
