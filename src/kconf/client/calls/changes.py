"""Reads the journal of a kconf cluster: changes, configs at a revision, and the audit log. Kafka has no such APIs.

`FeedPosition` is the position of a watch. It moves only with a response, so a lost connection neither skips nor repeats
a change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from kconf.client.calls.base import RETRIABLE, Call, CallResult, ClusterCall, NodeVersions, api_error
from kconf.client.settings import ClientSettings
from kconf.errors import ApiError, ErrorCode, InvalidRequest, JournalTrimmed, KconfError
from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource, ResourceType
from kconf.model.results import Results

_HINT: Final = "only kconf servers have a journal"
NOW: Final = -1

_TYPES = {int(each): each for each in ResourceType}
_KINDS = {each.value: each for each in ChangeKind}


class ChangePage(NamedTuple):
    """Revisions in order. The next page starts after `next_after`; `current` is the newest, `oldest` the first
    retained.

    `epoch` increases when the cluster is copied to another store. 0 if the server does not return it. Revisions of a
    gateway are not numbered from 1 without gaps.
    """

    revisions: Sequence[Revision]
    next_after: int
    current: int
    oldest: int
    epoch: int = 0
    is_gateway: bool = False


class OverridesAt(NamedTuple):
    """The overrides of a resource. Sensitive values are None. `exists` is known only for topics."""

    overrides: Mapping[str, str | None]
    existed: bool


class DescribedAt(Results[Resource, OverridesAt]):
    """The overrides of resources at `revision`."""

    __slots__ = ("revision",)

    def __init__(self, items: Mapping[Resource, OverridesAt | ApiError], revision: int) -> None:
        super().__init__(items)
        self.revision = revision


class ListChanges(ClusterCall[ChangePage]):
    name = "ListConfigChanges"
    hint = _HINT

    def __init__(self, after: int, wait: float, about: Iterable[Resource | ResourceType], limit: int) -> None:
        super().__init__()
        self._after, self._wait, self._limit = after, wait, limit
        self._about = tuple(about)
        self._trimmed: JournalTrimmed | None = None

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.list_config_changes import ChangeFilter, ListConfigChangesRequest

        filters = [
            ChangeFilter(each.type, each.name) if isinstance(each, Resource) else ChangeFilter(each, None)
            for each in self._about
        ]
        return ListConfigChangesRequest(self._after, int(self._wait * 1000), self._limit, filters)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            if body.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and self._after + 1 < body.oldest:
                self._trimmed = JournalTrimmed(body.oldest)
            return CallResult({None: api_error(body.error_code, body.error_message)}, body.throttle_time_ms)
        revisions = tuple(map(_revision, body.revisions))
        page = ChangePage(revisions, body.next_after, body.current, body.oldest, body.epoch, body.is_gateway)
        return CallResult({None: page}, body.throttle_time_ms)

    def finish(self, outcomes: dict[None, ChangePage | ApiError]) -> ChangePage:
        if self._trimmed is not None:
            raise self._trimmed
        return super().finish(outcomes)


class DescribeConfigsAt(Call[Resource, OverridesAt, DescribedAt]):
    name = "DescribeConfigsAt"
    hint = _HINT

    def __init__(self, resources: Iterable[Resource], revision: int | None, time: datetime | int | None) -> None:
        super().__init__(dict.fromkeys(resources))
        if (revision is None) == (time is None):
            raise InvalidRequest("pass either a revision or a time")
        self._revision = -1 if revision is None else revision
        self._time = -1 if time is None else _milliseconds(time)
        self._found: list[int] = []
        self._error: KconfError | None = None

    def write(self, node: NodeVersions, version: int, items: Sequence[Resource]) -> object:
        from kconf.protocol.messages.describe_configs_at import DescribeConfigsAtRequest, ResourceAt

        wanted = [ResourceAt(each.type, each.name) for each in items]
        return DescribeConfigsAtRequest(self._revision, self._time, wanted)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[Resource]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            whole = api_error(body.error_code, body.error_message)
            if body.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self._error = JournalTrimmed(body.oldest)
            elif body.error_code not in RETRIABLE:
                self._error = whole.error()  # not specific to a resource
            return CallResult(dict.fromkeys(items, whole), body.throttle_time_ms)
        self._found.append(body.revision)
        outcomes = {
            _resource(each.resource_type, each.resource_name): (
                api_error(each.error_code, each.error_message)
                if each.error_code
                else OverridesAt({one.name: one.value for one in each.overrides}, each.existed)
            )
            for each in body.results
        }
        return CallResult(outcomes, body.throttle_time_ms)

    def finish(self, outcomes: dict[Resource, OverridesAt | ApiError]) -> DescribedAt:
        if self._error is not None:
            raise self._error
        return DescribedAt(outcomes, min(self._found, default=self._revision))


class ListAttempts(ClusterCall[list[AuditEntry]]):
    name = "ListAttempts"
    hint = _HINT

    def __init__(self, after: int, limit: int) -> None:
        super().__init__()
        self._after, self._limit = after, limit

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.list_attempts import ListAttemptsRequest

        return ListAttemptsRequest(self._after, self._limit)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, body.error_message)}, body.throttle_time_ms)
        return CallResult({None: [_attempt(each) for each in body.attempts]}, body.throttle_time_ms)


class FeedPosition:
    """The position of a watch, and the received revisions that are not returned yet."""

    def __init__(self, after: int | None, about: Iterable[Resource | ResourceType], settings: ClientSettings) -> None:
        self.after: int | None = after
        self.ready: deque[Revision] = deque()
        self._next = NOW if after is None else after
        self._about = tuple(about)
        self._settings = settings
        self._failures = 0

    def next_call(self, *, wait: bool) -> ListChanges:
        seconds = self._settings.timeouts.long_poll(20.0, None) if wait and self._next != NOW else 0.0
        return ListChanges(self._next, seconds, self._about, 1000)

    def receive(self, page: ChangePage) -> None:
        self._failures = 0
        self._next = page.next_after
        self.ready.extend(page.revisions)
        if not page.revisions:
            self.after = self._next

    def pop(self) -> Revision:
        revision = self.ready.popleft()
        self.after = revision.number
        return revision

    def backoff(self, jitter: float) -> float:
        """Seconds until the next attempt, after a failure."""
        self._failures += 1
        return self._settings.retries.delay(self._failures, jitter)


def _revision(listed: Any) -> Revision:
    changes = tuple(
        Change(
            _KINDS.get(each.kind, each.kind),
            _resource(each.resource_type, each.resource_name),
            each.key,
            each.before,
            each.after,
            each.op,
            each.sensitive,
        )
        for each in listed.changes
    )
    not_before = None if listed.not_before_ms < 0 else listed.not_before_ms
    return Revision(
        listed.revision, listed.time_ms, _read_caller(listed), changes, listed.origin, not_before=not_before
    )


def _attempt(listed: Any) -> AuditEntry:
    return AuditEntry(
        listed.time_ms,
        _read_caller(listed),
        listed.revision,
        _resource(listed.resource_type, listed.resource_name),
        tuple(listed.keys),
        listed.outcome,
        listed.dry_run,
        listed.number,
    )


def _read_caller(listed: Any) -> RequestContext:
    return RequestContext(listed.principal, listed.client_id, listed.host, listed.api, listed.request_id, listed.reason)


def _resource(kind: int, name: str) -> Resource:
    return Resource(_TYPES.get(kind, ResourceType.UNKNOWN), name)


def _milliseconds(time: datetime | int) -> int:
    if isinstance(time, int):
        return time
    if time.tzinfo is None:
        raise InvalidRequest("a time needs a time zone: datetime(…, tzinfo=UTC)")
    return int(time.timestamp() * 1000)
