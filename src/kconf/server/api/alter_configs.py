"""AlterConfigs (33), and functions shared with IncrementalAlterConfigs and KIP-21's AlterConfig.

AlterConfigs replaces all overrides of a resource. As in Kafka, it does not support loggers. KIP-248 added a boolean,
`incremental_update`, to versions 0 and 1. Such a request is refused, because ignoring the boolean would remove
overrides that the client wants to keep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from kconf.engine.configs.alter import Outcomes, plan_alter
from kconf.engine.policy.hooks import NO_POLICY, PolicyHooks
from kconf.errors import ApiError, ErrorCode, NotAuthorized, StoreError
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
from kconf.server.api.topic_mutations import doubtful_topics, refresh
from kconf.server.auth.listener_security import ListenerSecurity, StartCheck
from kconf.server.context import ApiRequest, ServerContext, store_error
from kconf.service import State
from kconf.util.slices import in_slices

_TYPES = {int(kind): kind for kind in ResourceType}
MAX_REASON = 4096  # characters; the reason is stored in the journal
REASON_TOO_LONG = ApiError(ErrorCode.INVALID_REQUEST, f"a reason must not exceed {MAX_REASON} characters")

_FIRST_FLEXIBLE = 2
_SURPLUS = ApiError(
    ErrorCode.INVALID_REQUEST,
    "unexpected bytes after the request body, perhaps the field incremental_update of KIP-248. Kafka never shipped "
    "this field, and a request without it removes all configs that it does not contain. Use IncrementalAlterConfigs",
)


async def handle(context: ServerContext, request: AlterConfigsRequest, call: ApiRequest) -> AlterConfigsResponse:
    incremental = request.incremental_update
    requested = [
        ResourceAlterations(
            resource_of(each.resource_type, each.resource_name),
            [_op(config, incremental=incremental) for config in in_slices(each.configs)],
        )
        for each in in_slices(request.resources)
    ]
    if call.surplus and call.version < _FIRST_FLEXIBLE:
        outcomes: Outcomes = [_SURPLUS] * len(requested)
        audit(context, call, requested, outcomes, dry_run=request.validate_only)
        return AlterConfigsResponse(0, responses(requested, outcomes))
    outcomes = await alter(context, requested, call, replace=not incremental, validate_only=request.validate_only)
    return AlterConfigsResponse(0, responses(requested, outcomes))


def _op(config: AlterableConfig, *, incremental: bool) -> AlterConfigOp:
    """The operation for a key. In KIP-248's incremental update, an empty value deletes the key."""
    return AlterConfigOp(OpType.DELETE if incremental and config.value == "" else OpType.SET, config.name, config.value)


def resource_of(kind: int, name: str) -> Resource:
    return Resource(_TYPES.get(kind, kind), name)  # type: ignore[arg-type]  # an unknown type fails its resource


async def alter(
    context: ServerContext,
    requested: Sequence[ResourceAlterations],
    call: ApiRequest,
    *,
    replace: bool,
    validate_only: bool,
    known_deletions: bool = False,
) -> Outcomes:
    """Submit alterations of all resources except loggers, and record refusals and dry runs in the audit log.

    Changes of resources whose state is unknown are refused.
    """
    try:
        await refresh(context, _unknown_topics(context, requested, call))
    except StoreError as error:
        failed: Outcomes = [store_error(error)] * len(requested)
        audit(context, call, requested, failed, dry_run=validate_only)
        return failed
    refused = await _unknown(context, requested, call)
    known = [each for each in in_slices(requested) if each.resource not in refused] if refused else requested
    answered = await _alter_known(
        context, known, call, replace=replace, validate_only=validate_only, known_deletions=known_deletions
    )
    if not refused:
        return answered
    unknown = [each for each in in_slices(requested) if each.resource in refused]
    audit(context, call, unknown, [refused[each.resource] for each in unknown], dry_run=validate_only)
    rest = iter(answered)
    return [refused.get(each.resource) or next(rest) for each in in_slices(requested)]


