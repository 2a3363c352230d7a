"""ListConfigChanges (30000): the journal, by long poll.

It needs DESCRIBE_CONFIGS on the cluster, since the journal has the changes of all resources.
"""

from __future__ import annotations

from typing import Any, cast

from kconf.errors import ApiError, ErrorCode, JournalTrimmed, NotAuthorized, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.protocol.messages.list_config_changes import ListConfigChangesRequest, ListConfigChangesResponse
from kconf.server.context import ApiRequest, ServerContext, journal_error

MAX_FILTERS = 10_000
REFUSED = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NotAuthorized.stock)
_TOO_MANY = f"a reader may name up to {MAX_FILTERS} resources; ask for whole types, or for everything"


async def handle(
    context: ServerContext, request: ListConfigChangesRequest, call: ApiRequest
) -> ListConfigChangesResponse:
    feed = context.feed
    if not may_read_journal(call):
        return ListConfigChangesResponse(error_code=REFUSED.code, error_message=REFUSED.message)
    if len(request.filters) > MAX_FILTERS:
        return ListConfigChangesResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=_TOO_MANY)
    after = request.after if request.after >= 0 else feed.current
    if after > feed.current:
        # A store that was restored to an older state: to wait would skip the changes that it makes from now on.
        message = f"there is no revision {after} yet; the last is {feed.current}"
        return _out_of_range(context, request, message, context.service.store.oldest())
    wanted = frozenset((each.resource_type, each.resource_name) for each in request.filters)
    wait = max(request.max_wait_ms, 0) / 1000
    try:
        page = await feed.after(after, request.max_lines, wait, wanted, call.long_poll)
    except JournalTrimmed as error:
        return _out_of_range(context, request, str(error), error.oldest)
    except StoreError as error:
        failure = journal_error(error)
        return ListConfigChangesResponse(error_code=failure.code, error_message=failure.message)
    if not may_read_journal(call):  # the ACL may have been removed during the long poll
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


def may_read_journal(call: ApiRequest) -> bool:
    return call.authorize(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, CLUSTER_NAME)
