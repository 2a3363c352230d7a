"""DescribeLogDirs (key 35), versions 0 to 5: the directories of a broker.

v2 flexible · v3 error code · v4 sizes · v5 cordoned directories
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I16, I32, I64, STRING, Array, f, struct


@struct
class DescribableLogDirTopic:
    topic: str = f(STRING)
    partitions: Sequence[int] = f(Array(I32))


@struct
class DescribeLogDirsRequest:
    topics: Sequence[DescribableLogDirTopic] | None = f(Array(DescribableLogDirTopic), nullable=0)


@struct
class DescribeLogDirsPartition:
    partition_index: int = f(I32)
    partition_size: int = f(I64)
    offset_lag: int = f(I64)
    is_future_key: bool = f(BOOL)


@struct
class DescribeLogDirsTopic:
    name: str = f(STRING)
    partitions: Sequence[DescribeLogDirsPartition] = f(Array(DescribeLogDirsPartition))


@struct
class DescribeLogDirsResult:
    error_code: int = f(I16)
    log_dir: str = f(STRING)
    topics: Sequence[DescribeLogDirsTopic] = f(Array(DescribeLogDirsTopic))
    total_bytes: int = f(I64, since=4, default=-1)
    usable_bytes: int = f(I64, since=4, default=-1)
    is_cordoned: bool = f(BOOL, since=5, default=False)


@struct
class DescribeLogDirsResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, since=3, default=0)
    results: Sequence[DescribeLogDirsResult] = f(Array(DescribeLogDirsResult), default=())
