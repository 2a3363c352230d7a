"""DescribeCluster (60)."""

from __future__ import annotations

from kconf.errors import ErrorCode
from kconf.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kconf.protocol.messages.metadata import NOT_REQUESTED
from kconf.server.api.metadata import cluster_operations, controller, nodes
from kconf.server.context import ApiRequest, ServerContext

_BROKERS, _CONTROLLERS = 1, 2


def handle(context: ServerContext, request: DescribeClusterRequest, call: ApiRequest) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        known = request.endpoint_type == _CONTROLLERS
        problem = "this server is not a controller" if known else f"unknown endpoint type {request.endpoint_type}"
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=problem,
        )  # the endpoint type stays 1, as in Kafka
    return DescribeClusterResponse(
        endpoint_type=_BROKERS,
        cluster_id=context.cluster_id,
        controller_id=controller(context),
        brokers=[DescribeClusterBroker(*each) for each in nodes(context, call)]
        + (_fenced(context, call) if request.include_fenced_brokers else []),
        cluster_authorized_operations=cluster_operations(call)
        if request.include_cluster_authorized_operations
        else NOT_REQUESTED,
    )


def _fenced(context: ServerContext, call: ApiRequest) -> list[DescribeClusterBroker]:
    """The brokers behind a gateway that do not run."""
    return [
        DescribeClusterBroker(
            each.id, call.host, context.addresses.port(call.listener, each.id, call.port), each.rack, True
        )
        for each in context.service.store.members.fenced.values()
    ]
