"""ListOffsets (key 2), versions 0 to 11: the first and the last offset of partitions.

v1 one offset · v2 throttle time · v4 leader epoch · v6 flexible · v7 to v11 more special timestamps
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I8, I16, I32, I64, STRING, Array, f, struct


@struct
class ListOffsetsPartition:
    partition_index: int = f(I32)
    current_leader_epoch: int = f(I32, since=4, default=-1)
    timestamp: int = f(I64, default=0)
    max_num_offsets: int = f(I32, until=0, default=1)


@struct
class ListOffsetsTopic:
    name: str = f(STRING)
    partitions: Sequence[ListOffsetsPartition] = f(Array(ListOffsetsPartition))


@struct
class ListOffsetsRequest:
    replica_id: int = f(I32)
    isolation_level: int = f(I8, since=2, default=0)
    topics: Sequence[ListOffsetsTopic] = f(Array(ListOffsetsTopic), default=())
    timeout_ms: int = f(I32, since=10, default=0)


@struct
class ListOffsetsPartitionResponse:
    partition_index: int = f(I32)
    error_code: int = f(I16)
    old_style_offsets: Sequence[int] = f(Array(I64), until=0, default=())
    timestamp: int = f(I64, since=1, default=-1)
    offset: int = f(I64, since=1, default=-1)
    leader_epoch: int = f(I32, since=4, default=-1)


@struct
class ListOffsetsTopicResponse:
    name: str = f(STRING)
    partitions: Sequence[ListOffsetsPartitionResponse] = f(Array(ListOffsetsPartitionResponse))


@struct
class ListOffsetsResponse:
    throttle_time_ms: int = f(I32, since=2, default=0)
    topics: Sequence[ListOffsetsTopicResponse] = f(Array(ListOffsetsTopicResponse), default=())
