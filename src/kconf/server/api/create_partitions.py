"""CreatePartitions (37)."""

from __future__ import annotations

from collections.abc import Collection

from kconf.engine.policy.hooks import PolicyHooks
from kconf.engine.topics.partitions import plan_create_partitions
from kconf.errors import ApiError, KafkaError, RequestTimedOut
from kconf.model.alteration import NewPartitions
from kconf.model.plan import Plan
from kconf.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from kconf.server.api.reasons import with_reason
from kconf.server.api.topic_mutations import (
    audit,
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
        results = (await submit(context, plan, call, validate_only=request.validate_only)).items()
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
