"""ListConfigChanges (30000) and ListAttempts (30002): the journal and what never got into it, over the wire.

Both need DESCRIBE_CONFIGS on the cluster: they speak of everything.
"""

from __future__ import annotations

from typing import Any, cast

from kconf.errors import ApiError, ErrorCode, JournalTrimmed, NotAuthorized, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.journal import RequestContext
from kconf.protocol.messages.list_attempts import ListAttemptsRequest, ListAttemptsResponse, ListedAttempt
from kconf.protocol.messages.list_config_changes import ListConfigChangesRequest, ListConfigChangesResponse
from kconf.server.context import UNAVAILABLE, ApiRequest, ServerContext

MOST_FILTERS = 10_000
MOST_ATTEMPTS = 10_000  # in one answer
REFUSED = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NotAuthorized.stock)
_TOO_MANY = f"a reader may name up to {MOST_FILTERS} resources; ask for whole types, or for everything"


async def handle(
    context: ServerContext, request: ListConfigChangesRequest, call: ApiRequest
) -> ListConfigChangesResponse:
    feed = context.feed
    if not allowed(call):
        return ListConfigChangesResponse(error_code=REFUSED.code, error_message=REFUSED.message)
    if len(request.filters) > MOST_FILTERS:
        return ListConfigChangesResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=_TOO_MANY)
    after = request.after if request.after >= 0 else feed.current
    if after > feed.current:
        # A store that was put back to an older state: to wait in silence would skip what it does from now on.
        said = f"there is no revision {after} yet; the last is {feed.current}"
        return _out_of_range(context, request, said, context.service.store.oldest())
    wanted = frozenset((each.resource_type, each.resource_name) for each in request.filters)
    wait = max(request.max_wait_ms, 0) / 1000
    try:
        page = await feed.after(after, request.max_lines, wait, wanted, call.patience)
    except JournalTrimmed as error:
        return _out_of_range(context, request, str(error), error.oldest)
    except StoreError:
        return ListConfigChangesResponse(error_code=UNAVAILABLE.code, error_message=UNAVAILABLE.message)
    if not allowed(call):  # the right may have been taken away while it waited
        return ListConfigChangesResponse(error_code=REFUSED.code, error_message=REFUSED.message)
    return ListConfigChangesResponse(
        oldest=page.oldest,
        current=page.current,
        next_after=page.next_after,
        revisions=cast(Any, page.revisions),
    )


def _out_of_range(
    context: ServerContext, request: ListConfigChangesRequest, message: str, oldest: int
) -> ListConfigChangesResponse:
    return ListConfigChangesResponse(
        error_code=ErrorCode.OFFSET_OUT_OF_RANGE,
        error_message=message,
        oldest=oldest,
        current=context.feed.current,
        next_after=request.after,
    )


async def handle_attempts(
    context: ServerContext, request: ListAttemptsRequest, call: ApiRequest
) -> ListAttemptsResponse:
    if not allowed(call):
        return ListAttemptsResponse(error_code=REFUSED.code, error_message=REFUSED.message)
    most = max(1, min(request.max_attempts, MOST_ATTEMPTS))
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


def _caller(caller: RequestContext) -> tuple[str, str, str, str, int, str | None]:
    return caller.principal, caller.client_id, caller.host, caller.api, caller.request_id, caller.reason


def allowed(call: ApiRequest) -> bool:
    return call.authorize(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, CLUSTER_NAME)
