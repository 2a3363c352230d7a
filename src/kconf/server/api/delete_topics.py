"""DeleteTopics (20)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kconf.engine.policy.hooks import PolicyHooks
from kconf.engine.topics.delete import Deleted, TopicDeletion, plan_delete_topics, well_formed
from kconf.errors import ApiError, ErrorCode, KafkaError, RequestTimedOut
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.plan import Plan
from kconf.model.resource import Resource
from kconf.model.snapshot import encode_id
from kconf.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from kconf.server.api.reasons import with_reason
from kconf.server.api.topic_mutations import audit, doubtful_topics, mutation_quota, submit, throttle_time_ms
from kconf.server.context import ApiRequest, ServerContext
from kconf.service import State
from kconf.util.slices import in_slices


async def handle(context: ServerContext, request: DeleteTopicsRequest, call: ApiRequest) -> DeleteTopicsResponse:
    if call.version >= 6:
        deletions = [TopicDeletion(each.name, UUID(bytes=each.topic_id)) for each in in_slices(request.topics)]
    else:
        deletions = [TopicDeletion(name) for name in in_slices(request.topic_names)]
    quota, charge = mutation_quota(context, call, strict_from=5)

    def plan(state: State, _hooks: PolicyHooks) -> Plan[list[Deleted]]:
        return plan_delete_topics(state.snapshot, deletions, state.resolver, authorize=call.authorize, charge=charge)

    if not context.service.state.resolver.flag("delete.topic.enable"):
        code = ErrorCode.INVALID_REQUEST if call.version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
        results = [Deleted(each.name, each.id, ApiError(code)) for each in in_slices(deletions)]
    else:
        try:
            call = with_reason(call, request.reason)
            if request.timeout_ms <= 0 and any(well_formed(deletions)):
                raise RequestTimedOut
            results = await submit(context, plan, call, doubtful=_unknown_topics(context, deletions, call))
        except KafkaError as error:
            results = [Deleted(each.name, each.id, error.failure()) for each in in_slices(deletions)]
    audit(context, call, {each.name or encode_id(each.id): each.failure for each in in_slices(results)})
    return DeleteTopicsResponse(throttle_time_ms(context, call, quota), [_result(each) for each in in_slices(results)])


def _unknown_topics(context: ServerContext, deletions: Sequence[TopicDeletion], call: ApiRequest) -> Sequence[Resource]:
    """The named topics that do not exist according to a state that is polled and may be outdated."""

    def may_delete(name: str) -> bool:
        everywhere = call.authorize(Operation.DELETE, AclType.CLUSTER, CLUSTER_NAME)
        return everywhere or call.authorize(Operation.DELETE, AclType.TOPIC, name)

    names = [each.name for each in in_slices(deletions) if each.name is not None]
    return doubtful_topics(context, names, may_delete, existing=False)


def _result(deleted: Deleted) -> DeletableTopicResult:
    failure = deleted.failure
    code, message = (failure.code, failure.message) if failure else (0, None)
    return DeletableTopicResult(deleted.name, deleted.id.bytes, code, message)
