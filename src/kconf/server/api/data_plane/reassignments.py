"""AlterPartitionReassignments (45) and ListPartitionReassignments (46): there are no ongoing reassignments.

An assignment that a partition already has is accepted, as in Kafka. Any other valid one is refused: replicas are placed
by CreateTopics and CreatePartitions, and this server has no messages to move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kconf.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kconf.server.api.data_plane.names import shortened
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

_REFUSED: Final = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
_NONE: Final = ApiError(ErrorCode.NONE, None)


def handle_alter(
    context: ServerContext, request: AlterPartitionReassignmentsRequest, call: ApiRequest
) -> AlterPartitionReassignmentsResponse:
    failure: ApiError | None = None
    if not call.authorize(Operation.ALTER, AclType.CLUSTER, CLUSTER_NAME):
        failure = _REFUSED
    elif not request.topics:
        return AlterPartitionReassignmentsResponse()
    elif request.timeout_ms <= 0:
        failure = ApiError(ErrorCode.REQUEST_TIMED_OUT, None)
    responses = [
        ReassignableTopicResponse(
            topic.name,
            [
                ReassignablePartitionResponse(each.partition_index, *(failure or _outcome(context, topic.name, each)))
                for each in in_slices(topic.partitions)
            ],
        )
        for topic in in_slices(request.topics)
    ]
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=failure.code if failure else 0,
        error_message=None,
        responses=responses,
    )


def _outcome(context: ServerContext, name: str, wanted: ReassignablePartition) -> ApiError:
    topic = context.service.state.snapshot.topics.get(name)
    if topic is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {shortened(name)}.")
    if not 0 <= wanted.partition_index < topic.partitions:
        what = f"{name}:{wanted.partition_index}"
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {what}.")
    if wanted.replicas is None:
        return ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)
    problem = _problem(wanted.replicas, context.broker_ids)
    if problem is not None:
        return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
    if tuple(wanted.replicas) == topic.replicas[wanted.partition_index]:
        return _NONE
    return ApiError(ErrorCode.INVALID_REQUEST, "this server does not move replicas: it stores no messages")


def _problem(replicas: Sequence[int], brokers: Sequence[int]) -> str | None:
    if not replicas:
        return "The manual partition assignment includes an empty replica list."
    known = frozenset(brokers)
    unknown = next((each for each in in_slices(replicas) if each not in known), None)
    if unknown is not None:
        return f"The manual partition assignment includes broker {unknown}, but no such broker is registered."
    if len(set(replicas)) == len(replicas):
        return None
    twice = next(each for index, each in enumerate(replicas) if each in replicas[:index])
    return f"The manual partition assignment includes the broker {twice} more than once."


def handle_list(
    _context: ServerContext, _request: ListPartitionReassignmentsRequest, call: ApiRequest
) -> ListPartitionReassignmentsResponse:
    if not call.authorize(Operation.DESCRIBE, AclType.CLUSTER, CLUSTER_NAME):
        return ListPartitionReassignmentsResponse(error_code=_REFUSED.code, error_message=None)
    return ListPartitionReassignmentsResponse(error_message=None)
