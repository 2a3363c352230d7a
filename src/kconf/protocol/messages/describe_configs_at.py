"""DescribeConfigsAt (key 30001), version 0, flexible: the overrides that resources had at a revision or a time.

If `revision` is -1, `time_ms` is used. The response contains the revision. Sensitive values are null.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I16, I32, I64, LONG_STRING, STRING, Array, f, struct


@struct
class ResourceAt:
    resource_type: int = f(I16)  # a ResourceType, which has more types than config resources
    resource_name: str = f(STRING)


@struct
class DescribeConfigsAtRequest:
    revision: int = f(I64, default=-1)
    time_ms: int = f(I64, default=-1)
    resources: Sequence[ResourceAt] = f(Array(ResourceAt), default=())


@struct
class OverrideAt:
    name: str = f(LONG_STRING)
    value: str | None = f(LONG_STRING, nullable=0)
    is_sensitive: bool = f(BOOL)


@struct
class ResultAt:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)
    resource_type: int = f(I16)  # a ResourceType, which has more types than config resources
    resource_name: str = f(LONG_STRING)
    existed: bool = f(BOOL)
    overrides: Sequence[OverrideAt] = f(Array(OverrideAt))


@struct
class DescribeConfigsAtResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)
    revision: int = f(I64, default=-1)
    oldest: int = f(I64, default=1)
    results: Sequence[ResultAt] = f(Array(ResultAt), default=())
