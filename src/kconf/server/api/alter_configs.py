"""AlterConfigs (33) and IncrementalAlterConfigs (44): the same service call, with and without replacement.

Loggers are not state: their resources are answered here, the others by the service, and the answer has all of them in
the order of the request. AlterConfigs does not know loggers, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.engine.configs.alter import Outcomes, check_node, plan_alter, repeated_resources
from kconf.engine.policy.hooks import PolicyHooks
from kconf.errors import ApiError, ErrorCode, InvalidRequest, KafkaError, NotAuthorized, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.plan import Plan
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kconf.server.context import ApiRequest, ServerContext, store_error
from kconf.service import State

_TYPES = {int(kind): kind for kind in ResourceType}
LONGEST_REASON = 4096  # characters; it stands in the journal for good
TOO_LONG = ApiError(ErrorCode.INVALID_REQUEST, f"a reason has at most {LONGEST_REASON} characters")


async def handle_replace(
    context: ServerContext, request: AlterConfigsRequest, call: ApiRequest
) -> AlterConfigsResponse:
    keep = request.incremental_update
    wishes = [
        ResourceAlterations(
            _resource(each.resource_type, each.resource_name),
            [_replacement(config, keep=keep) for config in each.configs],
        )
        for each in request.resources
    ]
    outcomes = await alter(context, wishes, call, replace=not keep, validate_only=request.validate_only)
    return AlterConfigsResponse(0, _responses(wishes, outcomes))


def _replacement(config: AlterableConfig, *, keep: bool) -> AlterConfigOp:
    """KIP-248's incremental update: an empty value deletes."""
    return AlterConfigOp(OpType.DELETE if keep and config.value == "" else OpType.SET, config.name, config.value)


async def handle_incremental(
    context: ServerContext, request: IncrementalAlterConfigsRequest, call: ApiRequest
) -> IncrementalAlterConfigsResponse:
    wishes = [
        ResourceAlterations(
            _resource(each.resource_type, each.resource_name),
            [AlterConfigOp(config.config_operation, config.name, config.value) for config in each.configs],
            each.expected_revision,
        )
        for each in request.resources
    ]
    if request.reason is not None:
        if len(request.reason) > LONGEST_REASON:
            _note(context, call, wishes, [TOO_LONG] * len(wishes), dry_run=request.validate_only)
            return IncrementalAlterConfigsResponse(0, _responses(wishes, [TOO_LONG] * len(wishes)))
        call = call.with_reason(request.reason)
    loggers = {index: wish for index, wish in enumerate(wishes) if wish.resource.type == ResourceType.BROKER_LOGGER}
    if not loggers:
        outcomes = await alter(context, wishes, call, replace=False, validate_only=request.validate_only)
        return IncrementalAlterConfigsResponse(0, _responses(wishes, outcomes))
    repeated = repeated_resources(wishes)
    others = [wish for index, wish in enumerate(wishes) if index not in loggers]
    levels = {
        index: await _alter_logger(
            context, wish, call, twice=wish.resource in repeated, validate_only=request.validate_only
        )
        for index, wish in loggers.items()
    }
    _note(context, call, list(loggers.values()), list(levels.values()), dry_run=request.validate_only, unkept=True)
    rest = iter(await alter(context, others, call, replace=False, validate_only=request.validate_only))
    outcomes = [levels[index] if index in levels else next(rest) for index in range(len(wishes))]
    return IncrementalAlterConfigsResponse(0, _responses(wishes, outcomes))


def _resource(kind: int, name: str) -> Resource:
    return Resource(_TYPES.get(kind, kind), name)  # type: ignore[arg-type]  # an unknown number fails its resource


async def alter(
    context: ServerContext,
    wishes: Sequence[ResourceAlterations],
    call: ApiRequest,
    *,
    replace: bool,
    validate_only: bool,
) -> Outcomes:
    def plan(state: State, gate: PolicyHooks) -> Plan[Outcomes]:
        node = context.node(state)
        return plan_alter(state.snapshot, wishes, node, replace=replace, authorize=call.authorize, gate=gate)

    try:
        decided = await context.policies.decide(context.service, plan, call.caller, validate_only=validate_only)
        outcomes = decided.outcome
    except StoreError as error:
        outcomes = [store_error(error)] * len(wishes)
    _note(context, call, wishes, outcomes, dry_run=validate_only)
    if not validate_only:
        # As in Kafka: to set a key store's place again, unchanged, makes the broker read it again.
        for wish, outcome in zip(wishes, outcomes, strict=True):
            if outcome is None and wish.resource.type == ResourceType.BROKER:
                context.certificates.touched({each.key for each in wish.alterations})
    return outcomes


def _note(
    context: ServerContext,
    call: ApiRequest,
    wishes: Sequence[ResourceAlterations],
    outcomes: Outcomes,
    *,
    dry_run: bool,
    unkept: bool = False,
) -> None:
    if dry_run or unkept or any(outcomes):
        tried = zip(wishes, outcomes, strict=True)
        lines = ((wish.resource, [each.key for each in wish.alterations], outcome) for wish, outcome in tried)
        context.attempts.note(call.caller, lines, dry_run=dry_run, unkept=unkept)


async def _alter_logger(
    context: ServerContext, wish: ResourceAlterations, call: ApiRequest, *, twice: bool, validate_only: bool
) -> ApiError | None:
    if twice:
        return ApiError(ErrorCode.INVALID_REQUEST, f"{wish.resource} stands in the request more than once")
    try:
        if not call.authorize(Operation.ALTER_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
            raise NotAuthorized
        if wish.expected > -1:
            raise InvalidRequest("the levels of loggers have no revision to compare with")
        number = context.brokers.known(wish.resource.name)
        if number is not None:
            await context.brokers.alter_loggers(number, wish.alterations, validate_only=validate_only)
            return None
        check_node(wish.resource.name, context.node_id, "")
        context.loggers.alter(wish.alterations, validate_only=validate_only)
    except KafkaError as error:
        return error.failure()
    return None


def _responses(wishes: Sequence[ResourceAlterations], outcomes: Outcomes) -> list[AlterConfigsResourceResponse]:
    return [
        AlterConfigsResourceResponse(0, None, resource.type, resource.name)
        if failure is None
        else AlterConfigsResourceResponse(failure.code, failure.message, resource.type, resource.name)
        for (resource, *_), failure in zip(wishes, outcomes, strict=True)
    ]
