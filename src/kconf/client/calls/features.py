"""ApiVersions as a call of its own: the features of a cluster, and the APIs of the node that answers."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.client.calls.base import CallResult, ClusterCall, NodeVersions, api_error
from kconf.model.cluster import FeatureDescription


class DescribeFeatures(ClusterCall[FeatureDescription]):
    name = "ApiVersions"

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.api_versions import ApiVersionsRequest
        from kconf.version import __version__

        return ApiVersionsRequest("kconf", __version__)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, None)}, body.throttle_time_ms)
        found = FeatureDescription(
            {each.name: (each.min_version, each.max_version) for each in body.supported_features},
            {each.name: each.max_version_level for each in body.finalized_features},
            None if body.finalized_features_epoch < 0 else body.finalized_features_epoch,
            {each.api_key: (each.min_version, each.max_version) for each in body.api_keys},
        )
        return CallResult({None: found}, body.throttle_time_ms)