async def _alter_known(
    context: ServerContext,
    requested: Sequence[ResourceAlterations],
    call: ApiRequest,
    *,
    replace: bool,
    validate_only: bool,
    known_deletions: bool,
) -> Outcomes:
    def planned(
        state: State, wanted: Sequence[ResourceAlterations], hooks: PolicyHooks, check: StartCheck | None
    ) -> Plan[Outcomes]:
        return plan_alter(
            state.snapshot,
            wanted,
            context.node(state, call.caller.principal, check, call.node),
            replace=replace,
            known_deletions=known_deletions,
            authorize=call.authorize,
            gate=hooks,
        )

    async def submit(check: StartCheck | None) -> Outcomes:
        return await context.service.submit(
            lambda state, hooks: planned(state, requested, hooks, check),
            call.caller,
            context.policies,
            validate_only=validate_only,
        )

    brokers = [each for each in in_slices(requested) if each.resource.type == ResourceType.BROKER]
    try:
        if not brokers:
            outcomes = await submit(None)
        else:
            with context.security.start_check() as check:
                if context.security.tls:
                    await check.read_stores(lambda: planned(context.service.state, brokers, NO_POLICY, check))
                outcomes = await submit(check)
                if not validate_only:
                    _reread_key_stores(context.security, check, requested, outcomes)
    except StoreError as error:
        outcomes = [store_error(error)] * len(requested)
    if validate_only or any(outcomes):
        audit(context, call, requested, outcomes, dry_run=validate_only)
    return outcomes


def _unknown_topics(
    context: ServerContext, requested: Sequence[ResourceAlterations], call: ApiRequest
) -> Sequence[Resource]:
    """The topics that do not exist according to a state that is polled and may be outdated."""
    names = [each.resource.name for each in in_slices(requested) if each.resource.type == ResourceType.TOPIC]
    may_alter = partial(call.authorize, Operation.ALTER_CONFIGS, AclType.TOPIC)
    return doubtful_topics(context, names, may_alter, existing=False)


async def _unknown(
    context: ServerContext, requested: Sequence[ResourceAlterations], call: ApiRequest
) -> Mapping[Resource, ApiError]:
    """Resources that cannot be planned: a gateway does not know their state, or a broker cannot be asked for it."""
    unknown = context.service.store.unknown
    found = await _unknown_brokers(context, requested, call)
    if unknown.kinds or unknown.resources:
        for each in in_slices(requested):
            if (failure := unknown.of(each.resource)) is not None:
                found[each.resource] = failure
    return found


async def _unknown_brokers(
    context: ServerContext, requested: Sequence[ResourceAlterations], call: ApiRequest
) -> dict[Resource, ApiError]:
    """The real brokers whose static configs are needed for the plan and cannot be read now."""
    if not context.brokers.members.brokers:
        return {}
    found = {
        each.resource: context.brokers.find(each.resource.name)
        for each in in_slices(requested)
        if each.resource.type == ResourceType.BROKER
    }
    addressed = call.node  # as in Kafka, it refuses changes of other brokers
    named = {
        resource: number
        for resource, number in found.items()
        if number is not None and (addressed is None or addressed == number)
    }
    failures = await context.brokers.load_static(set(named.values()))
    if failures and not call.authorize(Operation.ALTER_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
        failures = dict.fromkeys(failures, NotAuthorized(NotAuthorized.stock).failure())
    # BROKER_NOT_AVAILABLE: a broker that never shows its static configs. It is planned with defaults.
    return {
        resource: failures[number]
        for resource, number in named.items()
        if number in failures and failures[number].code != ErrorCode.BROKER_NOT_AVAILABLE
    }


def _reread_key_stores(
    security: ListenerSecurity, check: StartCheck, requested: Sequence[ResourceAlterations], outcomes: Outcomes
) -> None:
    """Reload key stores whose location was set, even to the same value, as in Kafka."""
    for each, outcome in zip(in_slices(requested), outcomes, strict=True):
        if outcome is None and each.resource.type == ResourceType.BROKER:
            security.reread(check, {op.key for op in each.alterations})


def audit(
    context: ServerContext,
    call: ApiRequest,
    requested: Sequence[ResourceAlterations],
    outcomes: Outcomes,
    *,
    dry_run: bool,
    not_stored: bool = False,
) -> None:
    attempts = zip(in_slices(requested), outcomes, strict=True)
    entries = ((each.resource, (op.key for op in each.alterations), outcome) for each, outcome in attempts)
    context.audit_log.record(call.caller, entries, dry_run=dry_run, not_stored=not_stored)


def responses(requested: Sequence[ResourceAlterations], outcomes: Outcomes) -> list[AlterConfigsResourceResponse]:
    return [
        AlterConfigsResourceResponse(0, None, resource.type, resource.name)
        if failure is None
        else AlterConfigsResourceResponse(failure.code, failure.message, resource.type, resource.name)
        for (resource, *_), failure in zip(in_slices(requested), outcomes, strict=True)
    ]
