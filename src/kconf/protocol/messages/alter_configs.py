"""AlterConfigs (key 33), versions 0 to 2: replaces all overrides of a resource. v2 flexible."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I8, I16, I32, STRING, Array, f, struct


@struct
class AlterableConfig:
    name: str = f(STRING)
    value: str | None = f(STRING, nullable=0, secret=True)


@struct
class AlterConfigsResource:
    resource_type: int = f(I8)
    resource_name: str = f(STRING)
    configs: Sequence[AlterableConfig] = f(Array(AlterableConfig))


@struct
class AlterConfigsRequest:
    resources: Sequence[AlterConfigsResource] = f(Array(AlterConfigsResource))
    validate_only: bool = f(BOOL, default=False)
    incremental_update: bool = f(BOOL, since=2, tag=10248, default=False)  # KIP-248: other keys are unchanged


@struct
class AlterConfigsResourceResponse:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)
    resource_type: int = f(I8)
    resource_name: str = f(STRING)


@struct
class AlterConfigsResponse:
    throttle_time_ms: int = f(I32, default=0)
    responses: Sequence[AlterConfigsResourceResponse] = f(Array(AlterConfigsResourceResponse), default=())
