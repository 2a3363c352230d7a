"""FindCoordinator (10): always this server. It has no groups and no transactions."""

from __future__ import annotations

import re
from typing import Final

from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kconf.server.api.metadata import controller
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
BATCHED: Final = 4  # from this version: a list of keys
_SHARES: Final = 6  # from this version: coordinators of share partitions
_SHARE_KEY: Final = re.compile(r"[^:]*:[A-Za-z0-9_-]{22}:\d+")  # group, topic id, partition


def handle(context: ServerContext, request: FindCoordinatorRequest, call: ApiRequest) -> FindCoordinatorResponse:
    keys = request.coordinator_keys if call.version >= BATCHED else (request.key,)
    found = [_found(context, each, request.key_type, call) for each in in_slices(keys)]
    if call.version >= BATCHED:
        return FindCoordinatorResponse(coordinators=found)
    (one,) = found
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message or "NONE",  # as in Kafka for these versions
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


def _found(context: ServerContext, key: str, kind: int, call: ApiRequest) -> Coordinator:
    failure = denial(key, kind, call) or _failure(key, kind, call)
    if failure is not None:
        return Coordinator(key, -1, "", -1, failure.code, failure.message)
    return Coordinator(key, controller(context), call.host, call.port, 0, "")


def denial(key: str, kind: int, call: ApiRequest) -> ApiError | None:
    """The error for a caller that may not look up this coordinator, or None."""
    if kind == _GROUP and not call.authorize(Operation.DESCRIBE, AclType.GROUP, key):
        return ApiError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")
    if kind == _TRANSACTION and not call.authorize(Operation.DESCRIBE, AclType.TRANSACTIONAL_ID, key):
        return ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Transactional Id authorization failed.")
    if kind == _SHARE and not call.authorize(Operation.CLUSTER_ACTION, AclType.CLUSTER, CLUSTER_NAME):
        return ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    return None


def _failure(key: str, kind: int, call: ApiRequest) -> ApiError | None:
    if kind in (_GROUP, _TRANSACTION):
        return None
    if kind == _SHARE:
        fits = call.version >= _SHARES and _SHARE_KEY.fullmatch(key) is not None
        return None if fits else ApiError(ErrorCode.INVALID_REQUEST, "")
    return ApiError(ErrorCode.INVALID_REQUEST, f"unknown coordinator type {kind}")
