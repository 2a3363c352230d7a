"""DescribeCluster (key 60), versions 0 to 2, all flexible. v1 endpoint types · v2 fenced brokers."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I8, I16, I32, STRING, Array, f, struct


@struct
class DescribeClusterRequest:
    include_cluster_authorized_operations: bool = f(BOOL)
    endpoint_type: int = f(I8, since=1, default=1)
    include_fenced_brokers: bool = f(BOOL, since=2, default=False)


@struct
class DescribeClusterBroker:
    broker_id: int = f(I32)
    host: str = f(STRING)
    port: int = f(I32)
    rack: str | None = f(STRING, nullable=0, default=None)
    is_fenced: bool = f(BOOL, since=2, default=False)


@struct
class DescribeClusterResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)
    endpoint_type: int = f(I8, since=1, default=1)
    cluster_id: str = f(STRING, default="")
    controller_id: int = f(I32, default=-1)
    brokers: Sequence[DescribeClusterBroker] = f(Array(DescribeClusterBroker), default=())
    cluster_authorized_operations: int = f(I32, default=-(2**31))
