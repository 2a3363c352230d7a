"""ListConfigChanges (key 30000), version 0, flexible: reads the journal, with long polling.

`after` is the last revision that the reader has, or -1 for "from now on". `next_after` in the response is the value for
the next request, even if the filter matched nothing. A reader behind the oldest revision gets OFFSET_OUT_OF_RANGE and
that revision. Sensitive values are never sent: `before` and `after` are then keyed hashes. Strings may exceed Kafka's
limit, for example the assignment of a large topic. With `epoch`, a reader can identify a change as in the archive.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I16, I32, I64, LONG_STRING, STRING, Array, f, struct


@struct
class ChangeFilter:
    resource_type: int = f(I16)  # a ResourceType, which has more types than config resources
    resource_name: str | None = f(STRING, nullable=0)


@struct
class ListConfigChangesRequest:
    after: int = f(I64)
    max_wait_ms: int = f(I32, default=0)
    max_lines: int = f(I32, default=1000)
    filters: Sequence[ChangeFilter] = f(Array(ChangeFilter), default=())


@struct
class ListedChange:
    kind: str = f(STRING)
    resource_type: int = f(I16)  # a ResourceType, which has more types than config resources
    resource_name: str = f(LONG_STRING)
    op: str = f(STRING)
    key: str = f(LONG_STRING)
    before: str | None = f(LONG_STRING, nullable=0)
    after: str | None = f(LONG_STRING, nullable=0)
    sensitive: bool = f(BOOL)


@struct
class ListedRevision:
    revision: int = f(I64)
    time_ms: int = f(I64)
    principal: str = f(LONG_STRING)
    client_id: str = f(LONG_STRING)
    host: str = f(STRING)
    api: str = f(STRING)
    request_id: int = f(I32)
    reason: str | None = f(LONG_STRING, nullable=0)
    origin: str = f(STRING)
    changes: Sequence[ListedChange] = f(Array(ListedChange))
    not_before_ms: int = f(I64, tag=40006, default=-1)  # for a change found by polling: it was made after this time


@struct
class ListConfigChangesResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)
    oldest: int = f(I64, default=1)
    current: int = f(I64, default=0)
    next_after: int = f(I64, default=0)
    revisions: Sequence[ListedRevision] = f(Array(ListedRevision), default=())
    epoch: int = f(I64, tag=0, default=0)  # the epoch of the store; older servers do not send it
    is_gateway: bool = f(BOOL, tag=1, default=False)  # revisions are offsets of a metadata log, or counted by polls
