"""ConsumerGroupDescribe (key 69), versions 0 and 1, flexible: groups of KIP-848. v1 the type of members"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I8, I16, I32, STRING, UUID16, Array, f, struct


@struct
class ConsumerGroupDescribeRequest:
    group_ids: Sequence[str] = f(Array(STRING))
    include_authorized_operations: bool = f(BOOL)


@struct
class TopicPartitions:
    topic_id: bytes = f(UUID16)
    topic_name: str = f(STRING)
    partitions: Sequence[int] = f(Array(I32))


@struct
class Assignment:
    topic_partitions: Sequence[TopicPartitions] = f(Array(TopicPartitions))


@struct
class Member:
    member_id: str = f(STRING)
    instance_id: str | None = f(STRING, nullable=0, default=None)
    rack_id: str | None = f(STRING, nullable=0, default=None)
    member_epoch: int = f(I32, default=0)
    client_id: str = f(STRING, default="")
    client_host: str = f(STRING, default="")
    subscribed_topic_names: Sequence[str] = f(Array(STRING), default=())
    subscribed_topic_regex: str | None = f(STRING, nullable=0, default=None)
    assignment: Assignment | None = f(Assignment, default=None)
    target_assignment: Assignment | None = f(Assignment, default=None)
    member_type: int = f(I8, since=1, default=-1)


@struct
class DescribedGroup:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0, default=None)
    group_id: str = f(STRING, default="")
    group_state: str = f(STRING, default="")
    group_epoch: int = f(I32, default=0)
    assignment_epoch: int = f(I32, default=0)
    assignor_name: str = f(STRING, default="")
    members: Sequence[Member] = f(Array(Member), default=())
    authorized_operations: int = f(I32, default=-(2**31))


@struct
class ConsumerGroupDescribeResponse:
    throttle_time_ms: int = f(I32, default=0)
    groups: Sequence[DescribedGroup] = f(Array(DescribedGroup), default=())
