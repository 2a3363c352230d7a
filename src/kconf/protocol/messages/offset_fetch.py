"""OffsetFetch (key 9), versions 0 to 10: the offsets that groups have committed.

v2 error code · v3 throttle time · v6 flexible · v8 several groups · v9 members · v10 topic ids
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I16, I32, I64, STRING, UUID16, Array, f, struct


@struct
class OffsetFetchRequestTopic:
    name: str = f(STRING)
    partition_indexes: Sequence[int] = f(Array(I32))


@struct
class OffsetFetchRequestTopics:
    name: str = f(STRING, until=9, default="")
    topic_id: bytes = f(UUID16, since=10, default=bytes(16))
    partition_indexes: Sequence[int] = f(Array(I32), default=())


@struct
class OffsetFetchRequestGroup:
    group_id: str = f(STRING)
    member_id: str | None = f(STRING, since=9, nullable=9, default=None)
    member_epoch: int = f(I32, since=9, default=-1)
    topics: Sequence[OffsetFetchRequestTopics] | None = f(Array(OffsetFetchRequestTopics), nullable=0, default=())


@struct
class OffsetFetchRequest:
    group_id: str = f(STRING, until=7, default="")
    topics: Sequence[OffsetFetchRequestTopic] | None = f(
        Array(OffsetFetchRequestTopic), until=7, nullable=2, default=()
    )
    groups: Sequence[OffsetFetchRequestGroup] = f(Array(OffsetFetchRequestGroup), since=8, default=())
    require_stable: bool = f(BOOL, since=7, default=False)


@struct
class OffsetFetchResponsePartition:
    partition_index: int = f(I32)
    committed_offset: int = f(I64)
    committed_leader_epoch: int = f(I32, since=5, default=-1)
    metadata: str | None = f(STRING, nullable=0, default="")
    error_code: int = f(I16, default=0)


@struct
class OffsetFetchResponseTopic:
    name: str = f(STRING)
    partitions: Sequence[OffsetFetchResponsePartition] = f(Array(OffsetFetchResponsePartition))


@struct
class OffsetFetchResponsePartitions:
    partition_index: int = f(I32)
    committed_offset: int = f(I64)
    committed_leader_epoch: int = f(I32, default=-1)
    metadata: str | None = f(STRING, nullable=0, default="")
    error_code: int = f(I16, default=0)


@struct
class OffsetFetchResponseTopics:
    name: str = f(STRING, until=9, default="")
    topic_id: bytes = f(UUID16, since=10, default=bytes(16))
    partitions: Sequence[OffsetFetchResponsePartitions] = f(Array(OffsetFetchResponsePartitions), default=())


@struct
class OffsetFetchResponseGroup:
    group_id: str = f(STRING)
    topics: Sequence[OffsetFetchResponseTopics] = f(Array(OffsetFetchResponseTopics))
    error_code: int = f(I16, default=0)


@struct
class OffsetFetchResponse:
    throttle_time_ms: int = f(I32, since=3, default=0)
    topics: Sequence[OffsetFetchResponseTopic] = f(Array(OffsetFetchResponseTopic), until=7, default=())
    error_code: int = f(I16, since=2, until=7, default=0)
    groups: Sequence[OffsetFetchResponseGroup] = f(Array(OffsetFetchResponseGroup), since=8, default=())
