"""ListConfigChanges (30000): the journal, by long poll.

Requires DESCRIBE_CONFIGS on the cluster, since the journal contains the changes of all resources.
"""

from __future__ import annotations

from kconf.errors import ApiError, ErrorCode, JournalTrimmed, NotAuthorized, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.protocol.codec.serde import encode, uvarint
from kconf.protocol.messages.list_config_changes import ListConfigChangesRequest, ListConfigChangesResponse
from kconf.server.context import ApiRequest, ServerContext, journal_error
from kconf.server.journal.change_feed import EncodedPage
from kconf.util.slices import in_slices

MAX_FILTERS = 10_000
MAX_CHARACTERS = 1 << 20  # in the filters of a reader, which are in memory while it waits
REFUSED = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NotAuthorized.stock)
_TOO_MANY = (
    f"a filter may contain up to {MAX_FILTERS} resources and {MAX_CHARACTERS} characters; for more, filter by resource "
    "type, or use no filter"
)


async def handle(
    context: ServerContext, request: ListConfigChangesRequest, call: ApiRequest
) -> ListConfigChangesResponse | list[bytes]:
    feed = context.feed
    if not may_read_journal(call):
        return ListConfigChangesResponse(error_code=REFUSED.code, error_message=REFUSED.message)
    if len(request.filters) > MAX_FILTERS or _characters(request) > MAX_CHARACTERS:
        return ListConfigChangesResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=_TOO_MANY)
    after = request.after if request.after >= 0 else feed.current
    if after > feed.current:
        # The store may have been restored to an older state; waiting would skip its next changes.
        message = f"revision {after} does not exist yet; the last is {feed.current}"
        return _out_of_range(context, request, message, context.service.store.oldest())
    wanted = frozenset((each.resource_type, each.resource_name) for each in in_slices(request.filters))
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
    store = context.service.store
    return _listed(page, store.epoch, is_gateway=store.brokers_static is not None)


def _listed(page: EncodedPage, epoch: int, *, is_gateway: bool) -> list[bytes]:
    """The encoded body of the response, in parts. Readers share the longest part."""
    places = (page.oldest, page.current, page.next_after)
    empty = encode(ListConfigChangesResponse(0, 0, None, *places), 0, True)
    head, no_revisions = empty[:-2], empty[-2:-1]
    assert no_revisions == uvarint(1)
    tagged = ListConfigChangesResponse(0, 0, None, *places, epoch=epoch, is_gateway=is_gateway)
    tags = encode(tagged, 0, True)[len(empty) - 1 :]
    return [head + uvarint(len(page.revisions) + 1), page.joined, tags]


def _characters(request: ListConfigChangesRequest) -> int:
    return sum(len(each.resource_name or "") for each in request.filters)


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
