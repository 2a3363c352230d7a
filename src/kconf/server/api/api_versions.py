"""ApiVersions (18): the APIs and versions of this server. Every version is answered, so that clients can negotiate one.

From version 5, a client may send the cluster id and node id that it expects (KIP-1242). As in Kafka 4.4, one without
the other is an invalid request. If the cluster or node is another one, the response is REBOOTSTRAP_REQUIRED, and the
client goes back to its bootstrap servers.
"""

from __future__ import annotations

import re

from kconf.errors import ErrorCode
from kconf.protocol.apis import API_VERSIONS, APIS
from kconf.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kconf.server.context import ApiRequest, ServerContext
from kconf.server.features import finalized_features, supported_features

NO_NODE = -1
_SOFTWARE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
SERVED: list[ApiVersion] = []
"""Filled by router.py: an API is advertised when it has a handler."""


def handle(context: ServerContext, request: ApiVersionsRequest, call: ApiRequest) -> ApiVersionsResponse:
    failure = refusal(context, request, call)
    if failure is not None:
        return failure
    store = context.service.store
    if not (levels := supported_features(store)):
        return ApiVersionsResponse(0, SERVED)
    # As in Kafka, features whose lowest level is 0 are left out before version 4, and level 0 is not finalized.
    supported = [SupportedFeatureKey(name, *each) for name, each in levels.items() if each[0] or call.version >= 4]
    finalized = [FinalizedFeatureKey(name, each, each) for name, each in finalized_features(store).items()]
    epoch = context.service.state.snapshot.revision if finalized else -1
    return ApiVersionsResponse(0, SERVED, 0, supported, epoch, finalized)


def refusal(context: ServerContext, request: ApiVersionsRequest, call: ApiRequest) -> ApiVersionsResponse | None:
    if not _is_valid(request, call.version):
        return ApiVersionsResponse(ErrorCode.INVALID_REQUEST, ())
    if request.cluster_id is not None and not _is_here(context, request.cluster_id, request.node_id, call.node):
        return ApiVersionsResponse(ErrorCode.REBOOTSTRAP_REQUIRED, ())
    return None


def _is_valid(request: ApiVersionsRequest, version: int) -> bool:
    if (request.cluster_id is None) != (request.node_id == NO_NODE):
        return False
    names = (request.client_software_name, request.client_software_version)
    return version < 3 or all(_SOFTWARE.fullmatch(name) for name in names)


def _is_here(context: ServerContext, cluster_id: str, node_id: int, port_of: int | None) -> bool:
    """Whether this server is the expected node.

    With real brokers it answers for all of them, except on a broker's port.
    """
    if cluster_id != context.cluster_id:
        return False
    if port_of is not None:
        return node_id == port_of
    members = context.service.store.members
    return node_id == context.broker_id or (bool(members.brokers) and node_id in members.ids)


def unsupported() -> ApiVersionsResponse:
    """The response, in version 0, to an unsupported version."""
    api = APIS[API_VERSIONS]
    return ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION, [ApiVersion(API_VERSIONS, api.min, api.max)])
