"""CreateTopics (key 19), versions 0 to 7.

v1 validate_only and a message · v2 throttle time · v5 flexible, and KIP-525's partitions, replication factor and
configs, with `topic_config_error_code` as tag 0 · v6 strict mutation quota · v7 the topic id, before the error code.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I8, I16, I32, STRING, UUID16, Array, f, struct


@struct
class CreatableReplicaAssignment:
    partition_index: int = f(I32)
    broker_ids: Sequence[int] = f(Array(I32))


@struct
class CreatableTopicConfig:
    name: str = f(STRING)
    value: str | None = f(STRING, nullable=0, secret=True)


@struct
class CreatableTopic:
    name: str = f(STRING)
    num_partitions: int = f(I32)
    replication_factor: int = f(I16)
    assignments: Sequence[CreatableReplicaAssignment] = f(Array(CreatableReplicaAssignment))
    configs: Sequence[CreatableTopicConfig] = f(Array(CreatableTopicConfig))


@struct
class CreateTopicsRequest:
    topics: Sequence[CreatableTopic] = f(Array(CreatableTopic))
    timeout_ms: int = f(I32, default=60000)
    validate_only: bool = f(BOOL, since=1, default=False)
    reason: str | None = f(STRING, since=5, nullable=5, tag=40002, default=None)  # kconf: for the journal


@struct
class CreatableTopicConfigs:
    name: str = f(STRING, since=5, default="")
    value: str | None = f(STRING, since=5, nullable=5, default=None)
    read_only: bool = f(BOOL, since=5, default=False)
    config_source: int = f(I8, since=5, default=-1)
    is_sensitive: bool = f(BOOL, since=5, default=False)


@struct
class CreatableTopicResult:
    name: str = f(STRING)
    topic_id: bytes = f(UUID16, since=7, default=bytes(16))
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, since=1, nullable=1, default=None)
    topic_config_error_code: int = f(I16, since=5, tag=0, default=0)
    num_partitions: int = f(I32, since=5, default=-1)
    replication_factor: int = f(I16, since=5, default=-1)
    configs: Sequence[CreatableTopicConfigs] | None = f(Array(CreatableTopicConfigs), since=5, nullable=5, default=())


@struct
class CreateTopicsResponse:
    throttle_time_ms: int = f(I32, since=2, default=0)
    topics: Sequence[CreatableTopicResult] = f(Array(CreatableTopicResult), default=())
