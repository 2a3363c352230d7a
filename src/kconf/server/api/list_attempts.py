"""ListAttempts (30002): refused requests and dry runs, from the audit log."""

from __future__ import annotations

from kconf.errors import StoreError
from kconf.model.journal import RequestContext
from kconf.protocol.messages.list_attempts import ListAttemptsRequest, ListAttemptsResponse, ListedAttempt
from kconf.server.api.list_config_changes import REFUSED, may_read_journal
from kconf.server.context import ApiRequest, ServerContext, journal_error
from kconf.util.slices import in_slices

MAX_ATTEMPTS = 10_000  # entries in one response


async def handle(context: ServerContext, request: ListAttemptsRequest, call: ApiRequest) -> ListAttemptsResponse:
    if not may_read_journal(call):
        return ListAttemptsResponse(error_code=REFUSED.code, error_message=REFUSED.message)
    limit = max(1, min(request.max_attempts, MAX_ATTEMPTS))
    await context.audit_log.flush()
    try:
        found = await context.feed.read(lambda reader: reader.attempts(request.after, limit))
    except StoreError as error:
        failure = journal_error(error)
        return ListAttemptsResponse(error_code=failure.code, error_message=failure.message)
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
            for each in in_slices(found)
        ]
    )


def _caller(caller: RequestContext) -> tuple[str, str, str, str, int, str | None]:
    return caller.principal, caller.client_id, caller.host, caller.api, caller.request_id, caller.reason
