"""ListConfigResources (key 74), versions 0 and 1, both flexible.

v0 is KIP-1000's ListClientMetricsResources: no request fields, client-metrics names only · v1 any type (KIP-1142).
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I8, I16, I32, STRING, Array, f, struct

CLIENT_METRICS = 16


@struct
class ListConfigResourcesRequest:
    resource_types: Sequence[int] = f(Array(I8), since=1, default=())


@struct
class ListedConfigResource:
    resource_name: str = f(STRING)
    resource_type: int = f(I8, since=1, default=CLIENT_METRICS)


@struct
class ListConfigResourcesResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    config_resources: Sequence[ListedConfigResource] = f(Array(ListedConfigResource), default=())
