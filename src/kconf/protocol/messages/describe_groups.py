"""DescribeGroups (key 15), versions 0 to 6: classic groups.

v1 throttle time · v3 authorized operations · v4 static members · v5 flexible · v6 an error for groups that do not exist
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, BYTES, I16, I32, STRING, Array, f, struct


@struct
class DescribeGroupsRequest:
    groups: Sequence[str] = f(Array(STRING))
    include_authorized_operations: bool = f(BOOL, since=3, default=False)


@struct
class DescribedGroupMember:
    member_id: str = f(STRING)
    group_instance_id: str | None = f(STRING, since=4, nullable=4, default=None)
    client_id: str = f(STRING, default="")
    client_host: str = f(STRING, default="")
    member_metadata: bytes = f(BYTES, default=b"")
    member_assignment: bytes = f(BYTES, default=b"")


@struct
class DescribedGroup:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, since=6, nullable=6, default=None)
    group_id: str = f(STRING, default="")
    group_state: str = f(STRING, default="")
    protocol_type: str = f(STRING, default="")
    protocol_data: str = f(STRING, default="")
    members: Sequence[DescribedGroupMember] = f(Array(DescribedGroupMember), default=())
    authorized_operations: int = f(I32, since=3, default=-(2**31))


@struct
class DescribeGroupsResponse:
    throttle_time_ms: int = f(I32, since=1, default=0)
    groups: Sequence[DescribedGroup] = f(Array(DescribedGroup), default=())
