"""ApiVersions (key 18), versions 0 to 5.

v1 throttle time · v3 flexible, the client's software · v4 allows features whose minimum is 0 · v5 the cluster and node
that the client expects (KIP-1242). The response header never has tags, so that a client can read the response before it
knows the server's versions.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I16, I32, I64, STRING, Array, f, struct


@struct
class ApiVersionsRequest:
    client_software_name: str = f(STRING, since=3, default="")
    client_software_version: str = f(STRING, since=3, default="")
    cluster_id: str | None = f(STRING, since=5, nullable=5, default=None)
    node_id: int = f(I32, since=5, default=-1)


@struct
class ApiVersion:
    api_key: int = f(I16)
    min_version: int = f(I16)
    max_version: int = f(I16)


@struct
class SupportedFeatureKey:
    name: str = f(STRING)
    min_version: int = f(I16)
    max_version: int = f(I16)


@struct
class FinalizedFeatureKey:
    name: str = f(STRING)
    max_version_level: int = f(I16)
    min_version_level: int = f(I16)


@struct
class ApiVersionsResponse:
    error_code: int = f(I16)
    api_keys: Sequence[ApiVersion] = f(Array(ApiVersion))
    throttle_time_ms: int = f(I32, since=1, default=0)
    supported_features: Sequence[SupportedFeatureKey] = f(Array(SupportedFeatureKey), since=3, tag=0, default=())
    finalized_features_epoch: int = f(I64, since=3, tag=1, default=-1)
    finalized_features: Sequence[FinalizedFeatureKey] = f(Array(FinalizedFeatureKey), since=3, tag=2, default=())
    zk_migration_ready: bool = f(BOOL, since=3, tag=3, default=False)
