"""CreatePartitions (37)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from kconf.engine.policy.hooks import PolicyHooks
from kconf.engine.topics.partitions import plan_create_partitions
from kconf.errors import ApiError, KafkaError, RequestTimedOut
from kconf.model.acl import AclType, Operation
from kconf.model.alteration import NewPartitions
from kconf.model.plan import Plan
from kconf.model.resource import Resource
from kconf.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from kconf.server.api.reasons import with_reason
from kconf.server.api.topic_mutations import (
    audit,
    doubtful_topics,
    mutation_quota,
    needs_time,
    submit,
    throttle_time_ms,
)
from kconf.server.context import ApiRequest, ServerContext
from kconf.service import State
from kconf.util.slices import discard, in_slices


async def handle(
    context: ServerContext, request: CreatePartitionsRequest, call: ApiRequest
) -> CreatePartitionsResponse:
    growths = [
        NewPartitions(
            each.name,
            each.count,
            None if each.assignments is None else [one.broker_ids for one in in_slices(each.assignments)],
        )
        for each in in_slices(request.topics)
    ]
    quota, charge = mutation_quota(context, call, strict_from=3)

    def plan(state: State, hooks: PolicyHooks) -> Plan[dict[str, ApiError | None]]:
        cluster = context.cluster(state)
        return plan_create_partitions(
            state.snapshot, growths, cluster, authorize=call.authorize, gate=hooks, charge=charge
        )

    results: Collection[tuple[str, ApiError | None]]
    try:
        call = with_reason(call, request.reason)
        if request.timeout_ms <= 0 and needs_time(growth.name for growth in in_slices(growths)):
            raise RequestTimedOut
        doubtful = _doubtful_topics(context, growths, call)
        outcomes = await submit(context, plan, call, validate_only=request.validate_only, doubtful=doubtful)
        results = outcomes.items()
    except KafkaError as error:
        results = [(growth.name, error.failure()) for growth in in_slices(growths)]
    discard(growths)
    audit(context, call, dict(in_slices(results)), dry_run=request.validate_only)
    return CreatePartitionsResponse(
        throttle_time_ms(context, call, quota),
        [
            CreatePartitionsTopicResult(name, failure.code if failure else 0, failure.message if failure else None)
            for name, failure in in_slices(results)
        ],
    )


def _doubtful_topics(context: ServerContext, growths: Sequence[NewPartitions], call: ApiRequest) -> Sequence[Resource]:
    """The topics that do not exist, or have as many partitions, according to a state that may be outdated."""
    topics = context.service.state.snapshot.topics
    may_alter = partial(call.authorize, Operation.ALTER, AclType.TOPIC)
    names = [each.name for each in in_slices(growths)]
    large = [
        each.name
        for each in in_slices(growths)
        if each.name in topics and topics[each.name].partitions >= each.partitions
    ]
    unknown = doubtful_topics(context, names, may_alter, existing=False)
    return [*unknown, *doubtful_topics(context, large, may_alter, existing=True)]
