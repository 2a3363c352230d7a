"""IncrementalAlterConfigs (44).

Logger levels are not part of the state: they are altered here, all other resources by the service. The response has all
of them in the order of the request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kconf.engine.configs.alter import Outcomes, check_node, repeated_resources
from kconf.errors import ApiError, ErrorCode, InvalidRequest, KafkaError, LocalProtocolError, NotAuthorized, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.alteration import AlterConfigOp, ResourceAlterations
from kconf.model.resource import ResourceType
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kconf.server.api.alter_configs import MAX_REASON, REASON_TOO_LONG, alter, audit, resource_of, responses
from kconf.server.context import ApiRequest, ServerContext, store_error
from kconf.util.slices import in_slices


async def handle(
    context: ServerContext, request: IncrementalAlterConfigsRequest, call: ApiRequest
) -> IncrementalAlterConfigsResponse:
    requested = [
        ResourceAlterations(
            resource_of(each.resource_type, each.resource_name),
            [AlterConfigOp(config.config_operation, config.name, config.value) for config in in_slices(each.configs)],
            each.expected_revision,
        )
        for each in in_slices(request.resources)
    ]
    validate_only = request.validate_only
    outcomes: Outcomes
    if request.reason is not None and len(request.reason) > MAX_REASON:
        outcomes = [REASON_TOO_LONG] * len(requested)
        audit(context, call, requested, outcomes, dry_run=validate_only)
    else:
        if request.reason is not None:
            call = call.with_reason(request.reason)
        loggers = {
            index: each
            for index, each in enumerate(in_slices(requested))
            if each.resource.type == ResourceType.BROKER_LOGGER
        }
        if not loggers:
            outcomes = await alter(context, requested, call, replace=False, validate_only=validate_only)
        else:
            levels = await _alter_loggers(context, requested, loggers, call, validate_only=validate_only)
            others = [each for index, each in enumerate(in_slices(requested)) if index not in levels]
            rest = iter(await alter(context, others, call, replace=False, validate_only=validate_only))
            outcomes = [levels[index] if index in levels else next(rest) for index in in_slices(range(len(requested)))]
    return IncrementalAlterConfigsResponse(0, responses(requested, outcomes))


async def _alter_loggers(
    context: ServerContext,
    requested: Sequence[ResourceAlterations],
    loggers: Mapping[int, ResourceAlterations],
    call: ApiRequest,
    *,
    validate_only: bool,
) -> Mapping[int, ApiError | None]:
    """The outcome of each logger resource, by its index in the request."""
    repeated = repeated_resources(requested)
    outcomes = {
        index: ApiError(ErrorCode.INVALID_REQUEST, f"{each.resource} occurs more than once in the request")
        if each.resource in repeated
        else await _alter_logger(context, each, call, validate_only=validate_only)
        for index, each in in_slices(loggers.items())
    }
    audit(context, call, list(loggers.values()), list(outcomes.values()), dry_run=validate_only, not_stored=True)
    return outcomes


async def _alter_logger(
    context: ServerContext, requested: ResourceAlterations, call: ApiRequest, *, validate_only: bool
) -> ApiError | None:
    name = requested.resource.name
    try:
        if not call.authorize(Operation.ALTER_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
            raise NotAuthorized
        if requested.expected > -1:
            raise InvalidRequest("log levels have no revision: send the request without an expected revision")
        if call.node is not None:  # a gateway answers for the addressed broker
            check_node(name, call.node, "")
        broker = context.brokers.find(name)
        if broker is not None:
            if not validate_only:
                _check_writable(context)
            await context.brokers.alter_loggers(
                call.caller.principal, broker, requested.alterations, call.origin, validate_only=validate_only
            )
            return None
        check_node(name, context.broker_id, "")
        context.loggers.alter(requested.alterations, validate_only=validate_only)
    except KafkaError as error:
        return error.failure()
    except LocalProtocolError as error:
        return InvalidRequest(str(error)).failure()
    return None


def _check_writable(context: ServerContext) -> None:
    """Refuse a change of a real broker like any other change: if the server is read-only, or if its state is stale, so
    that the ACLs may have changed.
    """
    try:
        context.service.check_writable()
    except StoreError as error:
        raise store_error(error).error() from None
