"""DescribeConfigs (key 32), versions 0 to 4.

v0 a default flag · v1 sources and synonyms in its place · v3 type and documentation · v4 flexible. The server encodes
responses with protocol/describe_configs_encoding.py, which must be changed together with this module. The range of
versions is in protocol/apis.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I8, I16, I32, I64, STRING, Array, f, struct


@struct
class DescribeConfigsResource:
    resource_type: int = f(I8)
    resource_name: str = f(STRING)
    configuration_keys: Sequence[str] | None = f(Array(STRING), nullable=0, default=None)


@struct
class DescribeConfigsRequest:
    resources: Sequence[DescribeConfigsResource] = f(Array(DescribeConfigsResource))
    include_synonyms: bool = f(BOOL, since=1, default=False)
    include_documentation: bool = f(BOOL, since=3, default=False)


@struct
class DescribeConfigsSynonym:
    name: str = f(STRING, since=1, default="")
    value: str | None = f(STRING, since=1, nullable=1, default=None)
    source: int = f(I8, since=1, default=0)


@struct
class DescribeConfigsEntry:
    name: str = f(STRING)
    value: str | None = f(STRING, nullable=0)
    read_only: bool = f(BOOL)
    is_default: bool = f(BOOL, until=0, default=False)
    config_source: int = f(I8, since=1, default=-1)
    is_sensitive: bool = f(BOOL, default=False)
    synonyms: Sequence[DescribeConfigsSynonym] = f(Array(DescribeConfigsSynonym), since=1, default=())
    config_type: int = f(I8, since=3, default=0)
    documentation: str | None = f(STRING, since=3, nullable=3, default=None)


@struct
class DescribeConfigsResult:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)
    resource_type: int = f(I8)
    resource_name: str = f(STRING)
    configs: Sequence[DescribeConfigsEntry] = f(Array(DescribeConfigsEntry), default=())


@struct
class DescribeConfigsResponse:
    throttle_time_ms: int = f(I32, default=0)
    results: Sequence[DescribeConfigsResult] = f(Array(DescribeConfigsResult), default=())
    revision: int = f(I64, since=4, tag=40003, default=-1)  # kconf: the revision of the response
    stale: bool = f(BOOL, since=4, tag=40005, default=False)  # kconf: changes by other servers may be missing
