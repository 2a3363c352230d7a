"""ListConfigChanges (30000), DescribeConfigsAt (30001) and ListAttempts (30002): the journal over the wire.

All need DESCRIBE_CONFIGS on the cluster: they speak of everything. How a resource was at a revision is found by taking
back, from what it is now, every change that came after.
"""

from __future__ import annotations

from typing import Any, cast

from kconf.errors import ErrorCode, Failure, InvalidRequest, JournalTrimmed, KafkaError, NotAuthorized, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.journal import Caller, ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.server.context import UNAVAILABLE, Call, Context
from kconf.store.base import JournalReader
from kconf.wire.describe_configs_at import (
    DescribeConfigsAtRequest,
    DescribeConfigsAtResponse,
    OverrideAt,
    ResourceAt,
    ResultAt,
)
from kconf.wire.list_attempts import ListAttemptsRequest, ListAttemptsResponse, ListedAttempt
from kconf.wire.list_config_changes import ListConfigChangesRequest, ListConfigChangesResponse

_LONGEST_WAIT = 300.0
_MOST_ATTEMPTS = 10_000
_REFUSED = Failure(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NotAuthorized.stock)


async def handle(context: Context, request: ListConfigChangesRequest, call: Call) -> ListConfigChangesResponse:
    if not _allowed(call):
        return ListConfigChangesResponse(error_code=_REFUSED.code, error_message=_REFUSED.message)
    wanted = frozenset((each.resource_type, each.resource_name) for each in request.filters)
    wait = min(max(request.max_wait_ms, 0) / 1000, _LONGEST_WAIT)
    try:
        page = await context.feed.after(request.after, request.max_lines, wait, wanted)
    except JournalTrimmed as error:
        return ListConfigChangesResponse(
            error_code=ErrorCode.OFFSET_OUT_OF_RANGE,
            error_message=str(error),
            oldest=error.oldest,
            current=context.service.state.snapshot.revision,
            next_after=request.after,
        )
    except StoreError:
        return ListConfigChangesResponse(error_code=UNAVAILABLE.code, error_message=UNAVAILABLE.message)
    return ListConfigChangesResponse(
        oldest=page.oldest,
        current=page.current,
        next_after=page.next_after,
        revisions=cast(Any, page.revisions),
    )


async def handle_attempts(context: Context, request: ListAttemptsRequest, call: Call) -> ListAttemptsResponse:
    if not _allowed(call):
        return ListAttemptsResponse(error_code=_REFUSED.code, error_message=_REFUSED.message)
    most = max(1, min(request.max_attempts, _MOST_ATTEMPTS))
    await context.attempts.flush()
    try:
        found = await context.feed.read(lambda reader: reader.attempts(request.after, most))
    except StoreError:
        return ListAttemptsResponse(error_code=UNAVAILABLE.code, error_message=UNAVAILABLE.message)
    return ListAttemptsResponse(
        attempts=[
            ListedAttempt(
                each.number,
                each.time,
                *_caller(each.caller),
                each.revision,
                each.resource.type,
                each.resource.name,
                each.keys,
                each.code,
                each.dry_run,
            )
            for each in found
        ]
    )


def _caller(caller: Caller) -> tuple[str, str, str, str, int, str | None]:
    return caller.principal, caller.client_id, caller.host, caller.api, caller.request_id, caller.reason


async def handle_at(context: Context, request: DescribeConfigsAtRequest, call: Call) -> DescribeConfigsAtResponse:
    if not _allowed(call):
        return DescribeConfigsAtResponse(error_code=_REFUSED.code, error_message=_REFUSED.message)
    oldest = context.service.store.oldest()
    try:
        revision = await _revision(context, request)
        results = [await _result(context, each, revision) for each in request.resources]
    except JournalTrimmed as error:
        return DescribeConfigsAtResponse(
            error_code=ErrorCode.OFFSET_OUT_OF_RANGE, error_message=str(error), oldest=error.oldest
        )
    except KafkaError as error:
        return DescribeConfigsAtResponse(error_code=error.code, error_message=error.message, oldest=oldest)
    except StoreError:
        return DescribeConfigsAtResponse(error_code=UNAVAILABLE.code, error_message=UNAVAILABLE.message)
    return DescribeConfigsAtResponse(revision=revision, oldest=oldest, results=results)


def _allowed(call: Call) -> bool:
    return call.authorise(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, CLUSTER_NAME)


async def _revision(context: Context, request: DescribeConfigsAtRequest) -> int:
    current = context.service.state.snapshot.revision
    if request.revision >= 0:
        if request.revision > current:
            raise InvalidRequest(f"there is no revision {request.revision} yet; the last is {current}")
        return request.revision
    if request.time_ms < 0:
        raise InvalidRequest("give a revision or a time")
    return await context.feed.read(lambda reader: reader.revision_at(request.time_ms))


async def _result(context: Context, wanted: ResourceAt, revision: int) -> ResultAt:
    kind, name = wanted.resource_type, wanted.resource_name
    try:
        resource = Resource(ResourceType(kind), name)
    except ValueError:
        return ResultAt(ErrorCode.INVALID_REQUEST, f"there is no resource type {kind}", kind, name, False, ())
    snapshot = context.service.state.snapshot
    values: dict[str, str | None] = dict(snapshot.overrides(resource))
    existed = resource.type != ResourceType.TOPIC or name in snapshot.topics
    hidden = {key for key in values if _sensitive(context, resource, key)}

    def later(reader: JournalReader) -> Any:
        return reader.about(resource, revision)

    for each in reversed(await context.feed.read(later)):
        for change in reversed(each.changes):
            if change.resource != resource or each.number > snapshot.revision:
                continue
            if change.kind is ChangeKind.TOPIC:
                existed = change.before is not None
            elif change.before is None:
                values.pop(change.key, None)
            else:
                values[change.key] = change.before
                if change.sensitive:
                    hidden.add(change.key)
    overrides = [OverrideAt(key, None if key in hidden else values[key], key in hidden) for key in sorted(values)]
    return ResultAt(0, None, kind, name, existed, overrides)


def _sensitive(context: Context, resource: Resource, key: str) -> bool:
    match resource.type:
        case ResourceType.BROKER:
            return context.service.state.ladder.sensitive(key)
        case ResourceType.SCRAM:
            return True
        case _:
            return False
