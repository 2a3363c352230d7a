"""UpdateFeatures (57): sets feature levels, with Kafka's checks and error messages.

One error fails all updates. As in Kafka, `allow_downgrade` of version 0 has no effect, the last update of a feature
counts, and the timeout is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kconf.errors import ApiError, ErrorCode, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.resource import Resource
from kconf.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kconf.server.api.data_plane.names import shortened
from kconf.server.context import ApiRequest, ServerContext, store_error
from kconf.server.features import ELR, finalized_features, set_elr_version, supported_features
from kconf.util.slices import in_slices

_UPGRADE, _SAFE, _UNSAFE = 1, 2, 3
_REFUSED: Final = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
_ALL_FAILED: Final = "The update failed for all features since the following feature had an error: "


async def handle(context: ServerContext, request: UpdateFeaturesRequest, call: ApiRequest) -> UpdateFeaturesResponse:
    failure = None if call.authorize(Operation.ALTER, AclType.CLUSTER, CLUSTER_NAME) else _REFUSED
    failure = failure or _failure(context, request)
    if failure is None and not request.validate_only:
        failure = await _update(context, request, call)
    if failure is not None:
        entries = [(Resource.brokers(), (), failure)]
        context.audit_log.record(call.caller, entries, dry_run=request.validate_only)
        return UpdateFeaturesResponse(error_code=failure.code, error_message=failure.message)
    results = [UpdatableFeatureResult(each.feature, 0, "NONE") for each in in_slices(request.feature_updates)]
    return UpdateFeaturesResponse(results=results)


async def _update(context: ServerContext, request: UpdateFeaturesRequest, call: ApiRequest) -> ApiError | None:
    levels = {each.feature: each.max_version_level for each in in_slices(request.feature_updates)}
    if ELR not in levels:
        return None
    try:
        await set_elr_version(context.service, levels[ELR], call.caller)
    except StoreError as error:
        return store_error(error)
    return None


def _failure(context: ServerContext, request: UpdateFeaturesRequest) -> ApiError | None:
    store = context.service.store
    supported, finalized = supported_features(store), finalized_features(store)
    for update in {each.feature: each for each in in_slices(request.feature_updates)}.values():
        reason = _reason(update, supported, finalized.get(update.feature, 0), context.node_id)
        if reason is not None:
            what = (
                f"Invalid update version {update.max_version_level} for feature {shortened(update.feature)}. {reason}"
            )
            return ApiError(ErrorCode.INVALID_UPDATE_VERSION, _ALL_FAILED + what)
    return None


def _reason(
    update: FeatureUpdateKey, supported: Mapping[str, tuple[int, int]], current: int, node_id: int
) -> str | None:
    """Why an update is not possible. The checks are in Kafka's order."""
    level, kind = update.max_version_level, update.upgrade_type
    if kind not in (_UPGRADE, _SAFE, _UNSAFE):
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    if update.feature not in supported:
        if level == 0:
            return f"Feature {shortened(update.feature)} not found."
        return f"Local controller {node_id} does not support this feature."
    low, high = supported[update.feature]
    if not low <= level <= high:
        return f"Local controller {node_id} only supports versions {low}-{high}"
    if level < current and kind == _UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    if level > current and kind != _UPGRADE:
        return "Can't downgrade to a newer version."
    return None
