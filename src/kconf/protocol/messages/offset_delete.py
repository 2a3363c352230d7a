"""OffsetDelete (key 47), version 0: deletes committed offsets of a group."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, I32, STRING, Array, f, struct


@struct
class OffsetDeleteRequestPartition:
    partition_index: int = f(I32)


@struct
class OffsetDeleteRequestTopic:
    name: str = f(STRING)
    partitions: Sequence[OffsetDeleteRequestPartition] = f(Array(OffsetDeleteRequestPartition))


@struct
class OffsetDeleteRequest:
    group_id: str = f(STRING)
    topics: Sequence[OffsetDeleteRequestTopic] = f(Array(OffsetDeleteRequestTopic))


@struct
class OffsetDeleteResponsePartition:
    partition_index: int = f(I32)
    error_code: int = f(I16)


@struct
class OffsetDeleteResponseTopic:
    name: str = f(STRING)
    partitions: Sequence[OffsetDeleteResponsePartition] = f(Array(OffsetDeleteResponsePartition))


@struct
class OffsetDeleteResponse:
    error_code: int = f(I16)
    throttle_time_ms: int = f(I32, default=0)
    topics: Sequence[OffsetDeleteResponseTopic] = f(Array(OffsetDeleteResponseTopic), default=())
