"""ListConfigResources (74)."""

from __future__ import annotations

from kconf.errors import ErrorCode
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.resource import ResourceType
from kconf.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    ListedConfigResource,
)
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

_ORDER = (
    ResourceType.GROUP,
    ResourceType.CLIENT_METRICS,
    ResourceType.BROKER_LOGGER,
    ResourceType.BROKER,
    ResourceType.TOPIC,
)


def handle(
    context: ServerContext, request: ListConfigResourcesRequest, call: ApiRequest
) -> ListConfigResourcesResponse:
    if not call.authorize(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
        return ListConfigResourcesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    wanted = set(in_slices(request.resource_types)) or set(_ORDER)
    if call.version == 0:
        wanted = {ResourceType.CLIENT_METRICS}
    if not wanted <= set(_ORDER):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ListedConfigResource(name, kind)
            for kind in _ORDER
            if kind in wanted
            for name in in_slices(_names(context, kind))
        ]
    )


def _names(context: ServerContext, kind: ResourceType) -> list[str]:
    snapshot = context.service.state.snapshot
    match kind:
        case ResourceType.TOPIC:
            return sorted(snapshot.topics)
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return list(map(str, context.broker_ids))
        case _:
            return snapshot.names(kind)
