"""UpdateFeatures (key 57), versions 0 to 2. v1 upgrade type, validate only · v2 no results (KIP-584, KIP-778)"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I8, I16, I32, STRING, Array, f, struct


@struct
class FeatureUpdateKey:
    feature: str = f(STRING)
    max_version_level: int = f(I16)
    allow_downgrade: bool = f(BOOL, until=0, default=False)
    upgrade_type: int = f(I8, since=1, default=1)


@struct
class UpdateFeaturesRequest:
    timeout_ms: int = f(I32, default=60000)
    feature_updates: Sequence[FeatureUpdateKey] = f(Array(FeatureUpdateKey), default=())
    validate_only: bool = f(BOOL, since=1, default=False)


@struct
class UpdatableFeatureResult:
    feature: str = f(STRING)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)


@struct
class UpdateFeaturesResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)
    results: Sequence[UpdatableFeatureResult] = f(Array(UpdatableFeatureResult), until=1, default=())
