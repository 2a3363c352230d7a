"""DescribeProducers (61), DescribeTransactions (65) and ListTransactions (66): there are no transactions."""

from __future__ import annotations

from typing import Final

from kconf.engine.policy.regex import compile_regex
from kconf.engine.topics.names import name_problem
from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import AclType, Operation
from kconf.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicRequest,
    TopicResponse,
)
from kconf.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from kconf.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kconf.server.api.data_plane.offsets import has_partition
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

_STATES: Final = frozenset(
    [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
)


def handle_producers(
    context: ServerContext, request: DescribeProducersRequest, call: ApiRequest
) -> DescribeProducersResponse:
    return DescribeProducersResponse(topics=[_producers(context, each, call) for each in in_slices(request.topics)])


def _producers(context: ServerContext, topic: TopicRequest, call: ApiRequest) -> TopicResponse:
    state = context.service.state
    failure = _topic_failure(topic.name, topic.name in state.snapshot.topics, call)
    partitions = []
    for index in in_slices(topic.partition_indexes):
        if failure is not None:
            partitions.append(PartitionResponse(index, failure.code, failure.message))
        else:
            known = has_partition(state, topic.name, index)
            partitions.append(PartitionResponse(index, 0 if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    return TopicResponse(topic.name, partitions)


def _topic_failure(name: str, is_known: bool, call: ApiRequest) -> ApiError | None:
    problem = name_problem(name)
    if problem is not None:
        return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    if not call.authorize(Operation.READ, AclType.TOPIC, name):
        return ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    if not is_known:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    return None


def handle_describe(
    _context: ServerContext, request: DescribeTransactionsRequest, call: ApiRequest
) -> DescribeTransactionsResponse:
    states = [
        TransactionState(_transaction_error(each, call), each, "", 0, 0, 0, 0, ())
        for each in in_slices(request.transactional_ids)
    ]
    return DescribeTransactionsResponse(transaction_states=states)


def _transaction_error(transactional_id: str, call: ApiRequest) -> int:
    if not call.authorize(Operation.DESCRIBE, AclType.TRANSACTIONAL_ID, transactional_id):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if transactional_id else ErrorCode.INVALID_REQUEST


def handle_list(
    _context: ServerContext, request: ListTransactionsRequest, _call: ApiRequest
) -> ListTransactionsResponse:
    if request.transactional_id_pattern:
        try:
            compile_regex(request.transactional_id_pattern)
        except ValueError:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    unknown = [each for each in in_slices(request.state_filters) if each not in _STATES]
    return ListTransactionsResponse(unknown_state_filters=unknown)
