"""Authorizes and forwards requests about brokers and the cluster.

FindCoordinator (10), DescribeLogDirs (35), ElectLeaders (43), ListPartitionReassignments (46), DescribeQuorum (55).
"""

from __future__ import annotations

from kconf.errors import ApiError, ErrorCode, NotAuthorized
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kconf.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from kconf.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from kconf.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kconf.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kconf.server.api.data_plane import elections
from kconf.server.api.data_plane.coordinators import BATCHED, denial
from kconf.server.api.upstream_requests import any_node, ask
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _may(call: ApiRequest, operation: Operation) -> bool:
    return call.authorize(operation, AclType.CLUSTER, CLUSTER_NAME)


async def handle_find_coordinator(
    context: ServerContext, request: FindCoordinatorRequest, call: ApiRequest
) -> FindCoordinatorResponse:
    """Forward FindCoordinator. The addresses in the response are the gateway's."""
    node = any_node(context, call.connection)
    if call.version < BATCHED:
        denied = denial(request.key, request.key_type, call)
        if denied is not None:
            return FindCoordinatorResponse(error_code=denied.code, error_message=denied.message, node_id=-1, port=-1)
        response: FindCoordinatorResponse = await ask(context, call, node, request)
        if response.node_id >= 0:
            response.host, response.port = _address(context, response.node_id, call)
        return response
    denials = {each: denial(each, request.key_type, call) for each in in_slices(request.coordinator_keys)}
    allowed = [each for each in in_slices(request.coordinator_keys) if denials[each] is None]
    found: list[Coordinator] = []
    if allowed or not denials:
        wanted = FindCoordinatorRequest(key_type=request.key_type, coordinator_keys=allowed)
        found = list((await ask(context, call, node, wanted)).coordinators)
    for each in in_slices(found):
        if each.node_id >= 0:
            each.host, each.port = _address(context, each.node_id, call)
    refusals = [Coordinator(key, -1, "", -1, denied.code, denied.message) for key, denied in denials.items() if denied]
    return FindCoordinatorResponse(coordinators=[*found, *refusals])


def _address(context: ServerContext, node: int, call: ApiRequest) -> tuple[str, int]:
    return call.host, context.addresses.port(call.listener, node, call.port)


async def handle_describe_log_dirs(
    context: ServerContext, request: DescribeLogDirsRequest, call: ApiRequest, node: int
) -> DescribeLogDirsResponse:
    if not _may(call, Operation.DESCRIBE):
        return DescribeLogDirsResponse(error_code=_DENIED)
    response: DescribeLogDirsResponse = await ask(context, call, node, request)
    return response


async def handle_elect_leaders(
    context: ServerContext, request: ElectLeadersRequest, call: ApiRequest
) -> ElectLeadersResponse:
    if not _may(call, Operation.ALTER):
        return elections.failed(request, ApiError(_DENIED, None))
    response: ElectLeadersResponse = await ask(context, call, any_node(context, call.connection), request)
    return response


async def handle_list_reassignments(
    context: ServerContext, request: ListPartitionReassignmentsRequest, call: ApiRequest
) -> ListPartitionReassignmentsResponse:
    if not _may(call, Operation.DESCRIBE):
        return ListPartitionReassignmentsResponse(error_code=_DENIED, error_message=None)
    response: ListPartitionReassignmentsResponse = await ask(context, call, any_node(context, call.connection), request)
    return response


async def handle_describe_quorum(
    context: ServerContext, request: DescribeQuorumRequest, call: ApiRequest
) -> DescribeQuorumResponse:
    """Forward DescribeQuorum.

    The response omits the controllers' listeners, which clients of a gateway cannot reach.
    """
    if not _may(call, Operation.DESCRIBE):
        return DescribeQuorumResponse(error_code=_DENIED, error_message=NotAuthorized.stock)
    response: DescribeQuorumResponse = await ask(context, call, any_node(context, call.connection), request)
    for each in response.nodes:
        each.listeners = ()
    return response
