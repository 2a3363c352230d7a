"""Authorizes and forwards DescribeTransactions (65) and ListTransactions (66)."""

from __future__ import annotations

from kconf.errors import ErrorCode
from kconf.model.acl import AclType, Operation
from kconf.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from kconf.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kconf.server.api.relay_checks.checked import split
from kconf.server.api.upstream_requests import ask
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices


def _may_describe(call: ApiRequest, transactional_id: str) -> bool:
    return call.authorize(Operation.DESCRIBE, AclType.TRANSACTIONAL_ID, transactional_id)


async def handle_describe(
    context: ServerContext, request: DescribeTransactionsRequest, call: ApiRequest, node: int
) -> DescribeTransactionsResponse:
    allowed, _ = split(request.transactional_ids, lambda each: _may_describe(call, each))
    found: dict[str, TransactionState] = {}
    if allowed:
        response = await ask(context, call, node, DescribeTransactionsRequest(allowed))
        found = {each.transactional_id: each for each in in_slices(response.transaction_states)}
    for state in in_slices(found.values()):
        state.topics = [
            each for each in in_slices(state.topics) if call.authorize(Operation.DESCRIBE, AclType.TOPIC, each.topic)
        ]
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return DescribeTransactionsResponse(
        transaction_states=[
            found.get(each) or TransactionState(code, each, "", 0, 0, 0, 0, ())
            for each in in_slices(request.transactional_ids)
        ]
    )


async def handle_list(
    context: ServerContext, request: ListTransactionsRequest, call: ApiRequest, node: int
) -> ListTransactionsResponse:
    response: ListTransactionsResponse = await ask(context, call, node, request)
    response.transaction_states = [
        each for each in in_slices(response.transaction_states) if _may_describe(call, each.transactional_id)
    ]
    return response
