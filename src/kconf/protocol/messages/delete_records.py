"""DeleteRecords (key 21), versions 0 to 2: deletes messages before an offset. v2 flexible"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, I32, I64, STRING, Array, f, struct


@struct
class DeleteRecordsPartition:
    partition_index: int = f(I32)
    offset: int = f(I64)


@struct
class DeleteRecordsTopic:
    name: str = f(STRING)
    partitions: Sequence[DeleteRecordsPartition] = f(Array(DeleteRecordsPartition))


@struct
class DeleteRecordsRequest:
    topics: Sequence[DeleteRecordsTopic] = f(Array(DeleteRecordsTopic))
    timeout_ms: int = f(I32)


@struct
class DeleteRecordsPartitionResult:
    partition_index: int = f(I32)
    low_watermark: int = f(I64)
    error_code: int = f(I16)


@struct
class DeleteRecordsTopicResult:
    name: str = f(STRING)
    partitions: Sequence[DeleteRecordsPartitionResult] = f(Array(DeleteRecordsPartitionResult))


@struct
class DeleteRecordsResponse:
    throttle_time_ms: int = f(I32, default=0)
    topics: Sequence[DeleteRecordsTopicResult] = f(Array(DeleteRecordsTopicResult), default=())
