"""ElectLeaders (43): the leader of a partition is its first live replica, so an election is never needed."""

from __future__ import annotations

from typing import Final

from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)
from kconf.server.api.data_plane.names import shortened
from kconf.server.api.metadata import leadership
from kconf.server.context import ApiRequest, ServerContext
from kconf.service import State
from kconf.util.slices import in_slices

_PREFERRED, _UNCLEAN = 0, 1
_NOT_NEEDED: Final = ApiError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")


def handle(context: ServerContext, request: ElectLeadersRequest, call: ApiRequest) -> ElectLeadersResponse:
    state = context.service.state
    failure = _failure(request, call)
    if failure is not None:
        return failed(request, failure)
    if request.topic_partitions is None:
        topics = state.snapshot.topics
        results = [_elected_of_all(context, state, name, request.election_type) for name in in_slices(topics)]
    else:
        results = [
            _elected(context, state, each, request.election_type) for each in in_slices(request.topic_partitions)
        ]
    return ElectLeadersResponse(replica_election_results=results)


def _failure(request: ElectLeadersRequest, call: ApiRequest) -> ApiError | None:
    if not call.authorize(Operation.ALTER, AclType.CLUSTER, CLUSTER_NAME):
        return ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
    if request.topic_partitions is not None and not request.topic_partitions:
        return None
    if request.timeout_ms <= 0:
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, None)
    if request.election_type not in (_PREFERRED, _UNCLEAN):
        return ApiError(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    return None


def failed(request: ElectLeadersRequest, failure: ApiError) -> ElectLeadersResponse:
    results = [
        ReplicaElectionResult(
            each.topic, [PartitionResult(one, failure.code, failure.message) for one in in_slices(each.partitions)]
        )
        for each in in_slices(request.topic_partitions or ())
    ]
    return ElectLeadersResponse(error_code=failure.code, replica_election_results=results)


def _elected(context: ServerContext, state: State, wanted: TopicPartitions, kind: int) -> ReplicaElectionResult:
    results = []
    for index in in_slices(wanted.partitions):
        failure = _partition_failure(context, state, wanted.topic, index, kind)
        results.append(PartitionResult(index, failure.code, failure.message))
    return ReplicaElectionResult(wanted.topic, results)


def _elected_of_all(context: ServerContext, state: State, name: str, kind: int) -> ReplicaElectionResult:
    """The results for all partitions of a topic. As in Kafka, partitions that need no election are left out."""
    results = []
    for index in range(state.snapshot.topics[name].partitions):
        failure = _partition_failure(context, state, name, index, kind)
        if failure != _NOT_NEEDED:
            results.append(PartitionResult(index, failure.code, failure.message))
    return ReplicaElectionResult(name, results)


def _partition_failure(context: ServerContext, state: State, name: str, index: int, kind: int) -> ApiError:
    topic = state.snapshot.topics.get(name)
    if topic is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {shortened(name)}")
    if not 0 <= index < topic.partitions:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    replicas = topic.replicas[index]
    leader = leadership(replicas, context.broker_ids)[1]
    if leader == replicas[0] or (leader >= 0 and kind == _UNCLEAN):
        return _NOT_NEEDED
    if kind == _PREFERRED:
        return ApiError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
    return ApiError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available.")
