"""DescribeAcls (29), CreateAcls (30), DeleteAcls (31), versions 0 to 3.

Without an authorizer every response is SECURITY_DISABLED. As in Kafka, an enum value of 0 makes the whole request
invalid. Any other unknown value fails its element, or matches nothing in a describe. In version 0 the pattern type is
LITERAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import groupby
from typing import TypeVar

from kconf.engine.access.acls import Deletions, bindings, matches, pattern_of, plan_create_acls, plan_delete_acls
from kconf.engine.policy.hooks import PolicyHooks
from kconf.errors import ApiError, ErrorCode, InvalidRequest, KafkaError, NotAuthorized, RemoteProtocolError, StoreError
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclFilter, AclType, Operation, PatternType, Permission
from kconf.model.plan import Plan
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.messages.create_acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse
from kconf.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kconf.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from kconf.server.api.reasons import with_reason
from kconf.server.context import ApiRequest, ServerContext, store_error
from kconf.service import State
from kconf.util.slices import in_slices

_DISABLED = ApiError(ErrorCode.SECURITY_DISABLED, "no authorizer is configured on this server")
_REFUSED = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NotAuthorized.stock)

E = TypeVar("E", bound=IntEnum)


def handle_describe(context: ServerContext, request: DescribeAclsRequest, call: ApiRequest) -> DescribeAclsResponse:
    wanted = _filter(request)
    failure = _refusal(context, call, Operation.DESCRIBE)
    if failure is not None:
        return DescribeAclsResponse(error_code=failure.code, error_message=failure.message)
    readable = _problem(wanted) is None
    found = [each for each in bindings(context.service.state.snapshot) if readable and matches(each, wanted)]
    return DescribeAclsResponse(
        error_message="",
        resources=[
            DescribeAclsResource(
                pattern.type,
                pattern.name,
                pattern.pattern,
                [AclDescription(each.principal, each.host, each.operation, each.permission) for each in acls],
            )
            for pattern, acls in groupby(found, pattern_of)
        ],
    )


async def handle_create(context: ServerContext, request: CreateAclsRequest, call: ApiRequest) -> CreateAclsResponse:
    requested = [_binding(each) for each in in_slices(request.creations)]

    def plan(state: State, _hooks: PolicyHooks) -> Plan[list[ApiError | None]]:
        return plan_create_acls(state.snapshot, requested)

    refusal = _refusal(context, call, Operation.ALTER)
    call, refusal = _with_reason(call, request.reason, refusal)
    outcomes: list[ApiError | None]
    if refusal is not None:
        outcomes = [refusal] * len(requested)
    else:
        try:
            outcomes = await context.service.submit(plan, call.caller)
        except StoreError as error:
            outcomes = [store_error(error)] * len(requested)
    named = [
        Resource(ResourceType.ACL, f"{each.resource_type}:{each.pattern}:{each.name}") for each in in_slices(requested)
    ]
    _audit(context, call, named, outcomes)
    return CreateAclsResponse(
        results=[
            AclCreationResult(0, "") if each is None else AclCreationResult(*_error(each))
            for each in in_slices(outcomes)
        ]
    )


async def handle_delete(context: ServerContext, request: DeleteAclsRequest, call: ApiRequest) -> DeleteAclsResponse:
    filters = [_filter(each) for each in in_slices(request.filters)]
    failures = [_problem(each) for each in in_slices(filters)]
    good = [each for each, failure in zip(in_slices(filters), failures, strict=True) if failure is None]

    def plan(state: State, _hooks: PolicyHooks) -> Plan[list[Deletions]]:
        return plan_delete_acls(state.snapshot, good)

    found: list[Deletions] = []
    refusal = _refusal(context, call, Operation.ALTER)
    call, refusal = _with_reason(call, request.reason, refusal)
    if refusal is None:
        try:
            found = await context.service.submit(plan, call.caller)
        except StoreError as error:
            refusal = store_error(error)
    if refusal is not None:
        failures = [refusal] * len(filters)
    good_results = iter(found)
    outcomes = [next(good_results) if failure is None else failure for failure in in_slices(failures)]
    named = [Resource(ResourceType.ACL, each.name or "") for each in in_slices(filters)]
    _audit(context, call, named, [_first_failure(each) for each in in_slices(outcomes)])
    return DeleteAclsResponse(filter_results=[_filter_result(each) for each in in_slices(outcomes)])


def _first_failure(outcome: Deletions | ApiError) -> ApiError | None:
    if isinstance(outcome, ApiError):
        return outcome
    return next((failure for _, failure in outcome if failure is not None), None)


def _filter_result(outcome: Deletions | ApiError) -> DeleteAclsFilterResult:
    """The result of a filter. If all ACLs have the same error, it is the error of the filter, as in Kafka."""
    if isinstance(outcome, ApiError):
        return DeleteAclsFilterResult(*_error(outcome))
    refusals = {failure for _, failure in outcome}
    if len(refusals) == 1 and (refusal := refusals.pop()) is not None:
        return DeleteAclsFilterResult(*_error(refusal))
    return DeleteAclsFilterResult(0, None, [_deletion(*each) for each in outcome])


def _refusal(context: ServerContext, call: ApiRequest, operation: Operation) -> ApiError | None:
    if context.authorizer is None:
        return _DISABLED
    return None if call.authorize(operation, AclType.CLUSTER, CLUSTER_NAME) else _REFUSED


def _with_reason(call: ApiRequest, reason: str | None, refusal: ApiError | None) -> tuple[ApiRequest, ApiError | None]:
    try:
        return with_reason(call, reason), refusal
    except KafkaError as error:
        return call, refusal or error.failure()


def _audit(
    context: ServerContext, call: ApiRequest, named: Sequence[Resource], outcomes: Sequence[ApiError | None]
) -> None:
    if any(outcomes):
        entries = ((resource, (), failure) for resource, failure in zip(in_slices(named), outcomes, strict=True))
        context.audit_log.record(call.caller, entries, dry_run=False)


def _error(failure: ApiError) -> tuple[int, str | None]:
    return failure.code, failure.message


def _problem(wanted: AclFilter) -> ApiError | None:
    for value, kind in zip(
        (wanted.resource_type, wanted.pattern, wanted.operation, wanted.permission),
        ("resource type", "pattern type", "operation", "permission"),
        strict=True,
    ):
        if not value:
            return InvalidRequest(f"a filter has an unknown {kind}").failure()
    return None


def _deletion(each: AclBinding, failure: ApiError | None) -> DeleteAclsMatchingAcl:
    code, message = (0, None) if failure is None else _error(failure)
    where = each.resource_type, each.name, each.pattern
    return DeleteAclsMatchingAcl(code, message, *where, each.principal, each.host, each.operation, each.permission)


def _binding(each: AclCreation) -> AclBinding:
    return AclBinding(
        _known(AclType, each.resource_type),
        each.resource_name,
        each.principal,
        _known(Operation, each.operation),
        _known(Permission, each.permission_type),
        _known(PatternType, each.resource_pattern_type),
        each.host,
    )


def _filter(each: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        _known(AclType, each.resource_type_filter),
        each.resource_name_filter,
        each.principal_filter,
        _known(Operation, each.operation),
        _known(Permission, each.permission_type),
        _known(PatternType, each.pattern_type_filter),
        each.host_filter,
    )


def _known(kind: type[E], number: int) -> E:
    """Convert a number to an enum. Numbers beyond the known ones become UNKNOWN; 0 (UNKNOWN) is refused."""
    if number == 0:
        raise RemoteProtocolError(
            "an ACL request contains an unknown resource type, pattern type, operation or permission"
        )
    try:
        return kind(number)
    except ValueError:
        return kind(0)
