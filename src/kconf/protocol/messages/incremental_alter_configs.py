"""IncrementalAlterConfigs (key 44), versions 0 and 1: KIP-339's SET, DELETE, APPEND, SUBTRACT. v1 flexible.

The response is the same as that of AlterConfigs, where it is declared.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I8, I32, I64, STRING, Array, f, struct
from kconf.protocol.messages.alter_configs import AlterConfigsResourceResponse


@struct
class IncrementalAlterableConfig:
    name: str = f(STRING)
    config_operation: int = f(I8)
    value: str | None = f(STRING, nullable=0, secret=True)


@struct
class IncrementalAlterConfigsResource:
    resource_type: int = f(I8)
    resource_name: str = f(STRING)
    configs: Sequence[IncrementalAlterableConfig] = f(Array(IncrementalAlterableConfig))
    expected_revision: int = f(I64, since=1, tag=40001, default=-1)  # kconf: refuse if changed after this


@struct
class IncrementalAlterConfigsRequest:
    resources: Sequence[IncrementalAlterConfigsResource] = f(Array(IncrementalAlterConfigsResource))
    validate_only: bool = f(BOOL, default=False)
    reason: str | None = f(STRING, since=1, nullable=1, tag=40002, default=None)  # kconf: for the journal


@struct
class IncrementalAlterConfigsResponse:
    throttle_time_ms: int = f(I32, default=0)
    responses: Sequence[AlterConfigsResourceResponse] = f(Array(AlterConfigsResourceResponse), default=())
